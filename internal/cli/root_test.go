package cli

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
)

var update = flag.Bool("update", false, "write testdata")

// commands calls visit for every command except cobra's own.
func commands(visit func(*cobra.Command)) {
	a := verbs{&app.App{}}
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		visit(cmd)
		for _, c := range cmd.Commands() {
			walk(c)
		}
	}
	walk(a.rootCommand())
}

func TestHelp(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	var all strings.Builder
	commands(func(cmd *cobra.Command) {
		args := strings.Fields(cmd.CommandPath() + " --help")[1:]
		fmt.Fprintf(&all, "$ %s --help\n%s\n", cmd.CommandPath(), s.ok(args...))
	})
	path := filepath.Join("testdata", "help.txt")
	if *update {
		if err := os.WriteFile(path, []byte(all.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), all.String()); diff != "" {
		t.Errorf("the help has changed; if it is meant, run: go test ./internal/cli -run TestHelp -update\n%s", diff)
	}
}

// TestHelpIsComplete: every verb has a help text.
func TestHelpIsComplete(t *testing.T) {
	t.Parallel()
	commands(func(cmd *cobra.Command) {
		if cmd.Short == "" || cmd.Long == "" || !strings.Contains(cmd.Example, cmd.CommandPath()) {
			t.Errorf("%s has no description or no example of itself", cmd.CommandPath())
		}
		for line := range strings.Lines(cmd.Long) {
			if len([]rune(line)) > 101 {
				t.Errorf("%s: a line of its help is too long: %s", cmd.CommandPath(), line)
			}
		}
		if cmd.HasSubCommands() {
			return
		}
		for flag := range strings.FieldsSeq(cmd.Annotations[app.UsesKey]) {
			if cmd.InheritedFlags().Lookup(flag) == nil {
				t.Errorf("%s uses --%s, which is no flag", cmd.CommandPath(), flag)
			}
		}
	})
}

// TestExamplesParse: the examples of the help are valid command lines.
func TestExamplesParse(t *testing.T) {
	t.Parallel()
	commands(func(cmd *cobra.Command) {
		for line := range strings.Lines(cmd.Example) {
			checkExample(t, line)
		}
	})
}

// checkExample checks each call of holdfast in a line of shell.
func checkExample(t *testing.T, line string) {
	t.Helper()
	for part := range strings.SplitSeq(strings.ReplaceAll(line, " && ", " | "), " | ") {
		words := shellWords(part)
		for len(words) > 0 && (words[0] == "xargs" || strings.Contains(words[0], "=") && !strings.HasPrefix(words[0], "-")) {
			words = words[1:]
		}
		if len(words) == 0 || words[0] != "holdfast" {
			continue
		}
		for i, w := range words {
			if w == ">" || w == "<" {
				words = words[:i]
				break
			}
		}
		root := verbs{&app.App{}}.rootCommand()
		cmd, rest, err := root.Find(words[1:])
		if err != nil || cmd.HasSubCommands() && len(rest) > 0 && rest[0] != "--help" {
			t.Errorf("%q is no command: %v", part, err)
			continue
		}
		if err := cmd.ParseFlags(rest); err != nil {
			t.Errorf("%q: %v", part, err)
		}
		if err := cmd.ValidateFlagGroups(); err != nil {
			t.Errorf("%q: %v", part, err)
		}
		if !strings.Contains(line, "xargs") {
			if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
				t.Errorf("%q: %v", part, err)
			}
		}
		cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) {
			if f.Changed && !app.UsesFlag(cmd, f.Name) {
				t.Errorf("%q: --%s does nothing", part, f.Name)
			}
		})
	}
}

