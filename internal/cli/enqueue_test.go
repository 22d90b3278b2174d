package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/internal/cli/views"
)

func TestEnqueueSaysWhatItDid(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	id := s.enqueue("mail", "--args", `{"to":"ada"}`)
	if v := s.job(id); v["kind"] != "mail" || v["state"] != "available" || fmt.Sprint(v["args"]) != "map[to:ada]" {
		t.Errorf("%v", v)
	}
	s.terminal = true
	if out := s.ok("job", "enqueue", "mail"); !strings.HasPrefix(out, "enqueued job 0") {
		t.Errorf("on a terminal: %q", out)
	}
	if out := s.ok("job", "enqueue", "mail", "--id", id); out != "job "+id+" already exists; nothing was enqueued\n" {
		t.Errorf("the same id again: %q", out)
	}
}

func TestEnqueueOptions(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	v := s.job(s.enqueue("mail", "--args", "[1]", "--queue", "slow", "--priority", "4", "--at", "2030-01-02T03:04:05+01:00",
		"--max-attempts", "7", "--timeout", "90s", "--heartbeat-timeout", "20s",
		"--deadline", "2030-02-01T00:00:00Z", "--tag", "a,b", "--tag", "c",
		"--metadata", `{"by":"ada"}`, "--ordering-key", "k", "--unique", "args,queue,period:1h,while:completed"))
	for field, want := range map[string]any{
		"queue": "slow", "priority": 4.0, "state": "scheduled", "run_at": "2030-01-02T02:04:05.000000Z",
		"max_attempts": 7.0, "timeout": "1m30s", "heartbeat_timeout": "20s",
		"deadline": "2030-02-01T00:00:00.000000Z", "ordering_key": "k", "unique": true,
	} {
		if v[field] != want {
			t.Errorf("%s is %v, want %v", field, v[field], want)
		}
	}
	if got := fmt.Sprint(v["tags"], v["metadata"], v["args"]); got != "[a,b c] map[by:ada] [1]" {
		t.Errorf("tags, metadata and args: %s", got)
	}
	if v := s.job(s.enqueue("mail", "--in", "1h", "--deadline", "2h")); v["state"] != "scheduled" {
		t.Errorf("in an hour it is %v", v["state"])
	}
}

func TestEnqueueUnique(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	enqueue := func(args ...string) outcome {
		return s.run(append([]string{"job", "enqueue", "mail", "--unique", "field:to"}, args...)...)
	}
	var first, second views.Enqueued
	s.decode(enqueue("--args", `{"to":"ada","n":1}`).stdout, &first)
	s.decode(enqueue("--args", `{"to":"ada","n":2}`).stdout, &second)
	if second.ID != first.ID || !second.Existing || second.Replaced {
		t.Errorf("%+v, then %+v", first, second)
	}
	s.expect(enqueue("--args", `{"to":"ada"}`, "--on-conflict", "reject"), 1, "holds the unique key", first.ID)
	s.decode(enqueue("--args", `{"to":"ada","n":3}`, "--on-conflict", "replace").stdout, &second)
	if second.ID != first.ID || !second.Replaced {
		t.Errorf("replaced: %+v", second)
	}
	if got := fmt.Sprint(s.job(first.ID)["args"]); got != "map[n:3 to:ada]" {
		t.Errorf("the args are %s", got)
	}
	debounce := []string{"--args", `{"to":"cy"}`, "--on-conflict", "replace", "--in", "1h"}
	s.decode(enqueue(debounce...).stdout, &first)
	s.decode(enqueue(append(debounce, "--max-delay", "1h")...).stdout, &second)
	if job := s.job(first.ID); second.ID != first.ID || !second.Replaced || job["run_at"] != plus(t, job["created_at"], time.Hour) {
		t.Errorf("at the latest: %+v, %v after %v", second, job["run_at"], job["created_at"])
	}
	s.decode(enqueue("--args", `{"to":"bob"}`).stdout, &second)
	if second.ID == first.ID {
		t.Error("another value of the field is the same job")
	}
}

