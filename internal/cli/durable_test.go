package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/holdfasttest"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/store/dsn"
)

// onBoth runs a test on a new database of each kind.
func onBoth(t *testing.T, test func(t *testing.T, s *shell)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, migrated(t))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		pgtest.InSoak(t)
		s := newShell(t)
		s.env[app.EnvDatabase] = pgtest.Shared(t).Database(t)
		s.ok("migrate", "up")
		test(t, s)
	})
}

// client opens the database of the shell. It is closed at the end of the test.
func (s *shell) client() *holdfast.Client {
	s.Helper()
	source, err := dsn.Parse(s.env[app.EnvDatabase])
	if err != nil {
		s.Fatal(err)
	}
	ctx := context.WithoutCancel(s.Context())
	client, err := holdfast.Open(ctx, source, holdfast.WithLogger(app.Silent()))
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = client.Close(ctx) })
	return client
}

// serve starts a node with handlers of the test's own. It is stopped at the end of the test.
func (s *shell) serve(register func(*holdfast.Client) error) {
	s.Helper()
	source, err := dsn.Parse(s.env[app.EnvDatabase])
	if err != nil {
		s.Fatal(err)
	}
	ctx := context.WithoutCancel(s.Context())
	client, err := holdfast.Open(ctx, source, holdfast.WithLogger(app.Silent()))
	if err != nil {
		s.Fatal(err)
	}
	ended := make(chan error, 1)
	err = register(client)
	go func() { ended <- client.Run(ctx) }()
	s.Cleanup(func() {
		if err := errors.Join(client.Close(ctx), <-ended); err != nil {
			s.Errorf("the node: %v", err)
		}
	})
	if err != nil {
		s.Fatal(err)
	}
}

// shop is the code of a durable function.
type shop struct {
	charges atomic.Int64
	noPaper atomic.Bool
}

type order struct {
	To string `json:"to"`
}

func (shop *shop) register(client *holdfast.Client) error {
	err := holdfast.NewKind[order, string]("order").Handle(client, shop.fulfil, holdfast.MaxAttempts(1))
	return errors.Join(err, holdfast.NewKind[string, string]("parcel").Handle(client,
		func(_ *holdfast.Run, to string) (string, error) { return "parcel to " + to, nil }))
}

func (shop *shop) fulfil(run *holdfast.Run, o order) (string, error) {
	_, err := holdfast.Step(run, "charge", func(context.Context) (int64, error) { return shop.charges.Add(1), nil })
	if err != nil {
		return "", err
	}
	err = run.OnFailure("refund", func(run *holdfast.Run) error {
		_, err := holdfast.Step(run, "refund", func(context.Context) (int64, error) { return shop.charges.Add(-1), nil })
		return err
	})
	if err != nil {
		return "", err
	}
	if err := errors.Join(run.Publish("progress", "charged"), run.Append("log", "charged")); err != nil {
		return "", err
	}
	by, err := holdfast.NewSignal[string]("approved").Wait(run)
	if err != nil {
		return "", err
	}
	if err := errors.Join(run.Publish("progress", "approved"), run.Append("log", "approved by <"+by+">")); err != nil {
		return "", err
	}
	paid, err := run.Callback("paid")
	if err != nil {
		return "", err
	}
	var receipt string
	if err := paid.Wait(run, &receipt, holdfast.WaitAtMost(time.Hour)); err != nil {
		return "", holdfast.Fail(err)
	}
	parcel, err := holdfast.NewKind[string, string]("parcel").Call(run, o.To)
	if err != nil {
		return "", err
	}
	return holdfast.Step(run, "label", func(context.Context) (string, error) {
		if shop.noPaper.Load() {
			return "", errors.New("out of paper")
		}
		return parcel + ", " + receipt, nil
	})
}