// shellWords splits a line like a shell, as far as examples need it.
func shellWords(line string) []string {
	var (
		words []string
		word  strings.Builder
		quote rune
		begun bool
	)
	for _, r := range strings.TrimSpace(line) {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote, begun = r, true
		case quote == 0 && r == ' ':
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if begun {
		words = append(words, word.String())
	}
	return words
}

func TestUsageErrors(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	for _, test := range []struct {
		args  []string
		words string
	}{
		{[]string{"jbo"}, `unknown command "jbo" for "holdfast"; did you mean job?; see: holdfast --help`},
		{[]string{"job", "lst"}, `unknown command "lst" for "holdfast job"; did you mean list, get or set?; see: holdfast job --help`},
		{[]string{"job", "list", "--foo"}, "unknown flag: --foo; see: holdfast job list --help"},
		{[]string{"--foo"}, "unknown flag: --foo"},
		{[]string{"job", "list", "--queu", "mail"}, "unknown flag: --queu; did you mean --queue?; see: holdfast job list --help"},
		{[]string{"job", "list", "--stat", "failed"}, "did you mean --state?"},
		{[]string{"key", "create", "ci", "--rol", "viewer"}, "did you mean --role?"},
		{[]string{"job", "list", "-x"}, "unknown shorthand flag"},
		{[]string{"job", "list", "more"}, "too many arguments: job list takes none, got 1; see: holdfast job list --help"},
		{[]string{"job", "get"}, "missing argument: job get takes ID; see: holdfast job get --help"},
		{[]string{"job", "list", "--state", "done"}, "must be one of scheduled, available"},
		{[]string{"job", "list", "--limit", "0"}, "not positive"},
		{[]string{"job", "list", "--limit", "5", "--all"}, "--all and --limit cannot be used together"},
		{[]string{"job", "list", "--output", "xml"}, "the formats are table, json, jsonl, yaml, id and name"},
		{[]string{"vet", "--output", "id"}, "--output id: the output of holdfast vet has no ids"},
		{[]string{"migrate", "status", "-o", "name"}, "has no ids"},
		{[]string{"job", "list", "--columns", "id,nope"}, `--columns: no column is called "nope"; there are id, namespace, queue, kind, `},
		{[]string{"job", "list", "-o", "table", "--columns", "id,id"}, "--columns: the column id is named twice"},
		{[]string{"job", "list", "--columns", "id,,state"}, `--columns: no column is called ""`},
		{[]string{"job", "list", "-o", "json", "--columns", "when"}, "--columns: only tables have the column when"},
		{[]string{"job", "list", "-q", "--columns", "id"}, "--columns: the format id has no columns"},
		{[]string{"job", "list", "--namespace", ""}, "namespace"},
		{[]string{"job", "list", "--database", "mysql://localhost/x"}, "mysql:"},
		{[]string{"job", "list", "--database", "postgres://h:port/x"}, "database: the port must be a number"},
		{[]string{"dev", "--database", "postgres://h/x?sslmode=on"}, "database: sslmode must be disable, "},
		{[]string{"migrate", "status", "--database", "postgres://u:50%@h/x"}, "database: the URL is not valid; percent-encode"},
		{[]string{"job", "list", "--database", s.db + "?sync=normal"}, `no option "sync"`},
		{[]string{"bench", "--jobs", "0"}, "--jobs 0: must be positive"},
		{[]string{"bench", "--database", "mysql://localhost/x"}, "mysql:"},
		{[]string{"vet", "--output", "xml"}, "the formats are table, json, jsonl, yaml, id and name"},
		{[]string{"dev", "--slots", "0"}, "--slots 0"},
		{[]string{"dev", "--database", ":memory:"}, "in memory"},
		{[]string{"dev", "--database", "sqlite::memory:?readers=1"}, "in memory"},
		{[]string{"migrate", "up", "--database", ":memory:"}, "in memory"},
		{[]string{"migrate", "status", "--database", ":memory:"}, "in memory"},
		{[]string{"job", "list", "--database", ":memory:"}, "in memory"},
		{[]string{"dev", "--namespace", ""}, "namespace"},
		{[]string{"worker", "--queue", ""}, "--queue is empty"},
		{[]string{"worker", "--queue", "=2"}, "--queue: a name is empty"},
		{[]string{"worker", "--queue", "a", "--queue", "a=2"}, "the queue a is given twice"},
		{[]string{"worker", "--queue", "a=0"}, "--queue"},
		{[]string{"worker", "--queue", "a=many"}, "--queue"},
		{[]string{"worker", "--queue", "a\nb"}, "control character"},
		{[]string{"worker", "--queue", "a,,b"}, "--queue: a name is empty"},
		{[]string{"dev", "--queue", "a,a"}, "the queue a is given twice"},
		{[]string{"dev", "--beat", "0s"}, "--beat 0s is not positive"},
		{[]string{"worker", "--beat", "10s"}, "--dead-after 20s is less than three times --beat 10s"},
		{[]string{"worker", "--node-name", "{name}"}, "--node-name: {name} stands for nothing; there are {host}, {pid}, {version} and {id}"},
		{[]string{"worker", "-n", "a,b,a"}, "--namespace names a twice"},
		{[]string{"queue", "pause"}, "missing argument: queue pause takes QUEUE..."},
	} {
		s.expect(s.run(test.args...), app.ExitUsage, test.words)
	}
	for _, args := range [][]string{{}, {"job"}, {"help"}, {"help", "job", "list"}, {"job", "list", "--help"}} {
		if out := s.ok(args...); !strings.Contains(out, "Usage:") {
			t.Errorf("holdfast %v: %q", args, out)
		}
	}
	if out := s.ok("completion", "bash"); !strings.Contains(out, "bash completion") {
		t.Errorf("%.100s", out)
	}
}

// enough returns as many arguments as the Use of a verb demands.
func enough(cmd *cobra.Command) []string {
	args := []string{}
	for _, word := range strings.Fields(cmd.Use)[1:] {
		if !strings.HasPrefix(word, "[") {
			args = append(args, arg.ExampleID)
		}
	}
	return args
}

// TestGlobalFlags: every verb accepts all of them, so that they may be part of an alias, and its
// help shows those that it uses.
func TestGlobalFlags(t *testing.T) {
	t.Parallel()
	commands(func(cmd *cobra.Command) {
		err := cmd.ParseFlags([]string{
			"--database", "x.db", "--namespace", "n", "--output", "jsonl", "--quiet", "-d", "x", "-n", "n", "-o", "json", "-q",
		})
		if err != nil {
			t.Errorf("%s: %v", cmd.CommandPath(), err)
		}
	})
	s := newShell(t)
	for _, args := range [][]string{{"version"}, {"migrate", "sql"}, {"migrate", "status"}, {"migrate", "up"}, {"node", "list"}} {
		s.ok(append([]string{"-q", "-n", "prod", "-d", s.db, "-o", "json"}, args...)...)
	}
	if out := s.ok("version", "--help"); strings.Contains(out, "--database") || !strings.Contains(out, "--output") {
		t.Errorf("%s", out)
	}
}

// TestNamespaceOfTheEnvironment: the flag overrides it.
func TestNamespaceOfTheEnvironment(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	s.env[app.EnvNamespace] = "prod"
	id := s.enqueue("mail")
	if got := s.job(id)["namespace"]; got != "prod" {
		t.Errorf("%v", got)
	}
	s.expect(s.run("job", "get", id, "--namespace", "default"), 1, "no such job in namespace")
}

// TestWrongValues: mistakes of users. No message of a Go package reaches them.
func TestWrongValues(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	for _, test := range []struct {
		args  []string
		words string
	}{
		{[]string{"job", "list", "--limit", "many"}, `--limit "many" is not an integer; see`},
		{[]string{"job", "list", "--limit", "99999999999999999999"}, "is out of range"},
		{[]string{"job", "list", "--limit", "1.5"}, "is not an integer"},
		{[]string{"job", "list", "--all=maybe"}, "--all=maybe: must be true or false"},
		{[]string{"job", "list", "--limit"}, "--limit needs a value"},
		{[]string{"job", "list", "-d"}, "--database needs a value"},
		{[]string{"bench", "--seconds", "x"}, `--seconds "x" is not a number`},
		{[]string{"job", "stream", arg.ExampleID, "x", "--after", "x"}, "not an integer"},
		{[]string{"job", "enqueue", "k", "--in", "5"}, `--in: "5" has no unit; write 5s, 5m or 5h`},
		{[]string{"job", "enqueue", "k", "--in", "1x"}, `--in: "1x" is not a duration such as 90s, 1h30m or 7d`},
		{[]string{"job", "enqueue", "k", "--in", "1dh"}, "is not a duration"},
		{[]string{"job", "enqueue", "k", "--in", "1d-1h"}, "is not a duration"},
		{[]string{"job", "enqueue", "k", "--in", "99999999999d"}, "too long"},
		{[]string{"job", "enqueue", "k", "--in", "-1d"}, "--in -24h0m0s is in the past"},
		{[]string{"job", "enqueue", "k", "--timeout", "soon"}, "--timeout: "},
		{[]string{"job", "enqueue", "k", "--timeout", "-1d"}, "timeout"},
		{[]string{"job", "enqueue", "k", "--in", "1s", "--at", "2030-01-01"}, "--at and --in cannot be used together"},
		{[]string{"job", "enqueue", "k", "--args", "{}", "--file", "x"}, "--args and --file cannot be used together"},
		{[]string{"job", "enqueue", "k", "--id", arg.ExampleID, "--file", "x"}, "--file and --id cannot be used together"},
		{[]string{"job", "enqueue", "k", "--at", "2020-01-01"}, "--at: 2020-01-01 was "},
		{[]string{"job", "enqueue", "k", "--id", "e7c21ef8-bb0c-4b1c-8d0a-a3c7d0aa3dd6"}, "must be a whole UUIDv7"},
		{[]string{"job", "enqueue", "k", "--file", "/no/such/file"}, "--file: /no/such/file: no such file or directory"},
		{[]string{"job", "enqueue", "k", "--file", s.dir}, "--file: " + s.dir + " is a directory"},
		{[]string{"job", "enqueue", "k", "@" + s.dir}, "ARGS: " + s.dir + " is a directory"},
		{[]string{"job", "enqueue", "k", "@/no/such/file"}, "ARGS: /no/such/file: no such file or directory"},
		{[]string{"job", "wait", arg.ExampleID, "--wait-timeout", "10"}, "has no unit"},
		{[]string{"dev", "--stop-timeout", "-1s"}, "--stop-timeout -1s is negative"},
		{[]string{"dev", "--stop-timeout", "20"}, "has no unit"},
		{[]string{"postgres://app:hunter2@h/db"}, "name a database with --database"},
		{[]string{"job", "get", "postgres://app:hunter2@h/db"}, "postgres://app:xxxxx@h/db"},
		{[]string{"job", "list", "-d", "app:hunter2@h/db"}, "sqlite:PATH or postgres://…"},
		{[]string{"job", "list", "-d", "host=h password='hunter2"}, "single quotes"},
	} {
		got := s.run(test.args...)
		s.expect(got, app.ExitUsage, test.words)
		for _, foreign := range []string{
			"strconv", "parsing", "invalid syntax", "time:", "json:", "Go ", "holdfast.", "builtin", "[", "hunter2",
		} {
			if strings.Contains(got.stderr, foreign) {
				t.Errorf("%v: %q is not for people: %s", test.args, foreign, got.stderr)
			}
		}
	}
}

// silence is input that never comes.
type silence struct {
	asked chan struct{} // receives when it is read
	ended chan struct{} // closed: it ends
}

func (s silence) Read([]byte) (int, error) {
	s.asked <- struct{}{}
	<-s.ended
	return 0, io.EOF
}

// TestInterrupt: Ctrl-C ends a command that waits for a job or for input.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	id := s.enqueue("mail")
	input := silence{make(chan struct{}), make(chan struct{})}
	defer close(input.ended) // ends the reads that were left behind
	for _, args := range [][]string{
		{"job", "wait", id},
		{"job", "enqueue", "mail", "--file", "-"},
		{"job", "enqueue", "mail", "--args", "-"},
	} {
		var stdout, stderr bytes.Buffer
		signals := make(chan os.Signal)
		env := s.environment(input, &stdout, &stderr, args...)
		env.Signals = signals
		ended := make(chan int, 1)
		go func() { ended <- Run(t.Context(), env) }()
		if args[1] == "enqueue" {
			<-input.asked
		}
		signals <- os.Interrupt
		if code := <-ended; code != app.ExitInterrupted || !strings.HasPrefix(stderr.String(), "holdfast: interrupted") {
			t.Errorf("%v: exit code %d: %s", args, code, stderr.String())
		}
	}
}