func TestEnqueueArgsFromElsewhere(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	path := filepath.Join(s.dir, "args.json")
	if err := os.WriteFile(path, []byte(" {\"n\": 9007199254740993}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, got := range []outcome{
		s.run("job", "enqueue", "mail", "--args", "@"+path),
		s.feed("{\"n\":\n9007199254740993}", "job", "enqueue", "mail", "--args", "-"),
	} {
		var v views.Enqueued
		s.decode(s.expect(got, 0), &v)
		if out := s.ok("job", "get", v.ID, "-o", "jsonl"); !strings.Contains(out, `"args":{"n":9007199254740993}`) {
			t.Errorf("%s", out)
		}
	}
}

// TestEnqueueKeepsArgsAsTheyAre: only white space is changed, and the limit applies to what is
// stored.
func TestEnqueueKeepsArgsAsTheyAre(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	wide := `"` + strings.Repeat("<", holdfast.MaxPayload-2) + `"`
	for name, test := range map[string]struct{ given, want string }{
		"HTML":         {`{"to": "<ada> & <bob>"}`, `{"to":"<ada> & <bob>"}`},
		"escapes":      {`"\u003c\/\u2028\\u0000"`, `"\u003c\/\u2028\\u0000"`},
		"numbers":      {`[ 1e400, 9007199254740993, -0.0 ]`, `[1e400,9007199254740993,-0.0]`},
		"a name twice": {`{"a":1,"a":2}`, `{"a":1,"a":2}`},
		"the largest":  {wide, wide},
		"white space":  {"  " + wide + strings.Repeat(" ", 1000), wide},
	} {
		for _, from := range [][]string{{"--args", test.given}, {"--file", "-", "--output", "json"}} {
			var v []views.Enqueued
			out := s.expect(s.feed(test.given, append([]string{"job", "enqueue", "mail"}, from...)...), 0)
			if from[0] == "--args" {
				out = "[" + out + "]"
			}
			s.decode(out, &v)
			if got := s.ok("job", "get", v[0].ID, "-o", "jsonl"); !strings.Contains(got, `"args":`+test.want+`,"result"`) {
				t.Errorf("%s, %s: %.200s", name, from[0], got)
			}
		}
	}
}

func TestEnqueueRefusesNonsense(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	large := `"` + strings.Repeat("x", holdfast.MaxPayload) + `"`
	tests := map[string]struct {
		args  []string
		words string
	}{
		"no kind":           {nil, "missing argument: job enqueue takes KIND [ARGS]"},
		"empty kind":        {[]string{""}, "KIND is empty"},
		"kind with newline": {[]string{"a\nb"}, "kind"},
		"two kinds":         {[]string{"a", "b"}, "ARGS: not JSON: b; a string needs double quotes"},
		"bad JSON":          {[]string{"a", "--args", `{"to":ada}`}, `--args: not JSON at byte 7, after {"to":: ada}`},
		"empty args":        {[]string{"a", "--args", ""}, "empty"},
		"two values":        {[]string{"a", "--args", "1 2"}, "not JSON"},
		"NUL":               {[]string{"a", "--args", `{"to":["a\u0000"]}`}, "NUL"},
		"NUL in a name":     {[]string{"a", "--args", `{"\u0000":1}`}, "NUL"},
		"NUL, then not":     {[]string{"a", "--args", `{"a":"\u0000","a":2}`}, "NUL"},
		"not UTF-8":         {[]string{"a", "--args", "\"\xFF\""}, "UTF-8"},
		"large":             {[]string{"a", "--args", large}, "larger than 1048576 bytes"},
		"no such file":      {[]string{"a", "--args", "@" + filepath.Join(s.dir, "gone")}, "no such file"},
		"no such lines":     {[]string{"a", "--file", filepath.Join(s.dir, "gone")}, "no such file"},
		"args and file":     {[]string{"a", "--args", "1", "--file", "-"}, "--args and --file cannot be used together"},
		"in and at":         {[]string{"a", "--in", "1s", "--at", "2030-01-01"}, "--at and --in cannot be used together"},
		"wait and file":     {[]string{"a", "--wait", "--file", "-"}, "--file and --wait cannot be used together"},
		"id and file":       {[]string{"a", "--id", arg.ExampleID, "--file", "-"}, "--file and --id cannot be used together"},
		"keep going":        {[]string{"a", "--keep-going"}, "--file"},
		"priority":          {[]string{"a", "--priority", "5"}, "between 1 (most urgent) and 4"},
		"priority text":     {[]string{"a", "--priority", "high"}, "not an integer"},
		"in":                {[]string{"a", "--in", "-5s"}, "in the past"},
		"at":                {[]string{"a", "--at", "tomorrow"}, "--at"},
		"deadline":          {[]string{"a", "--deadline", "later"}, "--deadline"},
		"past deadline":     {[]string{"a", "--deadline", "2001-01-01"}, "deadline"},
		"negative deadline": {[]string{"a", "--deadline", "-1h"}, "in the past"},
		"deadline first":    {[]string{"a", "--in", "2h", "--deadline", "1h"}, "deadline"},
		"max attempts":      {[]string{"a", "--max-attempts", "0"}, "between 1 and 1000"},
		"timeout":           {[]string{"a", "--timeout", "0s"}, "not positive"},
		"heartbeat timeout": {[]string{"a", "--heartbeat-timeout", "0s"}, "not positive"},
		"empty tag":         {[]string{"a", "--tag", ""}, "tag"},
		"metadata":          {[]string{"a", "--metadata", "x"}, "--metadata"},
		"metadata array":    {[]string{"a", "--metadata", "[]"}, "not a JSON object"},
		"id":                {[]string{"a", "--id", "x"}, "--id"},
		"id of version 4":   {[]string{"a", "--id", "e7c21ef8-bb0c-4b1c-8d0a-a3c7d0aa3dd6"}, "UUIDv7"},
		"queue":             {[]string{"a", "--queue", ""}, "queue"},
		"ordering key":      {[]string{"a", "--ordering-key", strings.Repeat("k", 300)}, "ordering key"},
		"unique":            {[]string{"a", "--unique", "id"}, "--unique"},
		"unique field":      {[]string{"a", "--unique", "field:"}, "--unique"},
		"unique args value": {[]string{"a", "--unique", "args:x"}, "--unique"},
		"unique period":     {[]string{"a", "--unique", "period:day"}, "not a duration"},
		"unique short":      {[]string{"a", "--unique", "period:1ms"}, "shorter than a second"},
		"unique no period":  {[]string{"a", "--unique", "period:0s"}, "shorter than a second"},
		"unique while":      {[]string{"a", "--unique", "while:done"}, "no state"},
		"on-conflict":       {[]string{"a", "--on-conflict", "reject"}, "--unique"},
		"on-conflict word":  {[]string{"a", "--unique", "args", "--on-conflict", "explode"}, "return, reject or replace"},
		"max-delay":         {[]string{"a", "--max-delay", "1m"}, "--max-delay requires --unique"},
		"max-delay alone":   {[]string{"a", "--unique", "args", "--max-delay", "1m"}, "--on-conflict replace"},
		"max-delay of none": {[]string{"a", "--unique", "args", "--on-conflict", "replace", "--max-delay", "0s"}, "must be positive"},
		"a longer delay": {[]string{
			"a", "--unique", "args", "--on-conflict", "replace", "--max-delay", "1m", "--in", "2m",
		}, "--in 2m0s is longer than --max-delay 1m0s"},
		"max-delay of a time": {[]string{
			"a", "--unique", "args", "--on-conflict", "replace", "--max-delay", "1m", "--at", "2100-01-01",
		}, "--max-delay and --at cannot be used together"},
		"namespace": {[]string{"a", "--namespace", ""}, "namespace"},
		"output":    {[]string{"a", "--output", "xml"}, "the formats are table, json"},
	}
	t.Cleanup(func() {
		if out := s.ok("job", "list", "--all"); out != "[]\n" {
			t.Errorf("something was enqueued: %s", out)
		}
	})
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := *s
			own.T = t
			if out := own.expect(own.run(append([]string{"job", "enqueue"}, test.args...)...), app.ExitUsage, test.words, "--help"); out != "" {
				t.Errorf("standard output: %q", out)
			}
		})
	}
}

