package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
)

// TestBusinessKeys: a job is enqueued, found, signalled, waited for and cancelled by its key.
func TestBusinessKeys(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *shell) {
		t.Helper()
		id := s.enqueue("order", `{"n":1}`, "--key", "order-42", "--keep-key", "forever", "--in", "1h")
		if v := s.job(id); v["key"] != "order-42" || v["keep_key"] != "forever" {
			t.Errorf("key %v, kept %v", v["key"], v["keep_key"])
		}
		again := `{"id":"` + id + `","existing":true,"replaced":false,"differs":`
		s.holds(s.ok("job", "enqueue", "order", `{ "n" : 1 }`, "--key", "order-42", "-o", "jsonl"), again+"false")
		s.holds(s.ok("job", "enqueue", "order", `{"n":2}`, "--key", "order-42", "-o", "jsonl"), again+"true")
		s.holds(s.ok("job", "enqueue", "order", `{"n":2}`, "--key", "order-42", "-o", "table"),
			"job "+id+" already holds the key and was enqueued with other args; nothing was enqueued")
		for name, keep := range map[string]string{"a": "1d12h", "b": "0s"} {
			s.enqueue("order", "--key", name, "--keep-key", keep, "--in", "1h")
		}
		if v := s.job(strings.TrimSpace(s.ok("job", "get", "--kind", "order", "--key", "a", "-q"))); v["keep_key"] != "36h0m0s" {
			t.Errorf("kept %v", v["keep_key"])
		}

		named := []string{"--kind", "order", "--key", "order-42"}
		if got := s.ok(append([]string{"job", "get", "-q"}, named...)...); got != id+"\n" {
			t.Errorf("found %q, want %s", got, id)
		}
		if got := s.ok(append([]string{"job", "list", "--all", "-o", "id"}, named...)...); got != id+"\n" {
			t.Errorf("listed %q, want %s", got, id)
		}
		s.holds(s.ok(append([]string{"signal", "send", "approved", `"ada"`, "-o", "jsonl"}, named...)...), `"id":"`+id+`"`)
		if j := s.journal(id); len(j.Messages) != 1 || string(j.Messages[0].Data) != `"ada"` {
			t.Errorf("%+v", j.Messages)
		}
		s.expect(s.run(append([]string{"job", "wait", "--wait-timeout", "1ms"}, named...)...), app.ExitTimeout, id)
		s.holds(s.ok(append([]string{"job", "pause", "-o", "table"}, named...)...), "job "+id+" is paused")
		s.holds(s.ok(append([]string{"job", "resume", "-o", "table"}, named...)...), "job "+id+" is scheduled")
		got := s.run(append([]string{"job", "delete", "--dry-run", "-q", "-o", "id"}, named...)...)
		if got.code != 0 || got.stdout != "" {
			t.Errorf("%+v", got)
		}
		s.expectNote(s.run(append([]string{"job", "delete", "--dry-run", "-o", "id"}, named...)...),
			"0 jobs would be deleted; 1 of other states would be refused.\n")
		s.expect(s.run(append([]string{"job", "delete"}, named...)...), app.ExitError, "job "+id+" was not changed")
		s.holds(s.ok(append([]string{"job", "cancel", "-o", "table"}, named...)...), "job "+id+" is cancelled")
		s.expect(s.run(append([]string{"job", "wait"}, named...)...), app.ExitError, "cancelled")
		s.expect(s.run(append([]string{"signal", "send", "approved"}, named...)...), app.ExitError, "job "+id+" has finished")
		s.expect(s.run(append([]string{"job", "retry", "--state", "cancelled"}, named...)...), 0, "1 job is available")
		s.ok("job", "cancel", id)
		s.holds(s.ok(append([]string{"job", "retry", "-o", "table"}, named...)...), "job "+id+" is available")
		s.holds(s.ok("job", "get", "-o", "table", "--kind", "order", "--key", "order-42"), "order-42, kept for ever")

		none := `no such job in namespace "default": no job of kind "order" has the key "x"`
		s.expect(s.run("job", "get", "--kind", "order", "--key", "x"), app.ExitError, none)
		s.expect(s.run("job", "retry", "--kind", "order", "--key", "x"), app.ExitError, none)
		s.expect(s.run("job", "cancel", "--kind", "order", "--key", "x", "--dry-run"), app.ExitError, none)
		s.expect(s.run("signal", "send", "approved", "--kind", "order", "--key", "x"), app.ExitError, none)
		if got := s.ok("job", "list", "--kind", "order", "--key", "x", "-o", "id"); got != "" {
			t.Errorf("listed %q", got)
		}
		if got := s.ok("job", "list", "--kind", "mail", "--key", "order-42", "-o", "id"); got != "" {
			t.Errorf("listed %q", got)
		}
	})
}