// TestInterruptWhileOpening: Ctrl-C works before the database has answered.
func TestInterruptWhileOpening(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections and never answers
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	s := newShell(t)
	s.env[app.EnvDatabase] = "postgres://" + silent.Addr().String() + "/app?sslmode=disable"
	for _, args := range [][]string{{"dev", "--listen", "127.0.0.1:0"}, {"worker"}, {"job", "list"}, {"job", "enqueue", "mail"}} {
		var stderr bytes.Buffer
		env := s.environment(strings.NewReader(""), io.Discard, &stderr, args...)
		signals := make(chan os.Signal)
		env.Signals = signals
		ended := make(chan int, 1)
		go func() { ended <- Run(t.Context(), env) }()
		signals <- os.Interrupt
		code := <-ended
		if code != app.ExitInterrupted || !strings.HasPrefix(stderr.String(), "holdfast: interrupted") || strings.Contains(stderr.String(), "?") {
			t.Errorf("%v: exit code %d: %s", args, code, stderr.String())
		}
	}
}

func TestNoSuchDatabase(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	for _, args := range [][]string{
		{"job", "list"},
		{"job", "get", arg.ExampleID},
		{"job", "wait", arg.ExampleID},
		{"job", "cancel", arg.ExampleID},
		{"job", "retry", arg.ExampleID},
		{"job", "enqueue", "exec"},
		{"queue", "list"},
		{"queue", "pause", "x"},
		{"queue", "resume", "x"},
		{"queue", "get", "x"},
		{"queue", "delete", "x"},
		{"queue", "drain", "x"},
		{"kind", "list"},
		{"schedule", "create", "x", "mail", "--every", "1h"},
		{"schedule", "list"},
		{"schedule", "get", "x"},
		{"schedule", "next", "x"},
		{"schedule", "runs", "x"},
		{"schedule", "update", "x", "--jitter", "1s"},
		{"schedule", "update", "x", "--reset"},
		{"schedule", "pause", "x"},
		{"schedule", "resume", "x"},
		{"schedule", "trigger", "x"},
		{"schedule", "backfill", "x", "--from", "2h", "--to", "1h"},
		{"schedule", "delete", "x"},
		{"node", "list"},
	} {
		s.expect(s.run(args...), 1, "no such database: sqlite:"+s.db, `create it with "holdfast migrate up" or "holdfast dev"`)
	}
	if found, _ := filepath.Glob(filepath.Join(s.dir, "*")); found != nil {
		t.Errorf("they made %v", found)
	}
	s.expect(s.run("job", "list", "--database", filepath.Join(s.dir, "no", "such", "x.db")), 1, "x.db")
	s.expect(s.run("job", "list", "--database", s.dir), 1, s.dir)
	delete(s.env, app.EnvDatabase)
	s.expect(s.run("job", "list", "--database", "sqlite:"+filepath.Join(s.dir, "x.db")), 1, "no such database")
}