// count is how many jobs there are.
func (s *shell) count() int {
	s.Helper()
	return strings.Count(s.ok("job", "list", "--all", "--output", "jsonl"), "\n")
}

func TestEnqueueFile(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	var lines strings.Builder
	for i := range 2100 {
		fmt.Fprintf(&lines, "{\"n\":%d}\n", i)
	}
	got := s.feed(lines.String(), "job", "enqueue", "mail", "--file", "-", "--output", "jsonl", "--queue", "bulk")
	out := strings.Split(strings.TrimSuffix(s.expect(got, 0), "\n"), "\n")
	if len(out) != 2100 {
		t.Fatalf("%d lines of output", len(out))
	}
	var last views.Enqueued
	s.decode(out[2099], &last)
	if got := fmt.Sprint(s.job(last.ID)["args"], last.Line); got != "map[n:2099] 2100" {
		t.Errorf("the last line: %s", got)
	}
	if n := s.count(); n != 2100 {
		t.Errorf("%d jobs", n)
	}

	path := filepath.Join(s.dir, "args.jsonl")
	if err := os.WriteFile(path, []byte("\uFEFF{\"a\":1}\r\n\r\n  \n[2]"), 0o600); err != nil {
		t.Fatal(err)
	}
	var ids []views.Enqueued
	s.decode(s.ok("job", "enqueue", "mail", "--file", path), &ids)
	if len(ids) != 2 || ids[0].Line != 1 || ids[1].Line != 4 {
		t.Errorf("a file with empty lines and a mark: %+v", ids)
	}
	s.terminal = true
	got = s.feed("1\n2\n", "job", "enqueue", "mail", "--file", "-", "--quiet", "-o", "table")
	if got.stdout != "enqueued 2 jobs\n" || got.stderr != "" {
		t.Errorf("on a terminal: %q, %q", got.stdout, got.stderr)
	}
	got = s.feed("", "job", "enqueue", "mail", "--file", "-", "--quiet", "-o", "table")
	if got.stdout != "enqueued 0 jobs\n" || got.code != 0 {
		t.Errorf("nothing at all: %+v", got)
	}
	some := strings.Join(strings.SplitAfter(lines.String(), "\n")[:1100], "")
	got = s.feed(some, "job", "enqueue", "mail", "--file", "-", "--unique", "args")
	if !strings.Contains(got.stderr, "1000 jobs") || got.stdout != "enqueued 1100 jobs\n" {
		t.Errorf("with a bar: %q, %q", got.stdout, got.stderr)
	}
	got = s.feed(some, "job", "enqueue", "mail", "--file", "-", "--unique", "args", "--quiet", "-o", "table")
	if got.stdout != "enqueued 0 jobs; 1100 already existed\n" {
		t.Errorf("again: %q", got.stdout)
	}
}

