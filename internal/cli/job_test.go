package cli

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/views"
)

// shape is a JSON document with its values replaced by their types, and its fields in order.
func shape(t *testing.T, doc string) string {
	t.Helper()
	for _, kind := range []struct{ pattern, word string }{
		{`"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"`, `"ID"`},
		{`"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"`, `"TIME"`},
	} {
		doc = regexp.MustCompile(kind.pattern).ReplaceAllString(doc, kind.word)
	}
	return doc
}

// TestWhySaysATimeOnce: of a job that is scheduled the text says when, and how long that is.
func TestWhySaysATimeOnce(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	said := s.ok("job", "why", s.enqueue("mail", "--at", "2126-03-29T02:30:00Z"), "-o", "table")
	if n := strings.Count(said, "2126-03-29T02:30:00Z"); n != 1 {
		t.Errorf("%d times: %s", n, said)
	}
}

func TestJobJSON(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	id := s.enqueue("mail", "--args", `{"to":"<ada>"}`, "--tag", "b", "--tag", "a")
	want := `{"id":"ID","namespace":"default","queue":"default","kind":"mail","state":"available","reason":null,"error":null,` +
		`"priority":2,"args":{"to":"<ada>"},"result":null,"metadata":null,"codec":0,"tags":["b","a"],"attributes":{},` +
		`"created_at":"TIME","run_at":"TIME",` +
		`"claimed_at":null,"started_at":null,"finished_at":null,"result_codec":0,"fingerprint":null,` +
		`"attempt":0,"max_attempts":null,"timeout":null,"heartbeat_timeout":null,"deadline":null,"backoff":null,"of_kind":[],` +
		`"ordering_key":null,"unique":false,"key":null,"keep_key":null,"keep_turn":false,"limit":null,"limit_key":null,"fair_key":null,` +
		`"traceparent":null,"tracestate":null,` +
		`"blocked":false,"cancel_requested":false,"lease_number":null,"node":null,"build":null,"checkpoint":null,` +
		`"wait":null,"pause_requested":false,"closing":false,"version":null,"journal":null,"messages":null,` +
		`"parent":null,"batch":null,"on_parent_close":"cancel","source":null,"nominal":null,"follows":null,"called":null,"why":`
	whole := want + `[{"code":"no_node","text":"no node is running","until":null,"job":null,"node":null,"limit":null}],` +
		`"attempts":[],"actions":[],` +
		`"predecessors":null}`
	if got := shape(t, s.ok("job", "get", id, "-o", "jsonl")); got != whole+"\n" {
		t.Errorf("job get:\n%s\nwant\n%s", got, whole)
	}
	if got := shape(t, s.ok("job", "list", "-o", "jsonl")); got != want+`null,"attempts":null,"actions":null,"predecessors":null}`+"\n" {
		t.Errorf("job list:\n%s\nwant\n%s", got, want+`null,"attempts":null,"actions":null,"predecessors":null}`)
	}
	var lines, object any
	s.decode(s.ok("job", "get", id, "-o", "jsonl"), &lines)
	s.decode(s.ok("job", "get", id, "-o", "json"), &object)
	if diff := cmp.Diff(lines, object); diff != "" {
		t.Errorf("json and jsonl differ:\n%s", diff)
	}
}

