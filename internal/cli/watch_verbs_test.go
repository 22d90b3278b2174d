package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
)

// watchCase is a verb that is watched while something changes.
type watchCase struct {
	begin  func(*shell) string        // makes what is watched, and returns the verb's argument
	change func(s *shell, arg string) // after two looks
	table  string                     // is in a table after the change, and not before
	json   string                     // is in a line of JSON then, if it is not the same
	ends   bool                       // with the change, by itself
}

// enqueues is a change that any verb on jobs can see.
func enqueues(args ...string) func(*shell, string) {
	return func(s *shell, _ string) { s.enqueue(args...) }
}

// does is a change by commands, in which ARG is the argument.
func does(lines ...string) func(*shell, string) {
	return func(s *shell, arg string) {
		for _, line := range lines {
			s.ok(strings.Fields(strings.ReplaceAll(line, "ARG", arg))...)
		}
	}
}

// makes begins with a command, and watches what is called name.
func makes(name, line string) func(*shell) string {
	return func(s *shell) string {
		s.ok(strings.Fields(line)...)
		return name
	}
}

func makesBatch(s *shell) string { return strings.TrimSpace(s.ok("batch", "create", "-q")) }

func startsOperation(s *shell) string {
	s.enqueue("mail", "--in", "1h", "--tag", "x")
	var made operationJSON
	s.decode(s.ok("job", "pause", "--tag", "x", "--yes", "--detach"), &made)
	return made.ID
}

// runs lets a node of the test's own run a job, which fails for good if err is not nil, and leave.
func runs(err error) func(*shell, string) {
	return func(s *shell, _ string) {
		kind, client := holdfast.NewKind[string, string]("greet"), s.client()
		handle := func(_ *holdfast.Run, name string) (string, error) { return name, err }
		if err := kind.Handle(client, handle, holdfast.MaxAttempts(1)); err != nil {
			s.Fatal(err)
		}
		id := s.enqueue("greet", `"x"`, "--ordering-key", "k7", "--keep-turn")
		if err := client.Start(s.Context()); err != nil {
			s.Fatal(err)
		}
		s.run("job", "wait", id, "-q")
		if err := client.Stop(s.Context()); err != nil {
			s.Fatal(err)
		}
	}
}

// worker starts a node that leads and measures soon. It is stopped at the end of the test.
func worker(s *shell, _ string) { s.start("worker", "--beat", "200ms") }

// watchCases has each verb that can be watched.
var watchCases = map[string]watchCase{
	"job list":    {change: enqueues("fax"), table: "  fax  ", json: `"fax"`},
	"job count":   {begin: makes("", "job enqueue mail"), change: enqueues("fax"), table: "Z\n2", json: `"jobs":2,`},
	"job get":     {begin: func(s *shell) string { return s.enqueue("mail") }, change: does("job cancel ARG"), table: "cancelled", ends: true},
	"queue list":  {change: enqueues("mail", "--queue", "parcels"), table: "parcels"},
	"queue get":   {begin: makes("default", "job enqueue mail"), change: enqueues("fax"), table: "fax"},
	"queue stuck": {begin: makes("default", "job enqueue mail"), change: runs(errors.New("no paper")), table: "k7"},
	"kind list":   {change: enqueues("fax"), table: "fax"},
	"node list":   {change: runs(nil), table: "  left", json: `"ended":"left"`},

	"operation list": {change: func(s *shell, _ string) { startsOperation(s) }, table: "pause"},
	"operation get":  {begin: startsOperation, change: does("operation cancel ARG"), table: "cancelled", ends: true},
	"dead list":      {change: runs(errors.New("no paper")), table: "no paper"},
	"limit list":     {change: does("limit set slack --capacity 5"), table: "slack"},
	"limit get":      {begin: makes("slack", "limit set slack --capacity 5"), change: does("limit set slack --capacity 4711"), table: "4711"},
	"schedule list":  {change: does("schedule create nightly report --every 1h"), table: "nightly"},
	"schedule get": {
		begin: makes("nightly", "schedule create nightly report --every 1h"), change: does("schedule pause nightly --note inventory"),
		table: "inventory",
	},
	"batch list": {change: does("batch create --name import"), table: "import"},
	"batch get": {
		begin: makesBatch, change: does("batch close ARG", "maintain settle"), table: "done", json: `"state":"done"`, ends: true,
	},
	"stats jobs":     {change: runs(nil), table: "greet"},
	"stats nodes":    {change: worker, table: "GOROUTINES", json: `"goroutines"`},
	"stats database": {change: worker, table: "SIZE", json: `"database_bytes"`},
}

// TestEachVerbIsWatched: what changes is printed, by tables with their times and as lines of JSON;
// what ends is printed a last time.
func TestEachVerbIsWatched(t *testing.T) {
	t.Parallel()
	for verb, test := range watchCases {
		for format, words := range map[string]string{"table": test.table, "json": cmp.Or(test.json, test.table)} {
			t.Run(strings.ReplaceAll(verb, " ", "-")+"/"+format, func(t *testing.T) {
				t.Parallel()
				s := migrated(t)
				w := &watchOf{shell: s, format: format, words: words, args: strings.Fields(verb)}
				w.run(&test)
			})
		}
	}
}

// watchOf is a verb that is watched in one format.
type watchOf struct {
	*shell

	args          []string
	format, words string
	b             *background
}