func TestEnqueueFileStopsAtABadLine(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		good  int // number of lines before the bad one
		bad   string
		words []string
		jobs  int
	}{
		"in the first batch":  {2, `{"n":`, []string{"line 3: not JSON", "no line from 1 on was enqueued"}, 0},
		"in a later batch":    {1500, `{"n":`, []string{"line 1501: not JSON", "no line from 1001 on was enqueued; fix it"}, 1000},
		"first of its batch":  {1000, `nope`, []string{"line 1001: not JSON", "no line from 1001 on was enqueued"}, 1000},
		"the first line":      {0, `nope`, []string{"line 1: not JSON", "no line from 1 on"}, 0},
		"NUL":                 {1, `"\u0000"`, []string{"line 2: ", "NUL"}, 0},
		"NUL, then not":       {1, `{"a":"\u0000","a":2}`, []string{"line 2: ", "NUL"}, 0},
		"raw NUL":             {1, "\x00", []string{"line 2: not JSON"}, 0},
		"not UTF-8":           {1, "\"\xFE\"", []string{"line 2: ", "UTF-8"}, 0},
		"too large":           {1, `"` + strings.Repeat("x", holdfast.MaxPayload) + `"`, []string{"line 2: larger than"}, 0},
		"much too large":      {1, `"` + strings.Repeat("x", 3*holdfast.MaxPayload) + `"`, []string{"line 2: larger than"}, 0},
		"no newline at end":   {1, `"` + strings.Repeat("x", 3*holdfast.MaxPayload), []string{"line 2: larger than"}, 0},
		"half a last line":    {1, `{"n":1`, []string{"line 2: not JSON"}, 0},
		"two values":          {1, `{} {}`, []string{"line 2: not JSON"}, 0},
		"white space and all": {1, strings.Repeat(" ", 2*holdfast.MaxPayload) + "1", []string{"line 2: larger than"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := migrated(t)
			input := strings.Repeat("{}\n", test.good) + test.bad + "\n{}\n"
			if strings.HasPrefix(name, "no newline") || strings.HasPrefix(name, "half") {
				input = strings.Repeat("{}\n", test.good) + test.bad
			}
			out := s.expect(s.feed(input, "job", "enqueue", "mail", "--file", "-"), 1, test.words...)
			var ids []views.Enqueued
			s.decode(out, &ids)
			if n := s.count(); n != test.jobs || len(ids) != n {
				t.Errorf("%d jobs and %d ids, want %d", n, len(ids), test.jobs)
			}

			got := s.feed(input, "job", "enqueue", "mail", "--file", "-", "--keep-going", "--output", "table", "--queue", "again")
			good := strings.Count(input, "{}\n") - strings.Count(test.bad+"\n", "{}\n")
			if got.code != 1 || !strings.Contains(got.stderr, test.words[0]) ||
				!strings.Contains(got.stderr, fmt.Sprintf("1 of %d lines could not be enqueued", good+1)) {
				t.Errorf("keeping going: %+v", got)
			}
			if got.stdout != "enqueued "+output.Plural(good, "job")+"\n" || s.count() != test.jobs+good {
				t.Errorf("keeping going: %q, %d jobs; want %d", got.stdout, s.count(), test.jobs+good)
			}
		})
	}
}

