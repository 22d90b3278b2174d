package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
)

const someToken = "hfc_AZNtPnwqe1GaDj8dXI4rZJ_tUM0r9cVsQb1yWgkX2oE"

// durableVerbs are the verbs that take the id of a job and more, with arguments that pass all
// checks before the job is read.
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
		{"update", "call", id, "x"},
		{"job", "continue-as-new", id},
	}
}

func TestDurableVerbsFindTheirJob(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	other := s.enqueue("mail", "--namespace", "other")
	for i := range durableVerbs("") {
		s.expect(s.run(durableVerbs(other)[i]...), 1, other, "no such job")
		s.expect(s.run(durableVerbs(arg.ExampleID)[i]...), 1, "no such job", arg.ExampleID)
		s.expect(s.run(durableVerbs("7")[i]...), app.ExitUsage, `"7" is not a job id`)
	}
	s.ok("job", "pause", other, "-n", "other")
	s.expect(s.run("callback", "complete", someToken), 1, "no such callback: "+someToken)

	none := newShell(t)
	for _, args := range append(durableVerbs(arg.ExampleID), []string{"callback", "heartbeat", someToken}) {
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
		{[]string{"job", "list", "--parent", "7"}, "--parent: \"7\" is not a job id"},
		{[]string{"job", "fork", arg.ExampleID}, "--from is required"},
		{[]string{"job", "fork", arg.ExampleID, "--from", "x", "--args", "{"}, "--args: not JSON"},
		{[]string{"job", "fork", arg.ExampleID, arg.ExampleID, "--from", "x"}, "too many arguments: job fork takes ID, got 2"},
		{[]string{"job", "journal", arg.ExampleID, "--follow", "--output", "json"}, "use --output jsonl"},
		{[]string{"job", "stream", arg.ExampleID, "x", "--follow", "--output", "json"}, "use --output jsonl"},
		{[]string{"job", "stream", arg.ExampleID, "x", "--after", "-1"}, "--after -1 is negative"},
		{[]string{"job", "stream", arg.ExampleID}, "takes ID NAME"},
		{[]string{"job", "published", arg.ExampleID, "x", "--after", "-1"}, "--after -1 is negative"},
		{[]string{"job", "published", arg.ExampleID, "x", "--after", "many"}, "not an integer"},
		{[]string{"job", "published", arg.ExampleID}, "takes ID KEY"},
		{[]string{"signal", "send", arg.ExampleID}, "takes ID NAME [PAYLOAD]"},
		{[]string{"signal", "send", arg.ExampleID, ""}, "NAME is empty"},
		{[]string{"signal", "send", arg.ExampleID, long}, "300 bytes exceed the limit of 200"},
		{[]string{"signal", "send", arg.ExampleID, "x", "--dedup-key", ""}, "--dedup-key is empty"},
		{[]string{"signal", "send", arg.ExampleID, "x", "yes"}, "PAYLOAD: not JSON"},
		{[]string{"signal", "send", arg.ExampleID, "x", "@" + filepath.Join(s.dir, "gone")}, "PAYLOAD: "},
		{[]string{"signal", "send", arg.ExampleID, "x", "-"}, "standard input: empty"},
		{[]string{"update", "call", arg.ExampleID}, "takes ID NAME [PAYLOAD]"},
		{[]string{"update", "call", arg.ExampleID, ""}, "NAME is empty"},
		{[]string{"update", "call", arg.ExampleID, "x", "--key", ""}, "--key is empty"},
		{[]string{"update", "call", arg.ExampleID, "x", "--wait-timeout", "-1s"}, "--wait-timeout -1s: must be more than 0"},
		{[]string{"update", "call", arg.ExampleID, "x", "--wait-timeout", "0"}, "--wait-timeout 0s: must be more than 0; leave it out"},
		{[]string{"job", "wait", arg.ExampleID, "--wait-timeout", "0m"}, "--wait-timeout 0s: must be more than 0; leave it out"},
		{[]string{"job", "wait", arg.ExampleID, "--for", "running", "--wait-timeout", "-1m"}, "--wait-timeout -1m0s: must be more than 0"},
		{[]string{"update", "call", arg.ExampleID, "x", "yes"}, "PAYLOAD: not JSON"},
		{[]string{"job", "continue-as-new", arg.ExampleID, "--args", "{"}, "--args: not JSON"},
		{[]string{"callback", "complete", "token"}, `"token" is not a callback token`},
		{[]string{"callback", "complete", someToken, "yes"}, "PAYLOAD: not JSON"},
		{[]string{"callback", "fail", someToken}, "--message is required"},
		{[]string{"callback", "fail", "token", "--message", "x"}, "is not a callback token"},
		{[]string{"callback", "heartbeat", arg.ExampleID}, "is not a callback token"},
	} {
		s.expect(s.run(test.args...), app.ExitUsage, test.words)
	}
	id := s.enqueue("mail")
	s.expect(s.run("job", "published", id, ""), app.ExitUsage, "KEY is empty")
	s.expect(s.run("job", "stream", id, ""), app.ExitUsage, "NAME is empty")
	s.expect(s.run("job", "stream", id, "", "--follow"), app.ExitUsage, "NAME is empty")
	if got := s.run("job", "journal", id, "-o", "table"); got.stdout != "" || !strings.HasPrefix(got.stderr, "The journal is empty") {
		t.Errorf("%+v", got)
	}
	if out := s.ok("job", "stream", id, "x"); out != "[]\n" {
		t.Errorf("%s", out)
	}
	s.expect(s.run("job", "published", id, "x"), 1, `the job has published no value under "x"; use --wait to wait for it`)
}

