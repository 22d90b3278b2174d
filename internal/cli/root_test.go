package cli

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/holdfastdev/holdfast"
)

var update = flag.Bool("update", false, "write testdata")

// commands calls visit for every command of ours: cobra's own have their own tests.
func commands(visit func(*cobra.Command)) {
	a := &app{env: Env{Getenv: func(string) string { return "" }}}
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

// TestHelpIsComplete checks that every verb explains itself.
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
		for flag := range strings.FieldsSeq(cmd.Annotations[usesKey]) {
			if cmd.InheritedFlags().Lookup(flag) == nil {
				t.Errorf("%s uses --%s, which is no flag", cmd.CommandPath(), flag)
			}
		}
	})
}

// TestExamplesParse checks that the examples of the help are command lines that exist.
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
	for part := range strings.SplitSeq(line, " | ") {
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
		root := (&app{env: Env{Getenv: func(string) string { return "" }}}).rootCommand()
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
			if f.Changed && !usesFlag(cmd, f.Name) {
				t.Errorf("%q: --%s is refused", part, f.Name)
			}
		})
	}
}

// shellWords splits a line as a shell does, as far as examples need it.
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
		{[]string{"jbo"}, `holdfast has no verb "jbo"; did you mean job?; see: holdfast --help`},
		{[]string{"job", "lst"}, `holdfast job has no verb "lst"; did you mean list or get?; see: holdfast job --help`},
		{[]string{"job", "list", "--foo"}, "unknown flag: --foo; see: holdfast job list --help"},
		{[]string{"--foo"}, "unknown flag: --foo"},
		{[]string{"job", "list", "-x"}, "unknown shorthand flag"},
		{[]string{"job", "list", "more"}, "holdfast job list takes no argument, not 1 argument"},
		{[]string{"job", "list", "--state", "done"}, "the states are scheduled, available"},
		{[]string{"job", "list", "--limit", "0"}, "not positive"},
		{[]string{"job", "list", "--limit", "5", "--all"}, "all limit"},
		{[]string{"job", "list", "--output", "yaml"}, "table, json and jsonl"},
		{[]string{"job", "list", "--namespace", ""}, "namespace"},
		{[]string{"job", "list", "--database", "mysql://localhost/x"}, "mysql:"},
		{[]string{"job", "list", "--database", s.db + "?sync=normal"}, `no option "sync"`},
		{[]string{"version", "--database", "x"}, "holdfast version does not use --database"},
		{[]string{"--database", "x", "version"}, "holdfast version does not use --database"},
		{[]string{"version", "-q"}, "does not use --quiet"},
		{[]string{"migrate", "sql", "--output", "json"}, "does not use --output"},
		{[]string{"bench", "--namespace", "x"}, "does not use --namespace"},
		{[]string{"bench", "--jobs", "0"}, "have to be positive"},
		{[]string{"bench", "--database", "mysql://localhost/x"}, "mysql:"},
		{[]string{"vet", "--database", "x"}, "does not use --database"},
		{[]string{"vet", "--output", "yaml"}, "table, json and jsonl"},
		{[]string{"dev", "--output", "json"}, "does not use --output"},
		{[]string{"dev", "--slots", "0"}, "--slots 0"},
		{[]string{"dev", "--database", ":memory:"}, "in memory"},
		{[]string{"dev", "--queue", "x"}, "unknown flag"},
		{[]string{"dev", "--namespace", ""}, "namespace"},
		{[]string{"worker", "--queue", ""}, "--queue"},
		{[]string{"worker", "--queue", "a", "--queue", "a=2"}, "--queue"},
		{[]string{"worker", "--queue", "a=0"}, "--queue"},
		{[]string{"worker", "--queue", "a=many"}, "--queue"},
		{[]string{"worker", "--queue", "a\nb"}, "control character"},
		{[]string{"queue", "pause"}, "takes QUEUE..., not 0 arguments"},
	} {
		s.expect(s.run(test.args...), exitUsage, test.words)
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

// silence is input that does not come.
type silence struct {
	asked chan struct{} // gets something when it is read
	ended chan struct{} // closed: it ends
}

func (s silence) Read([]byte) (int, error) {
	s.asked <- struct{}{}
	<-s.ended
	return 0, io.EOF
}

// TestInterrupt checks that Ctrl-C ends a command that waits, for a job or for input.
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
		if code := <-ended; code != exitInterrupted || !strings.HasPrefix(stderr.String(), "holdfast: interrupted") {
			t.Errorf("%v: exit code %d: %s", args, code, stderr.String())
		}
	}
}

// TestInterruptWhileOpening checks that Ctrl-C works before the database has answered.
func TestInterruptWhileOpening(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and says nothing
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	s := newShell(t)
	s.env[envDatabase] = "postgres://" + silent.Addr().String() + "/app?sslmode=disable"
	for _, args := range [][]string{{"dev"}, {"worker"}, {"job", "list"}, {"job", "enqueue", "mail"}} {
		var stderr bytes.Buffer
		env := s.environment(strings.NewReader(""), io.Discard, &stderr, args...)
		signals := make(chan os.Signal)
		env.Signals = signals
		ended := make(chan int, 1)
		go func() { ended <- Run(t.Context(), env) }()
		signals <- os.Interrupt
		code := <-ended
		if code != exitInterrupted || !strings.HasPrefix(stderr.String(), "holdfast: interrupted") || strings.Contains(stderr.String(), "?") {
			t.Errorf("%v: exit code %d: %s", args, code, stderr.String())
		}
	}
}