func TestEnqueueFileAndRefusals(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	reject := []string{"job", "enqueue", "mail", "--file", "-", "--unique", "args", "--on-conflict", "reject"}
	s.expect(s.feed("1\n2\n1\n3\n", reject...), 1, "line 3: rejected: job 0", "the other lines up to 4 were enqueued")
	if n := s.count(); n != 3 {
		t.Errorf("%d jobs, want 3", n)
	}
	got := s.feed("1\n2\n4\n", append(reject, "--keep-going")...)
	if got.code != 1 || strings.Count(got.stderr, "\n") != 3 || !strings.Contains(got.stderr, "2 of 3 lines could not be enqueued") {
		t.Errorf("%+v", got)
	}
	var ids []views.Enqueued
	s.decode(got.stdout, &ids)
	if len(ids) != 1 || ids[0].Line != 3 || s.count() != 4 {
		t.Errorf("%+v, %d jobs", ids, s.count())
	}
	s.expect(s.feed("5\n1\n2\n6\n", reject...), 1, "line 2: rejected: job 0", "1 more line up to 4 could not be enqueued either")
	s.expect(s.feed("\n5\n6\n", reject...), 1, "line 2: rejected: job 0", "no line from 1 on was enqueued")
	if n := s.count(); n != 6 {
		t.Errorf("%d jobs, want 6", n)
	}
}

// TestEnqueueChecksTheCommandLineFirst: what is wrong with every job is reported once, as a mistake
// of the command line, before the database is opened and the input is read.
func TestEnqueueChecksTheCommandLineFirst(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	for _, test := range []struct {
		args  []string
		words string
	}{
		{[]string{"mail", "--priority", "9"}, "between 1 (most urgent) and 4"},
		{[]string{""}, "KIND is empty"},
		{[]string{"mail", "--in", "2h", "--deadline", "1h"}, "deadline"},
		{[]string{"mail", "--unique", "period:1ms"}, "shorter than a second"},
		{[]string{"mail", "--namespace", ""}, "--namespace is empty"},
	} {
		for _, from := range [][]string{{"--args", "-"}, {"--file", "-"}, {"--file", "-", "--keep-going"}} {
			input := strings.NewReader("1\n2\n")
			var stdout, stderr bytes.Buffer
			args := append(append([]string{"job", "enqueue"}, test.args...), from...)
			code := Run(t.Context(), s.environment(input, &stdout, &stderr, args...))
			if out := s.expect(outcome{code, stdout.String(), stderr.String()}, app.ExitUsage, test.words); out != "" || input.Len() != 4 {
				t.Errorf("%v: it printed %q and left %d bytes of its input", args, out, input.Len())
			}
		}
	}
}

