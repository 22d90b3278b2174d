package cli

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast/internal/cli/app"
)

// ofDatabases are the verbs that need the database itself: those that take --database and not
// --server, and words of the reason that they give.
var ofDatabases = map[string]string{
	"holdfast backup":         "copies the file",
	"holdfast bench":          "in a place of its own",
	"holdfast dev":            "serves a database itself",
	"holdfast migrate up":     "the schema is that of the database",
	"holdfast migrate status": "the schema is that of the database",
	"holdfast migrate sql":    "the schema is that of the database",
	"holdfast migrate reset":  "makes the tables",
	"holdfast server":         "what serves a database",
}

// TestEachVerbTakesAServer: what takes --database takes --server, or says why not.
func TestEachVerbTakesAServer(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	left := maps.Clone(ofDatabases)
	takes := 0
	commands(func(cmd *cobra.Command) {
		if cmd.HasSubCommands() || !app.UsesFlag(cmd, app.FlagDatabase) {
			return
		}
		path := cmd.CommandPath()
		words, refuses := left[path]
		delete(left, path)
		if refuses == app.UsesFlag(cmd, app.FlagServer) {
			t.Errorf("%s: it is %t that it is in the list of those that need the database itself", path, refuses)
		}
		if takes++; !refuses {
			return
		}
		takes--
		args := strings.Fields(path)[1:]
		if path == "holdfast backup" {
			args = append(args, "copy.db")
		}
		s.expect(s.run(append(args, "--server", "http://127.0.0.1:1")...), app.ExitUsage, "cannot do with a server (--server)", words)
		s.env = map[string]string{app.EnvServer: "http://127.0.0.1:1"}
		s.expect(s.run(args...), app.ExitUsage, "cannot do with a server ("+app.EnvServer+")", words)
	})
	if len(left) > 0 || takes < 80 {
		t.Errorf("%d verbs take a server, and there are no %v", takes, slices.Sorted(maps.Keys(left)))
	}
	if found, err := os.ReadDir(s.dir); err != nil || len(found) > 0 {
		t.Errorf("they made %v, %v", found, err)
	}
}

// TestServerOrDatabase: a flag counts more than a variable, and two of either are a mistake.
func TestServerOrDatabase(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	const nobody = "http://127.0.0.1:1"
	s.expect(s.run("job", "list", "--database", s.db, "--server", nobody), app.ExitUsage, "--database and --server cannot be used together")
	s.expect(s.run("job", "list", "--server", nobody), 1, "server "+nobody+" did not answer", "check --server")
	s.env[app.EnvServer] = nobody
	s.expect(s.run("job", "list"), app.ExitUsage, "HOLDFAST_DATABASE and HOLDFAST_SERVER are both set")
	s.ok("job", "list", "--database", s.db)
	s.expect(s.run("job", "list", "--server", "http://127.0.0.1:2"), 1, "server http://127.0.0.1:2 did not answer")
	s.ok("migrate", "status")
	delete(s.env, app.EnvDatabase)
	s.expect(s.run("job", "list"), 1, "server "+nobody+" did not answer")
	s.expect(s.run("job", "list", "--server", ""), app.ExitUsage, "--server")
	s.expect(s.run("job", "list", "--server", "http://u:secret@host"), app.ExitUsage, "give the token apart")
	delete(s.env, app.EnvServer)
	s.expect(s.run("job", "list", "--token-file", "x"), app.ExitUsage, "--token-file is for --server")
	none := filepath.Join(s.dir, "none")
	s.expect(s.run("job", "list", "--server", nobody, "--token-file", none), app.ExitUsage, "--token-file", "no such file")
	empty := filepath.Join(s.dir, "empty")
	if err := os.WriteFile(empty, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.expect(s.run("job", "list", "--server", nobody, "--token-file", empty), app.ExitUsage, "is empty")
}

// TestThroughAServer: commands do through a server what they do with its database, and print the
// same.
func TestThroughAServer(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.env[app.EnvToken] = longToken
	n := s.start("server", "--listen", "127.0.0.1:0")
	until(t, "the API", func() bool { return servesOn.MatchString(n.stderr.String()) })
	url := servesOn.FindStringSubmatch(n.stderr.String())[1]
	r := &shell{T: t, dir: s.dir, env: map[string]string{app.EnvServer: url, app.EnvToken: longToken}, now: s.now}

	id := r.enqueue("mail", "--args", `{"to":"ann"}`, "--tag", "a")
	r.ok("job", "tag", id, "b")
	r.ok("queue", "pause", "default")
	r.ok("limit", "set", "partner", "--capacity", "3", "--queue", "default")
	r.ok("schedule", "create", "nightly", "report", "--cron", "0 3 * * *")
	r.ok("signal", "send", id, "go")
	for _, args := range []string{
		"job list -o json", "job count -o json", "queue list -o json", "limit list -o json",
		"schedule list -o json",
		"kind list -o json", "event status -o json", "namespace list -o json", "migrate status --database " + s.db,
	} {
		words := strings.Fields(args)
		if here, there := r.ok(words...), s.ok(words...); here != there {
			t.Errorf("holdfast %s prints through the server\n%s\nand with the database\n%s", args, here, there)
		}
	}
	s.holds(r.ok("health", "-o", "json"), `"healthy": true`, url)
	s.holds(r.ok("doctor", "-o", "json"), `"check": "nodes"`, "was not looked at from here")
	r.ok("job", "cancel", id)
	if state := s.job(id)["state"]; state != "cancelled" {
		t.Errorf("the job is %v", state)
	}
	s.expect(r.run("job", "list", "--server", strings.Replace(url, "http:", "https:", 1)), 1, "it does not speak TLS")
	r.env[app.EnvToken] = "wrong"
	r.expect(r.run("job", "list"), 1, "does not take the token")
	file := filepath.Join(s.dir, "token")
	if err := os.WriteFile(file, []byte(longToken+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.ok("job", "list", "--token-file", file)
	if err := os.WriteFile(file, []byte("a token\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.expect(r.run("job", "list", "--token-file", file), app.ExitUsage, "has a space")
	n.stop(t)
}

// TestWorkerThroughAServer: a node that has no database runs what others enqueue there.
func TestWorkerThroughAServer(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.env[app.EnvToken] = longToken
	n := s.start("server", "--listen", "127.0.0.1:0")
	until(t, "the API", func() bool { return servesOn.MatchString(n.stderr.String()) })
	url := servesOn.FindStringSubmatch(n.stderr.String())[1]
	r := &shell{T: t, dir: s.dir, env: map[string]string{app.EnvServer: url, app.EnvToken: longToken}, now: s.now}
	r.start("worker", "--allow-exec", "--slots", "2")
	out := s.ok("job", "enqueue", "exec", "--args", scriptArgs("echo hello"), "--wait", "--wait-timeout", "60s")
	if !strings.Contains(out, `hello`) {
		t.Errorf("%s", out)
	}
}
