package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/internal/pgtest"
)

// TestOnPostgres runs all verbs on PostgreSQL. The conformance suite tests their effects; this
// tests that they reach the database.
func TestOnPostgres(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.env[app.EnvDatabase] = pgtest.Shared(t).Database(t)

	s.expect(s.run("job", "list"), 1, " has no Holdfast schema", `create it with "holdfast migrate up"`)
	missing := *s
	missing.env = map[string]string{app.EnvDatabase: strings.Replace(s.env[app.EnvDatabase], "/test_", "/nosuch_", 1)}
	missing.expect(missing.run("job", "list"), 1, "PostgreSQL at ", "; check its name, or create it with createdb")
	var schema views.Schema
	s.decode(s.ok("migrate", "status"), &schema)
	if schema.Version != 0 || schema.Current {
		t.Errorf("before: %+v", schema)
	}
	s.decode(s.ok("migrate", "up"), &schema)
	if schema.Version != schema.Latest || !schema.Current {
		t.Errorf("after: %+v", schema)
	}

	n := s.start("dev")
	got := s.run("job", "enqueue", "exec", "--args", `{"command":["echo","hello"]}`, "--wait", "--quiet")
	if got.code != 0 || got.stdout != `{"exit_code":0,"stdout":"hello\n","stderr":""}`+"\n" {
		t.Errorf("%+v", got)
	}
	s.ok("queue", "pause", "bulk")
	var ids []views.Enqueued
	out := s.feed(strings.Repeat("{}\n", 1200), "job", "enqueue", "mail", "--file", "-", "--queue", "bulk", "--tag", "x")
	s.decode(s.expect(out, 0), &ids)
	if len(ids) != 1200 {
		t.Fatalf("%d ids", len(ids))
	}
	if lines := strings.Count(s.ok("job", "list", "--all", "--state", "available", "--tag", "x", "-o", "jsonl"), "\n"); lines != 1200 {
		t.Errorf("%d jobs are listed", lines)
	}
	first := ids[0].ID
	s.ok("job", "cancel", first)
	s.expect(s.run("job", "wait", first), 1, "cancelled")
	s.ok("job", "retry", first)
	var done views.Enqueued
	s.decode(s.ok("job", "enqueue", "exec", "--args", `{"command":["true"]}`), &done)
	s.ok("job", "wait", done.ID)
	s.expect(s.run("job", "retry", done.ID), 1, "job "+done.ID+" was not changed: it has completed; ")
	if why := fmt.Sprint(s.job(first)["why"]); !strings.Contains(why, "queue bulk has been paused") ||
		!strings.Contains(why, "no live node serves the kind mail; live nodes serve exec, http") {
		t.Errorf("%s", why)
	}
	s.expect(s.run("job", "wait", first, "--wait-timeout", "50ms"), app.ExitTimeout, "has not finished")
	s.ok("queue", "resume", "bulk")
	s.expect(s.run("job", "get", arg.ExampleID), 1, "no such job")
	if out := s.ok("node", "list", "-o", "table"); !strings.Contains(out, "alive") {
		t.Errorf("%s", out)
	}
	if out := s.ok("queue", "list", "-o", "table"); !strings.Contains(out, "bulk") {
		t.Errorf("%s", out)
	}
	if out := s.ok("migrate", "sql"); !strings.Contains(out, "CREATE TABLE") {
		t.Errorf("%.100s", out)
	}
	n.stop(t)

	conn, err := pgx.Connect(t.Context(), s.env[app.EnvDatabase])
	if err != nil {
		t.Fatal(err)
	}
	_, err = conn.Exec(t.Context(), "INSERT INTO holdfast.migration (version, name, applied_at) VALUES (999, 'future', 0)")
	if err = errors.Join(err, conn.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"job", "list"}, {"worker"}, {"migrate", "up"}} {
		s.expect(s.run(args...), 1, "schema version 999", "use a newer holdfast")
	}
	if out := s.ok("migrate", "status", "-o", "table"); !strings.Contains(out, "newer than this holdfast") {
		t.Errorf("%s", out)
	}
}

// TestDeniedOnPostgres: a denied permission is not a mistake on the command line, and the error
// says what to grant.
func TestDeniedOnPostgres(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.env[app.EnvDatabase] = pgtest.Shared(t).Database(t)
	s.ok("migrate", "up")
	conn, err := pgx.Connect(t.Context(), s.env[app.EnvDatabase])
	if err != nil {
		t.Fatal(err)
	}
	role := "reader_" + strings.ToLower(rand.Text()[:12])
	_, err = conn.Exec(t.Context(), "CREATE ROLE "+role+" LOGIN; GRANT USAGE ON SCHEMA holdfast TO "+role+
		"; GRANT SELECT ON ALL TABLES IN SCHEMA holdfast TO "+role)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, err := conn.Exec(context.WithoutCancel(t.Context()), "DROP OWNED BY "+role+"; DROP ROLE "+role)
		if err = errors.Join(err, conn.Close(context.WithoutCancel(t.Context()))); err != nil {
			t.Error(err)
		}
	})
	user := conn.Config().User
	s.env[app.EnvDatabase] = strings.Replace(s.env[app.EnvDatabase], "://"+user, "://"+role, 1)
	s.ok("job", "list")
	grant := `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "holdfast" TO "` + role + `"`
	for _, args := range [][]string{
		{"job", "enqueue", "x"}, {"queue", "pause", "x"}, {"worker"},
	} {
		got := s.run(args...)
		lines := strings.Split(strings.TrimSpace(got.stderr), "\n")
		last := lines[len(lines)-1]
		for _, words := range []string{"permission denied", `the role "` + role + `" lacks`, grant} {
			if got.code != app.ExitError || !strings.Contains(last, words) {
				t.Errorf("%v: exit code %d, it says not %s: %s", args, got.code, words, got.stderr)
			}
		}
	}
}