func TestNotADatabase(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	if err := os.WriteFile(s.db, bytes.Repeat([]byte("no database\n"), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"job", "list"}, {"dev", "--listen", "none"}, {"migrate", "status"}, {"migrate", "up"}} {
		s.expect(s.run(args...), 1, s.db+" is not an SQLite database; check the path\n")
	}
}

// statement executes SQL without the library.
func (s *shell) statement(text string) {
	s.Helper()
	conn, err := sqlite.OpenConn(s.db)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := sqlitex.ExecuteScript(conn, text, nil); err != nil {
		s.Fatal(err)
	}
}

// TestSchemaThatServesThisProgram: a later version of the schema is worked with if all steps that
// the program does not know serve it.
func TestSchemaThatServesThisProgram(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	var v struct{ Version, Latest int }
	s.decode(s.ok("migrate", "status", "-o", "json"), &v)
	later := func(steps, serves int) {
		t.Helper()
		s.statement(fmt.Sprintf("INSERT INTO holdfast_migration (version, name, applied_at, serves) VALUES (%d, 'later', 0, %d)",
			v.Latest+steps, serves))
	}
	later(1, v.Latest)
	later(2, v.Latest)
	id := s.enqueue("x")
	if state := s.job(id)["state"]; state != "available" {
		t.Errorf("it is %v", state)
	}
	s.ok("migrate", "up")
	for _, said := range []string{s.ok("migrate", "status", "-o", "table"), s.run("doctor", "-o", "table").stdout} {
		if !strings.Contains(said, "newer than this") {
			t.Errorf("%s", said)
		}
	}
	s.decode(s.ok("migrate", "status", "-o", "json"), &v)
	if v.Version != v.Latest+2 {
		t.Errorf("%+v", v)
	}
	s.expect(s.run("copy", "--from", s.db, "--to", filepath.Join(t.TempDir(), "t.db")), 1, "use a newer holdfast")
	s.expect(s.run("migrate", "reset", "--yes"), 1, "use a newer holdfast")
	later(3, v.Latest+1)
	s.expect(s.run("job", "list"), 1, "which serves programs from version", "use a newer holdfast")
	s.expect(s.run("worker"), 1, "use a newer")
}