// waits returns when a job waits for something, described by words.
func (s *shell) waits(id, words string) {
	s.Helper()
	until(s.T, "waiting for "+words, func() bool {
		var v struct{ Wait *waitRead }
		s.decode(s.ok("job", "get", id, "-o", "json"), &v)
		return v.Wait != nil && strings.Contains(string(v.Wait.For), words)
	})
}

type waitRead struct {
	For json.RawMessage `json:"for"`
}

// holds checks what an output contains.
func (s *shell) holds(out string, words ...string) {
	s.Helper()
	for _, w := range words {
		if !strings.Contains(out, w) {
			s.Errorf("%q is not in\n%s", w, out)
		}
	}
}

type actionRead struct {
	At                    time.Time
	Action, Actor, Reason string
}

// What returns the action and its reason, after checking who did it and when.
func (a actionRead) What() string {
	if who, err := user.Current(); err != nil || a.At.IsZero() || !strings.HasPrefix(a.Actor, who.Username+"@") {
		return "nobody did it"
	}
	return a.Action + " " + a.Reason
}

func (s *shell) journal(id string) holdfast.Journal {
	s.Helper()
	var j holdfast.Journal
	s.decode(s.ok("job", "journal", id, "-o", "jsonl"), &j)
	return j
}

// token is the token of the last callback of a job.
func (s *shell) token(id string) string {
	s.Helper()
	token := ""
	for _, e := range s.journal(id).Entries {
		if e.Kind == "callback" {
			token = e.Name
		}
	}
	if token == "" {
		s.Fatal("there is no callback")
	}
	return token
}

// TestDurableJob follows the life of a durable job on the command line.
func TestDurableJob(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *shell) {
		shop := &shop{}
		s.serve(shop.register)
		id := s.enqueue("order", "--args", `{"to":"ada"}`)
		s.waits(id, "signal approved")
		want := `"wait":{"since":"TIME","until":null,"held":false,"handed_over":false,"reason":null,"error":null,` +
			`"for":{"waits_for":["signal approved"]}},` +
			`"pause_requested":false,"closing":false,"version":null,`
		s.holds(shape(t, s.ok("job", "get", id, "-o", "jsonl")), want+`"journal":3,"messages":null`, `"run_at":null,`)
		s.holds(shape(t, s.ok("job", "list", "-o", "jsonl")), want+`"journal":null,"messages":null`)
		s.expect(s.run("job", "set", id, "--args", `{"to":"eve"}`), 1,
			"job "+id+" was not changed: it has a journal, which began with its args; "+`"holdfast job fork" makes a new job with other args`)

		sent := s.ok("signal", "send", id, "approved", `"bob"`, "--dedup-key", "once", "-o", "jsonl")
		if want := `{"id":"` + id + `","signal":"approved","dedup_key":"once","message":"1","duplicate":false}` + "\n"; sent != want {
			t.Errorf("%s", sent)
		}
		s.waits(id, "callback paid")
		sent = s.ok("signal", "send", id, "approved", `"eve"`, "--dedup-key", "once", "-o", "jsonl")
		if want := `{"id":"` + id + `","signal":"approved","dedup_key":"once","message":"1","duplicate":true}` + "\n"; sent != want {
			t.Errorf("%s", sent)
		}
		sent = s.ok("signal", "send", id, "approved", `"eve"`, "--dedup-key", "once", "-o", "table")
		if want := "job " + id + " already has a message with the key once; nothing was sent\n"; sent != want {
			t.Errorf("%s", sent)
		}
		token := s.token(id)
		s.ok("callback", "heartbeat", token)
		if out := s.ok("callback", "complete", token, `"receipt 7"`, "-o", "jsonl"); out != `{"token":"`+token+`","answer":"completed"}`+"\n" {
			t.Errorf("%s", out)
		}
		if out := s.ok("job", "wait", id, "--wait-timeout", "1m"); out != "\"parcel to ada, receipt 7\"\n" {
			t.Errorf("%s", out)
		}
		s.expect(s.run("callback", "fail", token, "--message", "too late"), 1, "has already been answered, or its job has finished")
		s.expect(s.run("signal", "send", id, "approved"), 1, id+" has finished and accepts no signals")
		again := s.run("job", "retry", id, "-o", "jsonl")
		s.expect(again, 1, "job "+id+` was not changed: it has completed; to repeat a durable job from a step, use "holdfast job fork"`)
		s.holds(again.stdout, `{"id":"`+id+`","state":"completed","error":"it has completed; `)

		s.seeJournal(id)
		s.seePublished(id)
		children := s.ok("job", "list", "--parent", id, "-o", "jsonl")
		if strings.Count(children, "\n") != 1 {
			t.Errorf("the children: %s", children)
		}
		s.holds(children, `"kind":"parcel"`, `"parent":"`+id+`"`)
		s.seeFork(id)
	})
}