// TestWrongKeys: mistakes in flags about business keys are told before anything is done.
func TestWrongKeys(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	long := strings.Repeat("k", 513)
	for _, c := range []struct {
		words string // of the message
		args  []string
	}{
		{"--key requires --kind", []string{"job", "get", "--key", "k"}},
		{"--kind requires --key", []string{"job", "get", "--kind", "order"}},
		{"--key requires --kind", []string{"job", "get", arg.ExampleID, "--key", "k"}},
		{"--key requires --kind", []string{"job", "list", "--key", "k"}},
		{"--key requires --kind", []string{"job", "cancel", "--key", "k"}},
		{"an ID and --kind with --key cannot be used together", []string{"job", "get", arg.ExampleID, "--kind", "order", "--key", "k"}},
		{"an ID and --kind with --key cannot be used together", []string{"job", "get", arg.ExampleID[:8], "--kind", "order", "--key", "k"}},
		{"an ID and --kind with --key cannot be used together", []string{"job", "skip", arg.ExampleID, "--kind", "order", "--key", "k"}},
		{"an ID and --kind with --key cannot be used together", []string{"signal", "send", arg.ExampleID, "x", "--kind", "order", "--key", "k"}},
		{"missing argument: signal send takes ID NAME [PAYLOAD]", []string{"signal", "send", "--kind", "order", "--key", "k"}},
		{"NAME is empty", []string{"signal", "send", "", "--kind", "order", "--key", "k"}},
		{"missing argument: job get takes ID", []string{"job", "get"}},
		{"takes job ids or filters, not both", []string{"job", "pause", arg.ExampleID, "--kind", "order", "--key", "k"}},
		{"takes job ids or filters, not both", []string{"job", "cancel", arg.ExampleID, "--kind", "order", "--key", "k"}},
		{"513 bytes exceed the limit of 512", []string{"job", "get", "--kind", "order", "--key", long}},
		{"513 bytes exceed the limit of 512", []string{"job", "enqueue", "order", "--key", long}},
		{"control character", []string{"job", "enqueue", "order", "--key", "a\nb"}},
		{"--keep-key requires --key", []string{"job", "enqueue", "order", "--keep-key", "1h"}},
		{"to keep it for ever, write forever", []string{"job", "enqueue", "order", "--key", "k", "--keep-key=-1h"}},
		{`"ever" is not a duration`, []string{"job", "enqueue", "order", "--key", "k", "--keep-key", "ever"}},
		{"--unique and --key cannot be used together", []string{"job", "enqueue", "order", "--unique", "args", "--key", "k"}},
		{"--file and --key cannot be used together", []string{"job", "enqueue", "order", "--file", "-", "--key", "k"}},
	} {
		got := s.run(c.args...)
		if got.code != app.ExitUsage || !strings.Contains(got.stderr, c.words) {
			if c.words[:2] == "--" && strings.Contains(got.stderr, "cannot be used together") && got.code == app.ExitUsage {
				continue // in the other order
			}
			t.Errorf("%v: exit code %d, %q; want it to say %s", c.args, got.code, got.stderr, c.words)
		}
	}
	if n := s.count(); n != 0 {
		t.Errorf("%d jobs", n)
	}
}

// TestEveryVerbOfOneJobTakesKeys: all that take an id take a kind and a key instead.
func TestEveryVerbOfOneJobTakesKeys(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	verbs := 0
	commands(func(cmd *cobra.Command) {
		words := strings.Fields(cmd.Use)[1:]
		if len(words) == 0 || strings.Trim(words[0], "[.]") != "ID" || strings.HasPrefix(words[0], "[") {
			return
		}
		verbs++
		command := strings.Fields(cmd.CommandPath())[1:]
		for range enough(cmd)[1:] {
			command = append(command, "name")
		}
		for _, required := range [][]string{{"--from", "1"}, {"--priority", "1"}, {"--remove", "new"}} {
			if cmd.Flags().Lookup(strings.TrimPrefix(required[0], "--")) != nil {
				command = append(command, required...)
			}
		}
		s.expect(s.run(append(command, "--kind", "order", "--key", "k")...), app.ExitError,
			`no such job in namespace "default": no job of kind "order" has the key "k"`)
	})
	if verbs < 8 {
		t.Errorf("%d verbs take an id", verbs)
	}
	// Without a database it is an error, and makes none.
	none := newShell(t)
	none.expect(none.run("job", "get", "--kind", "order", "--key", "k"), app.ExitError, "no such database")
}
