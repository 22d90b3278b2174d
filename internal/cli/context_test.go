package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/sqlitetest"
)

// changing are the verbs that change something in a database, or may: each verb is decided on, and
// those that are wrongly left out would not ask in production.
var changing = strings.Fields(`
	job/enqueue job/cancel job/retry job/pause job/resume job/set job/tag job/retag job/move job/prioritize job/skip job/depend
	job/delete job/fork job/continue-as-new job/complete job/fail
	queue/pause queue/resume queue/rest queue/drain queue/delete queue/set kind/forget
	schedule/create schedule/update schedule/pause schedule/resume schedule/trigger schedule/backfill schedule/delete
	limit/set limit/drain limit/resume limit/reset limit/delete retention/set retention/delete attribute/declare attribute/delete
	key/create key/revoke namespace/create namespace/delete batch/create batch/add batch/close batch/cancel operation/cancel
	dead/redrive dead/move dead/purge event/on event/off node/quiet node/drain node/resume
	maintain/all maintain/rescue maintain/promote maintain/schedules maintain/settle maintain/retain maintain/node
	signal/send update/call callback/answer callback/complete callback/fail callback/heartbeat migrate/up migrate/reset
	endpoint/create endpoint/update endpoint/rotate endpoint/delete
	webhook/create webhook/update webhook/rotate webhook/delete webhook/test webhook/redeliver
	bench dev worker server mcp`)

// TestEachVerbChangesOrReads: of each verb it is known whether it may change something.
func TestEachVerbChangesOrReads(t *testing.T) {
	t.Parallel()
	var found []string
	commands(func(cmd *cobra.Command) {
		if app.Changes(cmd) {
			found = append(found, strings.Join(strings.Fields(cmd.CommandPath())[1:], "/"))
		}
	})
	want := slices.Sorted(slices.Values(changing))
	if slices.Sort(found); !slices.Equal(found, want) {
		t.Errorf("these change something:\n%v\nand these should:\n%v", found, want)
	}
}

// withContexts is a shell with a place for contexts, and none of variables.
func withContexts(t *testing.T) *shell {
	t.Helper()
	s := newShell(t)
	s.env = map[string]string{"XDG_CONFIG_HOME": filepath.Join(s.dir, "config")}
	for _, name := range []string{"one.db", "two.db"} {
		sqlitetest.Create(t, filepath.Join(s.dir, name))
	}
	return s
}

// TestContexts: what is set is shown, used and removed, and the file keeps what people wrote.
func TestContexts(t *testing.T) {
	t.Parallel()
	s := withContexts(t)
	one, two := filepath.Join(s.dir, "one.db"), filepath.Join(s.dir, "two.db")
	if got := s.ok("context", "list", "-o", "json"); strings.TrimSpace(got) != "[]" {
		t.Errorf("%s", got)
	}
	s.expect(s.run("context", "show"), 1, "no context is the current one")
	s.expect(s.run("context", "use", "one"), 1, "context set")
	s.ok("context", "set", "one", "--database", one, "--namespace", "shop")
	file := filepath.Join(s.dir, "config", "holdfast", "config.toml")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	writeText(t, file, "# mine\n"+string(text))
	s.ok("context", "use", "one")
	s.ok("context", "set", "two", "--database", two, "--production")
	s.ok("context", "set", "one", "--production=false")
	text, err = os.ReadFile(file)
	want := "current = \"one\"\n\n# mine\n[context.one]\ndatabase = \"" + one + "\"\nnamespace = \"shop\"\n\n[context.two]\ndatabase = \"" +
		two + "\"\nproduction = true\n"
	if err != nil || string(text) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, text, want)
	}
	var list []map[string]any
	if err := json.Unmarshal([]byte(s.ok("context", "list", "-o", "json")), &list); err != nil || len(list) != 2 ||
		list[0]["context"] != "one" || list[0]["current"] != true || list[1]["production"] != true {
		t.Errorf("%v, %v", list, err)
	}
	s.holds(s.ok("context", "show", "-o", "table"), "one", "shop", file)
	s.expect(s.run("context", "show", "three"), 1, "there are one, two")
	s.ok("context", "remove", "one")
	s.expect(s.run("context", "show"), 1, "no context is the current one")
	s.ok("context", "use", "two")
	s.ok("context", "use", "--none")
	s.expect(s.run("context", "use"), app.ExitUsage, "--none")

	for _, test := range []struct{ args, words string }{
		{"x", "needs one of"},
		{"x --database a.db --server http://127.0.0.1:1", "has 2 of them"},
		{"x --database postgres://ann:secret@db/app", "--database-variable"},
		{"x --database a.db --token-file t", "has no server"},
		{"x --server http://127.0.0.1:1 --token-file t --token-variable T", "one of them has to go"},
		{"a/b --database a.db", "no name of a context"},
		{"x --server http://secret@127.0.0.1:1", "in it"},
		{"x --server 127.0.0.1:8233", "http://"},
		{"x --database http://127.0.0.1:8233", "unknown scheme"},
	} {
		got := s.run(append([]string{"context", "set"}, strings.Fields(test.args)...)...)
		s.expect(got, app.ExitUsage, test.words)
		if strings.Contains(got.stderr, "secret") {
			t.Errorf("it shows the password: %s", got.stderr)
		}
	}
}