// TestInterruptedIsNoFault checks that nobody is asked whether the database is up who has pressed Ctrl-C.
func TestInterruptedIsNoFault(t *testing.T) {
	t.Parallel()
	lost := fmt.Errorf("%w: gave up waiting for the commit: %w", holdfast.ErrUnavailable, errInterrupted)
	if got, want := explain(lost), "database unavailable: gave up waiting for the commit: interrupted"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if code := exitCode(&runError{lost}); code != exitInterrupted {
		t.Errorf("exit code %d", code)
	}
}

func TestNoSuchDatabase(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	for _, args := range [][]string{
		{"job", "list"},
		{"job", "get", exampleID},
		{"job", "wait", exampleID},
		{"job", "cancel", exampleID},
		{"job", "retry", exampleID},
		{"job", "enqueue", "exec"},
		{"queue", "list"},
		{"queue", "pause", "x"},
		{"queue", "resume", "x"},
		{"node", "list"},
	} {
		s.expect(s.run(args...), 1, "no such database: sqlite:"+s.db, `"holdfast dev" or "holdfast migrate up" creates it`)
	}
	if found, _ := filepath.Glob(filepath.Join(s.dir, "*")); found != nil {
		t.Errorf("they made %v", found)
	}
	s.expect(s.run("job", "list", "--database", filepath.Join(s.dir, "no", "such", "x.db")), 1, "x.db")
	s.expect(s.run("job", "list", "--database", s.dir), 1, s.dir)
	delete(s.env, envDatabase)
	s.expect(s.run("job", "list", "--database", "sqlite:"+filepath.Join(s.dir, "x.db")), 1, "no such database")
}

func TestNotADatabase(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	if err := os.WriteFile(s.db, bytes.Repeat([]byte("no database\n"), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"job", "list"}, {"dev"}, {"migrate", "status"}, {"migrate", "up"}} {
		s.expect(s.run(args...), 1, "not an SQLite database")
	}
}

// statement does something to the database behind the library's back.
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
	s.expect(s.run("job", "list"), 1, "no such database")
}

func TestUnreachableDatabase(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.env[envDatabase] = "postgres://me:hunter2@127.0.0.1:1/app?connect_timeout=2&sslmode=disable"
	verbs := [][]string{{"job", "list"}, {"job", "enqueue", "x"}, {"worker"}, {"bench"}, {"migrate", "up"}, {"migrate", "status"}}
	for _, args := range verbs {
		got := s.run(args...)
		s.expect(got, 1, "127.0.0.1", "is the database up, and --database right?")
		if strings.Contains(got.stderr, "hunter2") {
			t.Errorf("the password is shown: %s", got.stderr)
		}
	}
	if out := s.ok("migrate", "sql"); !strings.Contains(out, "CREATE TABLE") {
		t.Errorf("%.100s", out)
	}
}

// TestReference checks docs/cli.md against the commands: every verb, every flag, every field of the JSON.
func TestReference(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("..", "..", "docs", "cli.md"))
	if err != nil {
		t.Fatal(err)
	}
	doc := string(data)
	sections := map[string]string{}
	for section := range strings.SplitSeq(doc, "\n## ") {
		title, text, _ := strings.Cut(section, "\n")
		sections[title] = text
	}
	commands(func(cmd *cobra.Command) {
		if !strings.Contains(doc, "`"+cmd.CommandPath()) {
			t.Errorf("docs/cli.md does not mention `%s`", cmd.CommandPath())
		}
		if cmd.HasSubCommands() {
			return
		}
		text := sections["`"+cmd.CommandPath()+"`"]
		if text == "" {
			t.Errorf("docs/cli.md has no section `%s`", cmd.CommandPath())
		}
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" && !strings.Contains(text, "`--"+f.Name) {
				t.Errorf("docs/cli.md says nothing of --%s of %s", f.Name, cmd.CommandPath())
			}
		})
		for _, flag := range []string{flagDatabase, flagNamespace, flagOutput, flagQuiet} {
			if has := strings.Contains(text, "`--"+flag+"`"); has != usesFlag(cmd, flag) {
				t.Errorf("docs/cli.md on %s and --%s: mentioned %t, used %t", cmd.CommandPath(), flag, has, usesFlag(cmd, flag))
			}
		}
	})
	for _, view := range []any{
		jobView{},
		backoffView{},
		checkpointView{},
		attemptView{},
		waitView{},
		journalLine{},
		forkedView{},
		sentView{},
		answeredView{},
		itemView{},
		queueView{},
		countView{},
		nodeView{},
		enqueuedView{},
		changedView{},
		pausedView{},
		schemaView{},
		findingView{},
		benchView{},
		versionView{},
	} {
		of := reflect.TypeOf(view)
		for field := range of.Fields() {
			if name := field.Tag.Get("json"); !strings.Contains(doc, "`"+name+"`") {
				t.Errorf("docs/cli.md says nothing of the field %s of %s", name, of.Name())
			}
		}
	}
	for _, name := range []string{envDatabase, "NO_COLOR"} {
		if !strings.Contains(doc, "`"+name+"`") {
			t.Errorf("docs/cli.md says nothing of %s", name)
		}
	}
	for _, code := range []int{exitOK, exitError, exitTimeout, exitUsage, exitInterrupted} {
		if !strings.Contains(sections["Exit codes"], fmt.Sprintf("| %d |", code)) {
			t.Errorf("docs/cli.md does not list the exit code %d", code)
		}
	}
	for line := range strings.Lines(doc) {
		checkExample(t, strings.TrimPrefix(strings.TrimSpace(line), "$ "))
	}
}
