package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// durableVerbs are those that take the id of a job and more, with what they need to get as far as looking for it.
func durableVerbs(id string) [][]string {
	return [][]string{
		{"job", "pause", id},
		{"job", "resume", id},
		{"job", "cancel", id, "--terminate"},
		{"job", "fork", id, "--from", "x"},
		{"job", "journal", id},
		{"job", "journal", id, "--follow"},
		{"job", "published", id, "x"},
		{"job", "published", id, "x", "--wait"},
		{"job", "stream", id, "x"},
		{"job", "stream", id, "x", "--follow"},
		{"signal", "send", id, "x"},
	}
}

func TestDurableVerbsFindTheirJob(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	other := s.enqueue("mail", "--namespace", "other")
	for i := range durableVerbs("") {
		s.expect(s.run(durableVerbs(other)[i]...), 1, other, `in the namespace "other"`)
		s.expect(s.run(durableVerbs(exampleID)[i]...), 1, "no such job: "+exampleID)
		s.expect(s.run(durableVerbs("7")[i]...), exitUsage, `"7" is not the id of a job`)
	}
	s.ok("job", "pause", other, "-n", "other")
	s.expect(s.run("callback", "complete", exampleToken), 1, "no such callback: "+exampleToken)

	none := newShell(t)
	for _, args := range append(durableVerbs(exampleID), []string{"callback", "heartbeat", exampleToken}) {
		none.expect(none.run(args...), 1, "no such database: sqlite:"+none.db)
	}
}

func TestDurableUsage(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	long := strings.Repeat("n", 300)
	for _, test := range []struct {
		args  []string
		words string
	}{
		{[]string{"job", "list", "--parent", "7"}, "--parent: \"7\" is not the id of a job"},
		{[]string{"job", "fork", exampleID}, "--from is missing"},
		{[]string{"job", "fork", exampleID, "--from", "x", "--args", "{"}, "--args: not JSON"},
		{[]string{"job", "fork", exampleID, exampleID, "--from", "x"}, "takes ID, not 2 arguments"},
		{[]string{"job", "journal", exampleID, "--follow", "--output", "json"}, "take jsonl"},
		{[]string{"job", "stream", exampleID, "x", "--follow", "--output", "json"}, "take jsonl"},
		{[]string{"job", "stream", exampleID, "x", "--after", "-1"}, "--after -1 is negative"},
		{[]string{"job", "stream", exampleID}, "takes ID NAME, not 1 argument"},
		{[]string{"job", "published", exampleID, "x", "--after", "-1"}, "--after -1 is negative"},
		{[]string{"job", "published", exampleID, "x", "--after", "many"}, "not a whole number"},
		{[]string{"job", "published", exampleID}, "takes ID KEY, not 1 argument"},
		{[]string{"signal", "send", exampleID}, "takes ID NAME [PAYLOAD], not 1 argument"},
		{[]string{"signal", "send", exampleID, ""}, "NAME is empty"},
		{[]string{"signal", "send", exampleID, long}, "300 bytes exceed the limit of 200"},
		{[]string{"signal", "send", exampleID, "x", "--key", ""}, "the value of --key is empty"},
		{[]string{"signal", "send", exampleID, "x", "yes"}, "PAYLOAD: not JSON"},
		{[]string{"signal", "send", exampleID, "x", "@" + filepath.Join(s.dir, "gone")}, "PAYLOAD: "},
		{[]string{"signal", "send", exampleID, "x", "-"}, "standard input: empty"},
		{[]string{"callback", "complete", "token"}, `"token" is not the token of a callback`},
		{[]string{"callback", "complete", exampleToken, "yes"}, "PAYLOAD: not JSON"},
		{[]string{"callback", "fail", exampleToken}, "--message is missing"},
		{[]string{"callback", "fail", "token", "--message", "x"}, "is not the token"},
		{[]string{"callback", "heartbeat", exampleID}, "is not the token"},
	} {
		s.expect(s.run(test.args...), exitUsage, test.words)
	}
	id := s.enqueue("mail")
	s.expect(s.run("job", "published", id, ""), exitUsage, "KEY is empty")
	s.expect(s.run("job", "stream", id, ""), exitUsage, "NAME is empty")
	s.expect(s.run("job", "stream", id, "", "--follow"), exitUsage, "NAME is empty")
	if got := s.run("job", "journal", id, "-o", "table"); got.stdout != "" || !strings.HasPrefix(got.stderr, "It remembers nothing") {
		t.Errorf("%+v", got)
	}
	if out := s.ok("job", "stream", id, "x"); out != "[]\n" {
		t.Errorf("%s", out)
	}
	s.expect(s.run("job", "published", id, "x"), 1, `the job has published nothing under "x"; --wait waits for it`)
}

// TestSignalPayloads sends payloads from everywhere, before the job begins.
func TestSignalPayloads(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	id := s.enqueue("mail", "--in", "1h")
	file := filepath.Join(s.dir, "payload.json")
	if err := os.WriteFile(file, []byte(" {\"from\": \"<file>\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.ok("signal", "send", id, "a")
	s.ok("signal", "send", id, "b", `9007199254740993`, "--key", "k")
	s.ok("signal", "send", id, "c", "@"+file)
	s.expect(s.feed(`[1, 2]`, "signals", "send", id, "d", "-"), 0)
	if out := s.ok("signal", "send", id, "e", "null", "-o", "table"); out != "signal e is sent to job "+id+", which was scheduled\n" {
		t.Errorf("%s", out)
	}
	var got []string
	for _, m := range s.journal(id).Messages {
		got = append(got, m.Name+" "+string(m.Data))
		if !m.Unread {
			t.Errorf("message %d is read", m.Seq)
		}
	}
	if diff := cmp.Diff([]string{"a ", "b 9007199254740993", `c {"from":"<file>"}`, "d [1,2]", "e null"}, got); diff != "" {
		t.Error(diff)
	}
	s.holds(s.ok("job", "journal", id, "-o", "table"), "  (unread) [1,2]\n")
	s.holds(s.ok("job", "get", id, "-o", "table"), "0 entries, 5 messages, see job journal\n")
}

func TestCallbackFails(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	shop := &shop{}
	s.serve(shop.register)
	id := s.enqueue("order", "--args", `{"to":"ada"}`)
	s.ok("signal", "send", id, "approved", `"bob"`)
	s.waits(id, "callback paid")
	token := s.token(id)
	if out := s.ok("callback", "heartbeat", token, "-o", "table"); out != "the callback is worked on\n" {
		t.Errorf("%s", out)
	}
	if out := s.ok("callback", "fail", token, "--message", "card <refused>", "-o", "table"); out != "the callback is failed\n" {
		t.Errorf("%s", out)
	}
	s.expect(s.run("job", "wait", id, "--timeout", "1m"), 1, "card <refused>")
	s.expect(s.run("callback", "complete", token), 1, "answered already")
	s.holds(s.ok("job", "journal", id, "-o", "table"), "sent callback failed", "card <refused>")
}

// TestSignalThatNobodyReads: it is sent, and told.
func TestSignalThatNobodyReads(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.start("dev")
	const note = "The job has begun and remembers nothing: unless its kind is a durable function, nobody reads the signal.\n"
	id := s.enqueue("exec", `{"command":["sleep","1000"]}`)
	s.expectNote(s.run("signal", "send", id, "go"), note)
	s.expectNote(s.run("signal", "send", id, "go", "-q"), "")
	s.ok("job", "cancel", id)
	s.expectNote(s.run("signal", "send", s.enqueue("order"), "approved"), "") // it has not begun
}