// TestContextSaysWhere: a flag counts more than a variable, that more than a context, and that more
// than the default; what contradicts is refused.
func TestContextSaysWhere(t *testing.T) {
	t.Parallel()
	s := withContexts(t)
	one, two := filepath.Join(s.dir, "one.db"), filepath.Join(s.dir, "two.db")
	s.ok("context", "set", "one", "--database", one, "--namespace", "shop")
	s.ok("context", "use", "one")
	s.ok("job", "enqueue", "mail") // the only context: nothing else can be meant
	count := func(args ...string) string {
		return strings.TrimSpace(s.ok(append([]string{"job", "list", "--output", "id"}, args...)...))
	}
	id := count()
	if id == "" || count("--namespace", "default") != "" || count("--database", two) != "" {
		t.Errorf("the job is %q in its context, %q in another namespace, %q in another database", id,
			count("--namespace", "default"), count("--database", two))
	}
	s.env[app.EnvNamespace] = "default"
	if count() != "" {
		t.Error("a variable does not count more than the context")
	}
	delete(s.env, app.EnvNamespace)
	s.env[app.EnvDatabase] = two
	if count() != "" || count("--context", "one") != id {
		t.Error("a variable does not count more than the current context, or a flag not more than a variable")
	}
	s.env[app.EnvContext] = "one"
	s.expect(s.run("job", "list"), app.ExitUsage, "HOLDFAST_CONTEXT and HOLDFAST_DATABASE are both set")
	if count("--database", two) != "" {
		t.Error("a flag does not count more than the variable of a context")
	}
	s.expect(s.run("job", "list", "--context", "one", "--database", two), app.ExitUsage, "--context and --database cannot be used together")
	s.expect(s.run("job", "list", "--context", "one", "--server", "http://127.0.0.1:1"), app.ExitUsage, "cannot be used together")
	delete(s.env, app.EnvDatabase)
	if count() != id {
		t.Error("the variable of a context does not count")
	}
	s.env[app.EnvContext] = "none"
	s.expect(s.run("job", "list"), app.ExitUsage, "HOLDFAST_CONTEXT", "there are one")
	delete(s.env, app.EnvContext)

	s.ok("context", "set", "far", "--server", "https://127.0.0.1:1", "--token-variable", "FAR_TOKEN")
	s.expect(s.run("job", "list", "--context", "far"), app.ExitUsage, "$FAR_TOKEN, which is not set")
	s.env["FAR_TOKEN"] = longToken
	s.expect(s.run("job", "list", "--context", "far"), 1, "server https://127.0.0.1:1 did not answer")
	s.expect(s.run("migrate", "status", "--context", "far"), app.ExitUsage, "cannot do with a server, and the context far is one")
	s.expect(s.run("job", "list", "--context", "one", "--token-file", "x"), app.ExitUsage, "--token-file is for --server")
	s.ok("context", "set", "one", "--database-variable", "ONE")
	s.expect(s.run("job", "list", "--context", "one"), app.ExitUsage, "$ONE, which is not set")
	s.env["ONE"] = one
	if count("--context", "one") != id {
		t.Error("the variable that has the database does not count")
	}
	file := filepath.Join(s.dir, "config", "holdfast", "config.toml")
	writeText(t, file, "[context.one]\ndatabase = \"x\"\ndatabse = \"y\"\n")
	s.expect(s.run("job", "list"), app.ExitUsage, file, "line 3", "databse is not known")
	s.env[app.EnvDatabase] = one
	s.ok("job", "list", "--namespace", "shop") // which goes elsewhere
}