// TestByteOrderMark: files of Windows programs start with one.
func TestByteOrderMark(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	path := filepath.Join(s.dir, "args.json")
	if err := os.WriteFile(path, []byte("\uFEFF{\"to\":\"ada\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"--args", "@" + path}, {"--file", path}} {
		s.ok(append([]string{"job", "enqueue", "mail"}, args...)...)
	}
	if out := s.ok("job", "list", "-o", "jsonl"); strings.Count(out, `"args":{"to":"ada"}`) != 2 {
		t.Errorf("%s", out)
	}
}

// TestAtNow: a time in the near past is accepted, because clocks differ.
func TestAtNow(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	now := time.Date(2030, 1, 1, 12, 0, 30, 0, time.UTC)
	s.now = func() time.Time { return now }
	s.enqueue("mail", "--at", "2030-01-01T12:00:00Z")
	s.expect(s.run("job", "enqueue", "mail", "--at", "2030-01-01T11:59:00Z"), app.ExitUsage,
		"--at: 2030-01-01T11:59:00Z was 90s ago; to run the job now, use --in 0s")
}

// TestArgsBehindTheKind: args as an argument, like the payload of a signal.
func TestArgsBehindTheKind(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	if v := s.job(s.enqueue("mail", `{"to":"ada"}`)); fmt.Sprint(v["args"]) != "map[to:ada]" {
		t.Errorf("%v", v["args"])
	}
	var v views.Enqueued
	s.decode(s.expect(s.feed(`{"to":"bob"}`, "job", "enqueue", "mail", "-", "--queue", "q"), 0), &v)
	if v := s.job(v.ID); fmt.Sprint(v["args"]) != "map[to:bob]" || v["queue"] != "q" {
		t.Errorf("%v", v)
	}
	s.expect(s.run("job", "enqueue", "mail", "{}", "--args", "{}"), app.ExitUsage, "cannot be used together")
	s.expect(s.run("job", "enqueue", "mail", "{}", "--file", "-"), app.ExitUsage, "cannot be used together")
	s.expect(s.run("job", "enqueue", "mail", "{"), app.ExitUsage, "ARGS: not JSON: unexpected end: {")
	s.expect(s.run("job", "enqueue", "mail", "{}", "{}"), app.ExitUsage, "too many arguments: job enqueue takes KIND [ARGS], got 3")
}

// TestQuietEnqueue: only the id, for scripts; other formats are unchanged.
func TestQuietEnqueue(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	for _, terminal := range []bool{false, true} {
		s.terminal = terminal
		got := s.run("job", "enqueue", "mail", "-q")
		if _, err := arg.ParseID(strings.TrimSuffix(got.stdout, "\n")); err != nil || got.stderr != "" {
			t.Errorf("%+v", got)
		}
		var v views.Enqueued
		s.decode(s.ok("job", "enqueue", "mail", "-q", "-o", "json"), &v)
	}
}

// TestArgsOfBuiltinKinds: wrong args cause a warning, and are enqueued, because a user's kind may
// have the name.
func TestArgsOfBuiltinKinds(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	s.expectNote(s.run("job", "enqueue", "exec", `{"cmd":["true"]}`), "The built-in kind exec will reject these args: "+
		"exec: the args have the unknown field \"cmd\"; the fields are command, dir, env, stdin\n")
	s.expectNote(s.run("job", "enqueue", "exec", `{"command":["true"]}`), "")
}

// TestUniqueField: with a misspelt name all jobs would be the same.
func TestUniqueField(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	args := func(field string) []string {
		return []string{"job", "enqueue", "mail", `{"customer":7,"address":{"city":null}}`, "--unique", "queue,field:" + field}
	}
	s.ok(args("customer")...)
	s.ok(args("address.city")...)
	for _, field := range []string{"custmer", "address.town", "customer.id", "address.city.part"} {
		s.expect(s.run(args(field)...), app.ExitUsage, `--unique: the args have no field "`+field+`"`)
	}
	s.expect(s.feed("{\"n\":1}\n{\"m\":1}\n", "job", "enqueue", "mail", "--file", "-", "--unique", "field:n"), 1,
		`line 2: the args have no field "n"; no line from 1 on was enqueued`)
	got := s.feed("{\"n\":1}\n{\"m\":1}\n{\"n\":2}\n", "job", "enqueue", "mail", "--file", "-", "--unique", "field:n", "--keep-going")
	if got.code != 1 || strings.Count(got.stdout, `"id"`) != 2 || !strings.Contains(got.stderr, `line 2: the args have no field "n"`) {
		t.Errorf("%+v", got)
	}
}

// TestFileThatIsAnArray: the error says what to do.
func TestFileThatIsAnArray(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	s.expect(s.feed("[\n{},\n{}\n]\n", "job", "enqueue", "mail", "--file", "-"), 1, "line 1: not JSON", "jq -c '.[]'")
}

// plus is a time of JSON some time later.
func plus(t *testing.T, at any, d time.Duration) string {
	t.Helper()
	parsed, err := time.Parse(time.RFC3339Nano, fmt.Sprint(at))
	if err != nil {
		t.Fatal(err)
	}
	return parsed.Add(d).Format("2006-01-02T15:04:05.000000Z07:00")
}
