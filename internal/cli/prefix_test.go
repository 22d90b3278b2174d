package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
)

// TestIDPrefixes: the beginning of an id stands for it if no other job's id in the namespace begins
// alike.
func TestIDPrefixes(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *shell) {
		t.Helper()
		const (
			one   = "01936d3e-7c2a-7b51-9a0e-3f1d5c8e2b64"
			two   = "01936d3e-7c2a-7b51-9a0e-3f1d5c8e2b65"
			three = "01936d3f-0000-7000-8000-000000000000"
		)
		for i, id := range []string{one, two, three, "ffffffff-ffff-7fff-bfff-ffffffffffff", "00000000-0000-7000-8000-000000000000"} {
			s.enqueue(fmt.Sprintf("kind%d", i), "--id", id)
		}
		s.ok("job", "cancel", two)
		s.ok("job", "enqueue", "other", "--namespace", "elsewhere", "--id", "01936d40-0000-7000-8000-000000000000")
		for text, want := range map[string]string{
			one: one, one[:35] + "4": one, three[:8]: three, three[:9]: three, three[:35]: three, "ffffffff": "ffffffff-ffff-7fff-bfff-ffffffffffff",
			"00000000": "00000000-0000-7000-8000-000000000000", strings.ToUpper(three[:8]): three, "job/" + three[:10]: three, "job/" + one: one,
		} {
			if got := s.ok("job", "get", text, "-q"); got != want+"\n" {
				t.Errorf("%s is taken for %s", text, got)
			}
		}
		for text, words := range map[string]string{
			one[:8]: "the ids of several jobs begin with 01936d3e: " + two + " (kind1, cancelled), " + one +
				" (kind0, available); type more of the id",
			one[:35]:                 "the ids of several jobs begin with " + one[:35],
			"01936d40":               `no such job in namespace "default": no id begins with 01936d40; it may have been removed`,
			"01936d3f-0001":          "no id begins with 01936d3f-0001",
			"ffffffff-fffe":          "no id begins with ffffffff-fffe",
			arg.ExampleID[:35] + "f": "no such job",
		} {
			s.expect(s.run("job", "get", text), app.ExitError, words)
		}
		for _, text := range []string{"01936d3", "1", "abc"} {
			s.expect(s.run("job", "get", text), app.ExitUsage, fmt.Sprintf("%q is not a job id; type at least 8 characters of it", text))
		}
		for _, text := range []string{
			"nonsense", "01936d3g", "01936d3e7", "01936d3e-7c2a7b51", "01936d3e_7", one + "0", "queue/" + one, "{" + one + "}",
		} {
			s.expect(s.run("job", "get", text), app.ExitUsage, fmt.Sprintf("%q is not a job id; ids look like", text))
		}
		// Several at once, and in a flag.
		cancelled := s.ok("job", "cancel", three[:8], one, "ffffffff", "-o", "id")
		if cancelled != three+"\n"+one+"\nffffffff-ffff-7fff-bfff-ffffffffffff\n" {
			t.Errorf("cancelled %s", cancelled)
		}
		s.expect(s.run("job", "list", "--parent", three[:8], "-o", "json"), 0)
		s.expect(s.run("job", "list", "--parent", one[:8]), app.ExitError, "the ids of several jobs begin with")
		s.expect(s.run("job", "cancel", "01936d3f", "nonsense"), app.ExitUsage, `"nonsense" is not a job id`)
		// Many in the same minute: the newest of them are told.
		for i := range 7 {
			s.enqueue("many", "--id", fmt.Sprintf("01a00000-000%d-7000-8000-000000000000", i))
		}
		got := s.run("job", "get", "01a00000")
		s.expect(got, app.ExitError, "01a00000-0006-7000-8000-000000000000 (many, available), ", ", and more; type more of the id")
		if n := strings.Count(got.stderr, "(many"); n != 5 {
			t.Errorf("it tells %d of them", n)
		}
	})
}

// TestEveryVerbTakesPrefixes: all that take an id.
func TestEveryVerbTakesPrefixes(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	verbs := 0
	commands(func(cmd *cobra.Command) {
		words := strings.Fields(cmd.Use)[1:]
		at := -1
		for i, word := range words {
			if strings.Trim(word, "[.]") == "ID" {
				at = i
			}
		}
		if at < 0 {
			return
		}
		verbs++
		args := enough(cmd)
		if at == len(args) {
			args = append(args, "")
		}
		args[at] = "01936d3e"
		command := slices.Concat(strings.Fields(cmd.CommandPath())[1:], args)
		s.expect(s.run(command...), app.ExitError, `no such job in namespace "default": no id begins with 01936d3e`)
		args[at] = "01936d3"
		command = slices.Concat(strings.Fields(cmd.CommandPath())[1:], args)
		s.expect(s.run(command...), app.ExitUsage, "is not a job id; type at least 8 characters of it", "see: "+cmd.CommandPath()+" --help")
	})
	if verbs < 10 {
		t.Errorf("%d verbs take an id", verbs)
	}
	// Without a database it is an error, and makes none.
	none := newShell(t)
	none.expect(none.run("job", "get", "01936d3e"), app.ExitError, "no such database")
	if found, _ := filepath.Glob(filepath.Join(none.dir, "*")); found != nil {
		t.Errorf("it made %v", found)
	}
}