func TestJobList(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	a := s.enqueue("mail", "--queue", "one", "--tag", "x", "--tag", "y")
	b := s.enqueue("push", "--queue", "two", "--in", "1h", "--tag", "x")
	c := s.enqueue("mail", "--queue", "two")
	s.enqueue("mail", "--namespace", "other")
	for name, test := range map[string]struct {
		args []string
		want []string
	}{
		"all":         {nil, []string{c, b, a}},
		"limit":       {[]string{"--limit", "2"}, []string{c, b}},
		"every one":   {[]string{"--all"}, []string{c, b, a}},
		"state":       {[]string{"--state", "scheduled"}, []string{b}},
		"two states":  {[]string{"--state", "scheduled", "--state", "available"}, []string{c, b, a}},
		"no state":    {[]string{"--state", "failed"}, nil},
		"queue":       {[]string{"--queue", "two"}, []string{c, b}},
		"two queues":  {[]string{"--queue", "two", "--queue", "one"}, []string{c, b, a}},
		"no queue":    {[]string{"--queue", "three"}, nil},
		"kind":        {[]string{"--kind", "mail"}, []string{c, a}},
		"tag":         {[]string{"--tag", "x"}, []string{b, a}},
		"two tags":    {[]string{"--tag", "x", "--tag", "y"}, []string{a}},
		"all filters": {[]string{"--tag", "x", "--kind", "push", "--queue", "two", "--state", "scheduled"}, []string{b}},
	} {
		var jobs []jobID
		s.decode(s.ok(append([]string{"jobs", "list"}, test.args...)...), &jobs)
		var got []string
		for _, j := range jobs {
			got = append(got, j.ID)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
	if out := s.ok("job", "list", "--state", "failed", "-o", "jsonl"); out != "" {
		t.Errorf("no jobs as lines: %q", out)
	}
}

type jobID struct {
	ID string `json:"id"`
}

func TestJobListTable(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	s.terminal = true
	if got := s.run("job", "list"); got.stdout != "" || got.stderr != "No jobs found.\n" {
		t.Errorf("no jobs: %+v", got)
	}
	s.ok("job", "enqueue", "mail", "--in", "90m")
	s.ok("job", "enqueue", "push", "--max-attempts", "3")
	s.now = func() time.Time { return time.Now().Add(10 * time.Second) }
	got := s.run("job", "list")
	want := regexp.MustCompile(`^ID {36}STATE {6}KIND  QUEUE    ATTEMPT  WHEN +ERROR
[0-9a-f-]{36}  available  push  default  0/3      due 1\ds ago
[0-9a-f-]{36}  scheduled  mail  default  0        due in 89m
$`)
	if !want.MatchString(got.stdout) {
		t.Errorf("%s", got.stdout)
	}
	if got := s.run("job", "list", "--limit", "1"); !strings.Contains(got.stderr, "--all for more") {
		t.Errorf("%+v", got)
	}
	if got := s.run("job", "list", "--limit", "1", "--quiet"); got.stderr != "" {
		t.Errorf("%+v", got)
	}
}

func TestJobsOfAnotherNamespace(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	id := s.enqueue("mail", "--namespace", "other")
	for _, verb := range []string{"get", "wait", "cancel", "retry"} {
		s.expect(s.run("job", verb, id, "-n", "default"), 1, id, "no such job")
	}
	s.ok("job", "cancel", id, "--namespace", "other")
}

func TestJobNotFoundAndWrongIDs(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	for _, verb := range []string{"get", "wait", "cancel", "retry"} {
		s.expect(s.run("job", verb, arg.ExampleID), 1, "no such job", arg.ExampleID)
		for _, id := range []string{
			"7", arg.ExampleID + "0", "{" + arg.ExampleID + "}", "urn:uuid:" + arg.ExampleID, strings.ReplaceAll(arg.ExampleID, "-", ""),
		} {
			s.expect(s.run("job", verb, id), app.ExitUsage, "is not a job id")
		}
		s.expect(s.run("job", verb), app.ExitUsage, map[string]string{"get": "takes ID", "wait": "takes ID"}[verb], "holdfast job "+verb)
	}
}

func TestCancelAndRetry(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	a, b := s.enqueue("mail"), s.enqueue("mail", "--in", "1h")
	var changes []views.Changed
	s.decode(s.ok("job", "cancel", a, b, "--reason", "a\tmistake"), &changes)
	if diff := cmp.Diff([]views.Changed{{ID: a, State: "cancelled"}, {ID: b, State: "cancelled"}}, changes); diff != "" {
		t.Errorf("cancel:\n%s", diff)
	}
	if v := s.job(a); v["state"] != "cancelled" || v["reason"] != "cancelled" || v["error"] == nil {
		t.Errorf("%v", v)
	}
	got := s.run("job", "wait", a)
	if got.code != 1 || !strings.Contains(got.stderr, "cancelled") || !strings.Contains(got.stderr, "mistake") {
		t.Errorf("waiting for a cancelled job: %+v", got)
	}
	s.terminal = true
	if out := s.ok("job", "cancel", a); out != "job "+a+" had cancelled already\n" && !strings.Contains(out, "is cancelled") {
		t.Errorf("cancelling again: %q", out)
	}
	s.terminal = false
	got = s.run("job", "retry", a, arg.ExampleID, b)
	if got.code != 1 || !strings.Contains(got.stderr, arg.ExampleID) || !strings.Contains(got.stderr, "no such job") {
		t.Errorf("%+v", got)
	}
	s.decode(got.stdout, &changes)
	if len(changes) != 3 || changes[0].State != "available" || changes[1].Error == "" || changes[2].State != "available" {
		t.Errorf("retry: %+v", changes)
	}
	s.terminal = true
	if got := s.run("job", "retry", a); got.code != 0 || got.stdout != "job "+a+" is available\n" {
		t.Errorf("retrying an available job: %+v", got)
	}
}

func TestWait(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	n := s.start("dev")
	echo := `{"command":["echo","hello"]}`
	got := s.run("job", "enqueue", "exec", "--args", echo, "--wait")
	if got.code != 0 || got.stdout != `{"exit_code":0,"stdout":"hello\n","stderr":""}`+"\n" {
		t.Errorf("enqueue --wait: %+v", got)
	}
	if !strings.HasPrefix(got.stderr, "enqueued job 0") {
		t.Errorf("the id is not told: %q", got.stderr)
	}
	if got := s.run("job", "enqueue", "exec", "--args", echo, "--wait", "-q"); got.stderr != "" {
		t.Errorf("--quiet: %q", got.stderr)
	}
	s.expect(s.run("job", "enqueue", "exec", "--args", `{"command":["sh","-c","echo no >&2; exit 4"]}`, "--wait", "--max-attempts", "1", "-q"),
		1, "failed (attempts_exhausted): sh ended with exit status 4: no")
	s.expect(s.run("job", "enqueue", "exec", "--args", `{"command":["holdfast-no-such-command"]}`, "--wait", "-q"),
		1, "failed (terminal)", "holdfast-no-such-command")
	s.expect(s.run("job", "enqueue", "exec", "--args", `{"cmd":["true"]}`, "--wait", "-q"), 1, "failed (terminal)", `unknown field "cmd"`)

	later := s.enqueue("exec", "--args", echo, "--in", "1h")
	s.expect(s.run("job", "wait", later, "--wait-timeout", "30ms"), app.ExitTimeout, "has not finished after 30ms", later)
	s.expect(s.run("job", "wait", later, "--wait-timeout", "-1s"), app.ExitUsage, "must be more than 0")
	done := s.enqueue("exec", "--args", echo)
	for range 2 { // it may have finished already
		if got := s.run("job", "wait", done, "--wait-timeout", "1m"); got.code != 0 || !strings.Contains(got.stdout, `"stdout":"hello\n"`) {
			t.Errorf("%+v", got)
		}
	}
	v := s.job(done)
	if v["state"] != "completed" || fmt.Sprint(v["result"]) != "map[exit_code:0 stderr: stdout:hello\n]" || v["node"] == nil {
		t.Errorf("%v", v)
	}
	s.expect(s.run("job", "retry", done), 1, "job "+done+" was not changed: it has completed; ")
	s.terminal = true
	table := s.ok("job", "get", done)
	for _, want := range []string{"state       completed", "kind        exec", `result      {"exit_code":0,"stdout":"hello\n","stderr":""}`} {
		if !strings.Contains(table, want) {
			t.Errorf("job get says not %q:\n%s", want, table)
		}
	}
	n.stop(t)
}

func TestQueuesAndNodes(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.start("worker", "--queue", "mail=3", "--queue", "reports", "--slots", "7")
	s.ok("queue", "pause", "mail", "reports")
	s.enqueue("http", "--queue", "mail")
	s.enqueue("http", "--queue", "mail", "--in", "1h")
	s.enqueue("http", "--queue", "elsewhere")
	var queues []map[string]any
	s.decode(s.ok("queue", "list"), &queues)
	if len(queues) != 3 {
		t.Fatalf("%v", queues)
	}
	mail := queues[1]
	if mail["name"] != "mail" || mail["paused"] != true || mail["paused_at"] == nil || mail["paused_by"] == nil {
		t.Errorf("%v", mail)
	}
	counts, err := json.Marshal(mail["counts"])
	if err != nil {
		t.Fatal(err)
	}
	want := `{"available":{"exact":true,"jobs":1},"retryable":{"exact":true,"jobs":0},"running":{"exact":true,"jobs":0},` +
		`"scheduled":{"exact":true,"jobs":1},"waiting":{"exact":true,"jobs":0}}`
	if string(counts) != want {
		t.Errorf("%s", counts)
	}
	if out := s.ok("queue", "resume", "mail", "-o", "jsonl"); out != `{"namespace":"default","queue":"mail","paused":false,"new":false}`+"\n" {
		t.Errorf("%q", out)
	}
	s.expect(s.run("queue", "pause", "a\nb"), app.ExitUsage, "control character")
	if out := s.expect(s.run("queue", "pause", "new", ""), app.ExitUsage, "QUEUE is empty"); out != "" {
		t.Errorf("%q", out)
	}
	if out := s.ok("queue", "list"); strings.Contains(out, `"new"`) {
		t.Errorf("a queue is paused although another name was wrong: %s", out)
	}

	var raw []map[string]any
	out := s.ok("node", "list")
	s.decode(out, &raw)
	if len(raw) != 1 || raw[0]["alive"] != true || raw[0]["slots"] != 7.0 ||
		fmt.Sprint(raw[0]["queues"], raw[0]["kinds"]) != "[mail reports] [http]" {
		t.Errorf("%s", out)
	}
	s.expectNote(s.run("queue", "pause", "mial", "mail"), "Queue mial did not exist; created it.\n")
	s.expectNote(s.run("queue", "resume", "mial", "mail"), "")
	s.ok("queue", "pause", "mail")
	s.expect(s.run("queue", "resume", "mail", "mila"), app.ExitError, "no such queue: mila; nothing was resumed")
	if out := s.ok("queue", "list"); strings.Contains(out, "mila") || !strings.Contains(out, `"paused_by": "`) {
		t.Errorf("%s", out)
	}
	s.ok("queue", "resume", "mail")
	s.terminal = true
	if out := s.ok("node", "list"); !strings.Contains(out, "mail,reports") || !strings.Contains(out, "alive") {
		t.Errorf("%s", out)
	}
	if out := s.ok("queue", "list"); !strings.Contains(out, "reports") || !strings.Contains(out, "PAUSED") {
		t.Errorf("%s", out)
	}
}

// TestPauseThatFailsHalfWay: the completed part is printed, as valid JSON.
func TestPauseThatFailsHalfWay(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	s.statement("CREATE TRIGGER no BEFORE INSERT ON holdfast_queue WHEN NEW.name = 'b' BEGIN SELECT RAISE(ABORT, 'not this one'); END")
	var paused []views.Paused
	s.decode(s.expect(s.run("queue", "pause", "a", "b", "c", "-q", "-o", "json"), 1, "not this one"), &paused)
	if diff := cmp.Diff([]views.Paused{{Namespace: "default", Queue: "a", Paused: true, New: true}}, paused); diff != "" {
		t.Error(diff)
	}
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	var v views.Schema
	s.decode(s.ok("migrate", "status"), &v)
	if v.Version != 0 || v.Latest < 1 || v.Current || v.Database != "sqlite:"+s.db {
		t.Errorf("before: %+v", v)
	}
	if found, _ := filepath.Glob(filepath.Join(s.dir, "*")); found != nil {
		t.Errorf("looking made %v", found)
	}
	s.terminal = true
	if out := s.ok("migrate", "up"); !strings.HasPrefix(out, "created ") {
		t.Errorf("%q", out)
	}
	if out := s.ok("migrate", "up"); !strings.Contains(out, "up to date") {
		t.Errorf("%q", out)
	}
	s.terminal = false
	s.decode(s.ok("migrate", "status"), &v)
	if v.Version != v.Latest || !v.Current {
		t.Errorf("after: %+v", v)
	}
	all := s.ok("migrate", "sql")
	if !strings.HasPrefix(all, "-- holdfast migration 1: ") || !strings.Contains(all, "CREATE TABLE") {
		t.Errorf("%.200s", all)
	}
	if out := s.ok("migrate", "sql", "--from", strconv.Itoa(v.Latest)); out != "" {
		t.Errorf("%.200s", out)
	}
	s.expect(s.run("migrate", "sql", "--from", "1000"), app.ExitUsage, "--from 1000")
	s.expect(s.run("migrate", "sql", "--from", "-1"), app.ExitUsage, "--from -1")
}