// seeJournal checks the journal of a job that has completed.
func (s *shell) seeJournal(id string) {
	s.Helper()
	file := filepath.Join(s.dir, "journal.json")
	out := s.ok("job", "journal", id, "--output", "json")
	if err := os.WriteFile(file, []byte(out), 0o600); err != nil {
		s.Fatal(err)
	}
	again := &shop{}
	holdfasttest.Replay(s.T, file, again.register)
	if again.charges.Load() != 0 {
		s.Error("the replay has charged")
	}
	var value, lines any
	s.decode(out, &value)
	out = s.ok("job", "journal", id, "--output", "jsonl")
	s.decode(out, &lines)
	if diff := cmp.Diff(value, lines); diff != "" || strings.Count(out, "\n") != 1 {
		s.Errorf("json and jsonl differ:\n%s", diff)
	}
	object := s.journal(id)
	table := s.ok("job", "journal", id, "--output", "table")
	for _, pattern := range []string{
		`^SEQ  WHEN  +KIND  +PATH  NAME  +DATA\n`,
		`\n1    \d{4}-\d\d-\d\d \d\d:\d\d:\d\d.\d{3}Z  step  +1     charge  +1\n`,
		`\nm1   .{24}  sent signal +approved  +"bob"\n4    .{24}  received +4 +approved  +message m1\n`,
		`\nm\d   .{24}  sent heartbeat +hfc_\S{43}\n`,
		`\nm\d   .{24}  sent callback +hfc_\S{43}  "receipt 7"\n`,
		`\nm\d   .{24}  sent child +[0-9a-f-]{36} +completed "parcel to ada"\n`,
	} {
		if !regexp.MustCompile(pattern).MatchString(table) {
			s.Errorf("%s is not in\n%s", pattern, table)
		}
	}
	// Following it prints the same.
	var entries, messages int
	for line := range strings.Lines(s.ok("job", "journal", id, "--follow")) {
		var l views.JournalLine
		s.decode(line, &l)
		switch {
		case l.Entry != nil && l.Message == nil:
			if diff := cmp.Diff(&object.Entries[entries], l.Entry); diff != "" {
				s.Errorf("entry %d differs:\n%s", entries, diff)
			}
			entries++
		case l.Message != nil && l.Entry == nil:
			if diff := cmp.Diff(&object.Messages[messages], l.Message); diff != "" {
				s.Errorf("message %d differs:\n%s", messages, diff)
			}
			messages++
		default:
			s.Errorf("%s", line)
		}
	}
	if entries != len(object.Entries) || messages != len(object.Messages) {
		s.Errorf("%d entries and %d messages of %d and %d", entries, messages, len(object.Entries), len(object.Messages))
	}
}