// TestContextsOfProduction: where there are several contexts, what changes something has to be told
// which is meant; it says where it goes, and asks in one of production.
func TestContextsOfProduction(t *testing.T) {
	t.Parallel()
	s := withContexts(t)
	s.ok("context", "set", "prod", "--database", filepath.Join(s.dir, "one.db"), "--namespace", "shop", "--production")
	s.ok("context", "use", "prod")
	s.expect(s.run("job", "enqueue", "mail"), app.ExitUsage, "job enqueue may change something in the context prod",
		"one of production", "use --yes")
	s.ok("job", "list")
	s.terminal = true
	refused := s.feed("no\n", "job", "enqueue", "mail")
	if refused.code != 1 || !strings.Contains(refused.stderr, "nothing was changed") {
		t.Errorf("%d: %s", refused.code, refused.stderr)
	}
	if got := s.ok("job", "list", "-o", "id"); got != "" {
		t.Errorf("it was enqueued: %s", got)
	}
	if got := s.feed("prod\n", "job", "enqueue", "mail"); got.code != 0 || !strings.Contains(got.stderr, "Context prod: database ") {
		t.Errorf("%d: %s", got.code, got.stderr)
	}
	s.terminal = false
	got := s.run("job", "enqueue", "mail", "--yes")
	if got.code != 0 || !strings.Contains(got.stderr, "Context prod: database "+s.dir) || !strings.Contains(got.stderr, "namespace shop") {
		t.Errorf("%d: %s", got.code, got.stderr)
	}
	s.ok("job", "cancel", "--state", "available", "--dry-run")
	s.ok("job", "cancel", "--state", "available", "--yes") // which has a flag of its own of that name

	s.ok("context", "set", "dev", "--database", filepath.Join(s.dir, "two.db"))
	s.ok("job", "list")
	s.expect(s.run("job", "enqueue", "mail", "--yes"), app.ExitUsage, "there are 2 contexts", "--context prod or --database")
	s.ok("context", "use", "--none")
	s.expect(s.run("job", "enqueue", "mail"), app.ExitUsage, "there are 2 contexts")
	quiet := s.run("job", "enqueue", "mail", "--context", "dev", "--quiet")
	if quiet.code != 0 || strings.Contains(quiet.stderr, "Context") {
		t.Errorf("%d: %s", quiet.code, quiet.stderr)
	}
	s.env[app.EnvDatabase] = filepath.Join(s.dir, "two.db")
	if got := s.run("job", "enqueue", "mail"); got.code != 0 || strings.Contains(got.stderr, "Context") {
		t.Errorf("%d: %s", got.code, got.stderr)
	}
}

// TestDevAmongContexts: dev goes to no context that is not named, and the commands that it prints
// go where it is.
func TestDevAmongContexts(t *testing.T) {
	s := withContexts(t)
	t.Chdir(s.dir)
	s.ok("context", "set", "one", "--database", "one.db")
	s.ok("context", "set", "two", "--server", "http://127.0.0.1:1")
	s.ok("context", "use", "two")
	n := s.start("dev", "--listen", "none")
	until(t, "its hints", func() bool { return strings.Contains(n.stderr.String(), "node list") })
	s.holds(n.stderr.String(), "node list --database holdfast.db")
	n.stop(t)
	n = s.start("dev", "--listen", "none", "--context", "one")
	until(t, "its hints", func() bool { return strings.Contains(n.stderr.String(), "node list") })
	s.holds(n.stderr.String(), "Context one: database "+filepath.Join(s.dir, "one.db"), "node list --context one")
	n.stop(t)
	s.expect(s.run("dev", "--context", "two"), app.ExitUsage, "dev cannot do with a server")
}

// TestContextsKeepWhatTheyShould: whole paths, names of variables and not what is in them, and no
// token of one server for another.
func TestContextsKeepWhatTheyShould(t *testing.T) {
	t.Parallel()
	s := withContexts(t)
	s.ok("context", "set", "loc", "--database", "jobs.db?synchronous=normal")
	s.holds(s.ok("context", "show", "loc", "-o", "json"), `/jobs.db?synchronous=normal"`)
	for _, flag := range []string{"--database-variable", "--token-variable"} {
		got := s.run("context", "set", "a", "--server", "https://a.example.com", flag, "postgres://app:geheim@db/app")
		if got.code == 0 || strings.Contains(got.stdout+got.stderr, "geheim") {
			t.Errorf("%s: %+v", flag, got)
		}
	}
	s.ok("context", "set", "web", "--server", "https://a.example.com", "--token-variable", "TOKEN_OF_A")
	s.ok("context", "set", "web", "--server", "https://b.example.com")
	if got := s.ok("context", "show", "web", "-o", "json"); strings.Contains(got, "TOKEN_OF_A") {
		t.Errorf("the token of another server stays: %s", got)
	}
	s.ok("context", "set", "loc", "--namespace", "shop")
	settings := filepath.Join(s.dir, "w.toml")
	writeText(t, settings, "namespace = \"other\"\n")
	got := s.ok("config", "show", "worker", "-o", "json", "--", "--config", settings, "--context", "loc")
	if strings.Contains(got, "other") || !strings.Contains(got, "shop") {
		t.Errorf("a named context is taken as a whole: %s", got)
	}
}