// looks are what has been printed, each look apart.
func (w *watchOf) looks() []string {
	out := strings.TrimSuffix(w.b.stdout.String(), "\n")
	switch {
	case out == "":
		return nil
	case w.format == "json":
		return strings.Split(out, "\n")
	}
	return strings.Split(out, "\n\n20") // the year
}

func (w *watchOf) shows() bool {
	looks := w.looks()
	return len(looks) > 0 && strings.Contains(looks[len(looks)-1], w.words)
}

func (w *watchOf) run(test *watchCase) {
	w.Helper()
	of := ""
	if test.begin != nil {
		of = test.begin(w.shell)
	}
	if of != "" {
		w.args = append(w.args, of)
	}
	w.b = w.begin(append(w.args, "--watch", "--interval", "100ms", "-o", w.format)...)
	until(w.T, "two looks", func() bool { return len(w.looks()) > 1 })
	if w.shows() {
		w.Errorf("%q is there before the change:\n%s", w.words, w.b.stdout)
	}
	test.change(w.shell, of)
	until(w.T, "the change", w.shows)
	if !test.ends {
		w.b.signals <- os.Interrupt
	}
	if code := <-w.b.ended; code != app.ExitOK || strings.Contains(w.b.stderr.String(), "holdfast: ") {
		w.Errorf("exit code %d, %s", code, w.b.stderr)
	}
	w.wellFormed()
	if test.ends { // what has ended already is printed once
		w.b = w.begin(append(w.args, "--watch", "-o", w.format)...)
		if code := <-w.b.ended; code != app.ExitOK || len(w.looks()) != 1 || !w.shows() {
			w.Errorf("of what has ended: exit code %d, %s\n%s", code, w.b.stderr, w.b.stdout)
		}
		w.wellFormed()
	}
}

// wellFormed checks that a look is a table with its time, or a JSON document.
func (w *watchOf) wellFormed() {
	w.Helper()
	for i, look := range w.looks() {
		if w.format == "json" {
			if !json.Valid([]byte(look)) {
				w.Errorf("no document: %s", look)
			}
			continue
		}
		if i > 0 {
			look = "20" + look
		}
		at, _, _ := strings.Cut(look, "\n")
		if _, err := time.Parse("2006-01-02 15:04:05.000Z", at); err != nil {
			w.Errorf("%v:\n%s", err, look)
		}
	}
}

// TestWatchCases: no verb with the flag is left out, and help says of a verb whether it ends.
func TestWatchCases(t *testing.T) {
	t.Parallel()
	var found []string
	commands(func(cmd *cobra.Command) {
		if cmd.Flags().Lookup("watch") == nil {
			return
		}
		verb := strings.TrimPrefix(cmd.CommandPath(), "holdfast ")
		found = append(found, verb)
		if ends := strings.Contains(cmd.Long, "and ends when "); !strings.Contains(cmd.Long, "With --watch") || ends != watchCases[verb].ends {
			t.Errorf("%s: help says %t that it ends", verb, ends)
		}
	})
	slices.Sort(found)
	if want := slices.Sorted(maps.Keys(watchCases)); !slices.Equal(found, want) {
		t.Errorf("the verbs %v can be watched, and tested are %v", found, want)
	}
}

// TestWatchThroughAServer: a watch goes on when the server is back, and ends with the job.
func TestWatchThroughAServer(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.env[app.EnvToken] = longToken
	n := s.start("server", "--listen", "127.0.0.1:0")
	until(t, "the API", func() bool { return servesOn.MatchString(n.stderr.String()) })
	url := servesOn.FindStringSubmatch(n.stderr.String())[1]
	r := &shell{T: t, dir: s.dir, env: map[string]string{app.EnvServer: url, app.EnvToken: longToken}, now: s.now}
	id := r.enqueue("mail", "--in", "1h")
	job := r.begin("job", "get", id, "--watch", "--interval", "100ms", "-o", "json")
	queues := r.begin("queue", "list", "--watch", "--interval", "100ms")
	job.says(t, `"scheduled"`)
	queues.says(t, "default")
	n.stop(t)
	for _, b := range []*background{job, queues} {
		until(t, "the outage", func() bool { return strings.Contains(b.stderr.String(), "The database does not answer; retrying: ") })
	}
	n = s.start("server", "--listen", strings.TrimPrefix(url, "http://"))
	for _, b := range []*background{job, queues} {
		until(t, "the answer", func() bool { return strings.Contains(b.stderr.String(), "The database answers again.\n") })
	}
	r.ok("queue", "pause", "parcels")
	queues.says(t, "parcels")
	r.ok("job", "cancel", id)
	if code := <-job.ended; code != app.ExitOK || !strings.Contains(job.stdout.String(), `"cancelled"`) {
		t.Errorf("exit code %d, %s\n%s", code, job.stderr, job.stdout)
	}
	for line := range strings.Lines(job.stdout.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("no document: %s", line)
		}
	}
	if code := queues.interrupted(); code != app.ExitOK {
		t.Errorf("exit code %d, %s", code, queues.stderr)
	}
	n.stop(t)
}

// TestWatchedIsDeleted: what is there no more is an error, after what was printed of it.
func TestWatchedIsDeleted(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	s.ok("limit", "set", "slack", "--capacity", "5")
	b := s.begin("limit", "get", "slack", "--watch", "--interval", "100ms")
	b.says(t, "slack")
	s.ok("limit", "delete", "slack")
	if code := <-b.ended; code != app.ExitError || !strings.Contains(b.stderr.String(), "no such limit") {
		t.Errorf("exit code %d, %s", code, b.stderr)
	}
}