// seePublished checks what a completed job has published.
func (s *shell) seePublished(id string) {
	s.Helper()
	s.holds(shape(s.T, s.ok("job", "published", id, "progress", "-o", "jsonl")), `{"offset":"5","at":"TIME","value":"approved"}`+"\n")
	if out := s.ok("job", "published", id, "progress", "--after", "2", "--wait", "-o", "table"); out != "\"approved\"\n" {
		s.Errorf("%s", out)
	}
	s.expect(s.run("job", "published", id, "progress", "--after", "5"), 1, `no value newer than offset 5 under "progress" and has finished`)
	s.expect(s.run("job", "published", id, "progress", "--after", "5", "--wait"), 1, "and has finished")
	s.expect(s.run("job", "published", id, "other"), 1, `no value under "other"`)
	var items []map[string]any
	s.decode(s.ok("job", "stream", id, "log"), &items)
	if len(items) != 2 || items[0]["value"] != "charged" || items[1]["value"] != "approved by <bob>" || items[1]["offset"] != "6" {
		s.Errorf("%v", items)
	}
	want := regexp.MustCompile(`^OFFSET  WHEN {22}VALUE\n3       \S+ \S+Z  "charged"\n6       \S+ \S+Z  "approved by <bob>"\n$`)
	for _, args := range [][]string{{"-o", "table"}, {"-o", "table", "--follow"}} {
		if out := s.ok(append([]string{"job", "stream", id, "log"}, args...)...); !want.MatchString(out) {
			s.Errorf("%v: %s", args, out)
		}
	}
	out := s.ok("job", "stream", id, "log", "--after", "3", "--follow")
	if s.holds(out, `"offset":"6"`); strings.Count(out, "\n") != 1 {
		s.Errorf("%s", out)
	}
	if got := s.run("job", "stream", id, "other", "-o", "table"); got.stdout != "" || got.stderr != "No matching items.\n" {
		s.Errorf("%+v", got)
	}
}

// seeFork forks a completed job.
func (s *shell) seeFork(id string) {
	s.Helper()
	var forked views.Forked
	s.decode(s.ok("job", "fork", id, "--from", "label", "--reason", "it was smudged"), &forked)
	if forked.ForkedFrom != id || s.ok("job", "wait", forked.ID, "--wait-timeout", "1m") != "\"parcel to ada, receipt 7\"\n" {
		s.Errorf("%+v", forked)
	}
	s.decode(s.ok("job", "fork", id, "--from", "4", "--args", `{"to":"cy"}`), &forked)
	s.waits(forked.ID, "signal approved")
	if got := fmt.Sprint(s.job(forked.ID)["args"]); got != "map[to:cy]" {
		s.Errorf("the args are %s", got)
	}
	for range 2 {
		s.decode(s.ok("job", "fork", id, "--from", "4", "--id", arg.ExampleID), &forked)
		if forked.ID != arg.ExampleID {
			s.Errorf("%+v", forked)
		}
	}
	s.expect(s.run("job", "fork", id, "--from", "label", "--id", arg.ExampleID), 1, "job "+arg.ExampleID+" exists and is not this fork")
	version4 := "00000000-0000-4000-8000-000000000000"
	s.expect(s.run("job", "fork", id, "--from", "label", "--id", version4), app.ExitUsage, "must be a whole UUIDv7")
	for range 2 { // again with the id, it does nothing
		again := s.run("job", "fork", id, "--from", "paid", "--id", "01936d3e-7c2a-7b51-9a0e-3f1d5c8e2b65", "-o", "table")
		if again.code != 0 || !strings.HasSuffix(again.stdout, " from paid\n") ||
			!strings.HasPrefix(again.stderr, "These run again: callback paid") {
			s.Errorf("%+v", again)
		}
	}
	s.expect(s.run("job", "fork", id, "--from", "nonsense"), 1, `has no step "nonsense" in its journal`, "holdfast job journal "+id)
	got := s.run("job", "fork", id, "--from", "charge", "-o", "table")
	if got.code != 0 || !strings.HasPrefix(got.stderr, "These run again: charge, ") ||
		!strings.Contains(got.stderr, "label") || !strings.Contains(got.stderr, "callback paid") || strings.Contains(got.stderr, "hfc_") {
		s.Errorf("%+v", got)
	}
	if got := s.run("job", "fork", id, "--from", "charge", "-q"); got.stderr != "" {
		s.Errorf("%+v", got)
	}
	if out := s.ok("job", "fork", id, "--from", "label", "-o", "table"); !strings.HasSuffix(out, " repeats job "+id+" from label\n") {
		s.Errorf("%s", out)
	}
}