func TestSchemaOfAnotherVersion(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	s.statement("INSERT INTO holdfast_migration (version, name, applied_at) VALUES (999, 'future', 0)")
	for _, args := range [][]string{{"job", "list"}, {"job", "enqueue", "x"}, {"dev"}, {"worker"}, {"migrate", "up"}} {
		s.expect(s.run(args...), 1, "schema version 999", "use a newer holdfast")
	}
	s.terminal = true
	if out := s.ok("migrate", "status"); !strings.Contains(out, "newer than this holdfast") {
		t.Errorf("%q", out)
	}
	s.terminal = false
	s.statement("DELETE FROM holdfast_migration; INSERT INTO holdfast_migration (version, name, applied_at) VALUES (0, 'none', 0)")
	s.expect(s.run("job", "list"), 1, "sqlite:"+s.db+" has no Holdfast schema; create it with \"holdfast migrate up\"")
	if err := os.Truncate(s.db, 0); err != nil {
		t.Fatal(err)
	}
	s.expect(s.run("job", "list"), 1, "sqlite:"+s.db+" has no Holdfast schema; create it with \"holdfast migrate up\"")
}

func TestUnreachableDatabase(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.env[app.EnvDatabase] = "postgres://me:hunter2@127.0.0.1:1/app?connect_timeout=2&sslmode=disable"
	verbs := [][]string{{"job", "list"}, {"job", "enqueue", "x"}, {"worker"}, {"bench"}, {"migrate", "up"}, {"migrate", "status"}}
	for _, args := range verbs {
		got := s.run(args...)
		s.expect(got, 1, "cannot connect to PostgreSQL at 127.0.0.1:1: connection refused; check host and port, and that the server is running\n")
		if strings.Contains(got.stderr, "hunter2") {
			t.Errorf("the password is shown: %s", got.stderr)
		}
	}
	if out := s.ok("migrate", "sql"); !strings.Contains(out, "CREATE TABLE") {
		t.Errorf("%.100s", out)
	}
}

// TestExamplesWithoutADatabase: a verb that needs a database says that there is none, whatever it
// checks before.
func TestExamplesWithoutADatabase(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	ran := 0
	commands(func(cmd *cobra.Command) {
		if cmd.HasSubCommands() || !strings.Contains(cmd.Annotations[app.UsesKey], app.FlagDatabase) {
			return
		}
		switch cmd.Name() {
		case "dev", "worker", "server", "bench", "up":
			return // which make one
		case "doctor":
			return // whose report says so
		}
		for line := range strings.Lines(cmd.Example) {
			words := shellWords(strings.TrimSpace(line))
			if len(words) == 0 || words[0] != "holdfast" || strings.ContainsAny(line, "|<>@$&") || strings.Contains(line, "--database") {
				continue
			}
			ran++
			// Some need none, and others find a time of their example in the past.
			if got := s.run(words[1:]...); got.code != 0 && got.code != 64 && !strings.Contains(got.stderr, "no such database") {
				t.Errorf("%s: exit code %d: %s", strings.TrimSpace(line), got.code, got.stderr)
			}
		}
	})
	if ran < 50 {
		t.Errorf("only %d examples were tried", ran)
	}
}