// TestSignalPayloads sends payloads from all sources, before the job starts.
func TestSignalPayloads(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	id := s.enqueue("mail", "--in", "1h")
	file := filepath.Join(s.dir, "payload.json")
	if err := os.WriteFile(file, []byte(" {\"from\": \"<file>\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.ok("signal", "send", id, "a")
	s.ok("signal", "send", id, "b", `9007199254740993`, "--dedup-key", "k")
	s.ok("signal", "send", id, "c", "@"+file)
	s.expect(s.feed(`[1, 2]`, "signals", "send", id, "d", "-"), 0)
	if out := s.ok("signal", "send", id, "e", "null", "-o", "table"); out != "sent signal e to job "+id+", which was scheduled\n" {
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
	if out := s.ok("callback", "heartbeat", token, "-o", "table"); out != "extended the time limit of the callback\n" {
		t.Errorf("%s", out)
	}
	if out := s.ok("callback", "fail", token, "--message", "card <refused>", "-o", "table"); out != "failed the callback\n" {
		t.Errorf("%s", out)
	}
	s.expect(s.run("job", "wait", id, "--wait-timeout", "1m"), 1, "card <refused>")
	s.expect(s.run("callback", "complete", token), 1, "already been answered")
	s.holds(s.ok("job", "journal", id, "-o", "table"), "sent callback failed", "card <refused>")
}

// TestSignalSendSaysWhatTheJobDoes: with regard to the signal.
func TestSignalSendSaysWhatTheJobDoes(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	s.serve((&shop{}).register)
	for _, test := range []struct{ signal, do, want string }{
		{"appro", "", "does not wait for it now"},
		{"approve.", "", "does not wait for it now"},
		{"approved", "", "was waiting for it"},
		{"approved", "pause", "is paused: it receives the signal once it is resumed"},
	} {
		id := s.enqueue("order", `{"to":"ada"}`)
		s.waits(id, "signal approved")
		if test.do != "" {
			s.ok("job", test.do, id)
		}
		want := "sent signal " + test.signal + " to job " + id + ", which " + test.want + "\n"
		if out := s.ok("signal", "send", id, test.signal, `"bob"`, "-o", "table"); out != want {
			t.Errorf("%s%s", out, want)
		}
	}
}