func TestPauseAndResume(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *shell) {
		shop := &shop{}
		shop.noPaper.Store(true)
		s.serve(shop.register)
		id, later := s.enqueue("order", "--args", `{"to":"ada"}`), s.enqueue("mail", "--in", "1h")
		s.waits(id, "signal approved")
		var changes []views.Changed
		s.decode(s.ok("job", "pause", id, later, "--reason", "lunch"), &changes)
		if diff := cmp.Diff([]views.Changed{{ID: id, State: "waiting"}, {ID: later, State: "waiting"}}, changes); diff != "" {
			t.Errorf("pause:\n%s", diff)
		}
		s.ok("signal", "send", id, "approved", `"bob"`)
		s.holds(s.ok("job", "get", id, "-o", "jsonl"),
			`"until":null,"held":true,"handed_over":false,"reason":"paused","error":"lunch"`, `"run_at":null,`)
		s.expect(s.run("job", "retry", id), 1, `it is waiting; if it was paused, use "holdfast job resume"`)
		list := s.ok("job", "list", "-o", "table")
		if !regexp.MustCompile(id + ` +waiting \(paused\) +order +default +0 +since \d+m?s +lunch\n`).MatchString(list) {
			t.Errorf("%s", list)
		}
		s.holds(s.ok("job", "get", id, "-o", "table"), "held            paused: lunch\n")
		s.decode(s.ok("job", "resume", id, later), &changes)
		if diff := cmp.Diff([]views.Changed{{ID: id, State: "available"}, {ID: later, State: "scheduled"}}, changes); diff != "" {
			t.Errorf("resume:\n%s", diff)
		}
		s.waits(id, "callback paid")
		var v struct{ Actions []actionRead }
		s.decode(s.ok("job", "get", id, "-o", "json"), &v)
		if len(v.Actions) != 2 || v.Actions[0].What() != "pause lunch" || v.Actions[1].What() != "resume " {
			t.Errorf("actions: %+v", v.Actions)
		}
		if table := s.ok("job", "get", id, "-o", "table"); !regexp.MustCompile(
			`\nactions:\nWHEN +WHAT +WHO +WHY\n.*pause +\S.* +lunch\n.*resume +\S.*\n`).MatchString(table) {
			t.Errorf("%s", table)
		}
		got := s.run("job", "resume", id, arg.ExampleID, "-o", "table")
		if got.code != 1 || !strings.Contains(got.stderr, id+" was not changed: it is waiting and not paused\n") ||
			!strings.Contains(got.stderr, "no such job") {
			t.Errorf("%+v", got)
		}

		// It fails at its last step, and continues from there.
		s.ok("callback", "complete", s.token(id))
		s.expect(s.run("job", "wait", id, "--wait-timeout", "1m"), 1, "failed", "out of paper")
		s.expect(s.run("job", "pause", id), 1, id+" was not changed: it is already failed")
		shop.noPaper.Store(false)
		s.expect(s.run("job", "resume", id), 1, id+" was not changed", "fork")
		s.expect(s.run("job", "retry", id), 1, id+" was not changed: its compensations have run; fork it")
		if n := shop.charges.Load(); n != 0 {
			t.Errorf("charged %d times less than refunded", n)
		}
	})
}

// TestUpdates asks a job, lets it start over, and asks again.
func TestUpdates(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *shell) {
		var handled atomic.Int64
		add := holdfast.NewUpdate[int, string]("add")
		s.serve(func(client *holdfast.Client) error {
			return holdfast.NewKind[int, int]("sum").Handle(client, func(run *holdfast.Run, sum int) (int, error) {
				err := add.Handle(run, func(n int) error {
					if n < 0 {
						return errors.New("it is negative")
					}
					return nil
				}, func(run *holdfast.Run, n int) (string, error) {
					if _, err := holdfast.Step(run, "count", func(context.Context) (int64, error) { return handled.Add(1), nil }); err != nil {
						return "", err
					}
					if sum += n; n == 13 {
						return "", errors.New("not lucky")
					}
					return fmt.Sprint("now ", sum), nil
				})
				if err != nil {
					return 0, err
				}
				return sum, run.WaitUntil("enough", func() bool { return sum >= 100 })
			})
		})
		id := s.enqueue("sum", "--args", "1")
		for range 2 {
			if out := s.ok("update", "call", id, "add", "4", "--dedup-key", "four", "--wait-timeout", "1m"); out != "\"now 5\"\n" {
				t.Errorf("%s", out)
			}
		}
		s.expect(s.feed("-1", "update", "call", id, "add", "-"), 1, "job "+id+" refused the request: it is negative")
		s.expect(s.run("update", "call", id, "add", "13"), 1, "the request to job "+id+" failed: not lucky")
		if n := handled.Load(); n != 2 {
			t.Errorf("%d requests were handled, want 2", n)
		}
		s.expect(s.run("update", "call", id, "other", "--wait-timeout", "1ms"), app.ExitTimeout, "has not answered after 1ms; the request stays")
		s.waits(id, "condition enough")
		s.holds(s.ok("job", "get", id, "-o", "jsonl"), "update add")

		var changes []views.Changed
		s.decode(s.ok("job", "continue-as-new", id, "--args", "50", "--reason", "it went astray"), &changes)
		if diff := cmp.Diff([]views.Changed{{ID: id, State: "available"}}, changes); diff != "" {
			t.Errorf("continue-as-new:\n%s", diff)
		}
		if out := s.ok("update", "call", id, "add", "50", "--wait-timeout", "1m"); out != "\"now 100\"\n" {
			t.Errorf("%s", out)
		}
		if out := s.ok("job", "wait", id, "--wait-timeout", "1m"); out != "100\n" {
			t.Errorf("%s", out)
		}
		if out := s.ok("update", "call", id, "add", "4", "--dedup-key", "four"); out != "\"now 5\"\n" {
			t.Errorf("the answer of before is %s", out)
		}
		s.expect(s.run("update", "call", id, "add", "5"), 1, "job "+id+" is completed")
		s.expect(s.run("job", "continue-as-new", id), 1, id+" was not changed: it has completed; to do it again, enqueue another one")
		s.expect(s.run("job", "continue-as-new", s.enqueue("mail", "--in", "1h")), 1, "was not changed: it is scheduled; pause it first")
		var v struct{ Actions []actionRead }
		s.decode(s.ok("job", "get", id, "-o", "json"), &v)
		if len(v.Actions) != 1 || v.Actions[0].What() != "continue it went astray" {
			t.Errorf("actions: %+v", v.Actions)
		}
	})
}

// TestResumeFailed resumes a durable job that has failed without compensations, and retries it.
func TestResumeFailed(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *shell) {
		var steps, fails atomic.Int64
		fails.Store(2)
		s.serve(func(client *holdfast.Client) error {
			return holdfast.NewKind[int, int64]("two").Handle(client, func(run *holdfast.Run, _ int) (int64, error) {
				if _, err := holdfast.Step(run, "one", func(context.Context) (int64, error) { return steps.Add(1), nil }); err != nil {
					return 0, err
				}
				return holdfast.Step(run, "two", func(context.Context) (int64, error) {
					if fails.Add(-1) >= 0 {
						return 0, errors.New("no")
					}
					return 7, nil
				})
			}, holdfast.MaxAttempts(1))
		})
		id := s.enqueue("two", "--args", "1")
		s.expect(s.run("job", "wait", id, "--wait-timeout", "1m"), 1, "failed")
		if out := s.ok("job", "resume", id, "--reason", "again", "-o", "table"); out != "job "+id+" is available\n" {
			t.Errorf("%s", out)
		}
		s.expect(s.run("job", "wait", id, "--wait-timeout", "1m"), 1, "failed")
		s.ok("job", "retry", id)
		if out := s.ok("job", "wait", id, "--wait-timeout", "1m"); out != "7\n" || steps.Load() != 1 {
			t.Errorf("%s, step one ran %d times", out, steps.Load())
		}
		s.expect(s.run("job", "resume", id), 1, `it has completed; to repeat it from a step, use "holdfast job fork"`)
	})
}

// TestHeldForAPerson shows a job whose code and journal contradict each other.
func TestHeldForAPerson(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *shell) {
		var name atomic.Value
		name.Store("old")
		s.serve(func(client *holdfast.Client) error {
			return holdfast.NewKind[int, int]("changing").Handle(client, func(run *holdfast.Run, _ int) (int, error) {
				step, _ := name.Load().(string)
				if _, err := holdfast.Step(run, step, func(context.Context) (int, error) { return 1, nil }); err != nil {
					return 0, err
				}
				_, err := holdfast.NewSignal[int]("go").Wait(run)
				return 0, err
			})
		})
		id := s.enqueue("changing", "--args", "1")
		s.waits(id, "signal go")
		name.Store("new")
		s.ok("signal", "send", id, "go", "1")
		var v struct {
			Wait struct {
				Held   bool
				Reason string
				Error  string
			}
		}
		until(t, "the contradiction", func() bool {
			v.Wait.Held = false
			s.decode(s.ok("job", "get", id), &v)
			return v.Wait.Held
		})
		if v.Wait.Reason != "nondeterminism" || !strings.Contains(v.Wait.Error, `"old"`) || !strings.Contains(v.Wait.Error, "job resume") {
			t.Errorf("%+v", v)
		}
		s.holds(s.ok("job", "list", "-o", "table"), "waiting (nondeterminism)", "the code asks for")
		name.Store("old")
		s.ok("job", "resume", id)
		s.ok("job", "wait", id, "--wait-timeout", "1m")
	})
}

func TestCancelDurable(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *shell) {
		shop := &shop{}
		s.serve(shop.register)
		for _, test := range []struct {
			flag    string
			ended   string
			state   string
			words   string
			charges int64
		}{
			{"--terminate=false", "cancelled", "available", "is available; it ends soon, if it is durable after its compensations", 0},
			{"--terminate", "cancelled (terminated)", "cancelled", "is cancelled", 1},
		} {
			var ids []string
			for range 2 {
				id := s.enqueue("order", "--args", `{"to":"ada"}`)
				s.waits(id, "signal approved")
				ids = append(ids, id)
			}
			var changes []views.Changed
			s.decode(s.ok("job", "cancel", ids[0], "--reason", "a mistake", test.flag), &changes)
			if diff := cmp.Diff([]views.Changed{{ID: ids[0], State: views.Text(test.state)}}, changes); diff != "" {
				t.Errorf("%s:\n%s", test.flag, diff)
			}
			if out := s.ok("job", "cancel", ids[1], test.flag, "-o", "table"); out != "job "+ids[1]+" "+test.words+"\n" {
				t.Errorf("%s: %s", test.flag, out)
			}
			for _, id := range ids {
				s.expect(s.run("job", "wait", id, "--wait-timeout", "1m"), 1, "job "+id+" "+test.ended)
			}
			if n := shop.charges.Swap(0); n != 2*test.charges {
				t.Errorf("%s: %d are charged", test.flag, n)
			}
		}
	})
}
