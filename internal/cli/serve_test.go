package cli

import (
	"context"
	"crypto/rand"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/pgtest"
)

func TestWorkerRunsExecOnlyIfAllowed(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	worker := s.start("worker")
	id := s.enqueue("exec", "--args", `{"command":["sh","-c","echo $HOLDFAST_JOB_ID $HOLDFAST_ATTEMPT $HOLDFAST_LEASE"]}`)
	s.expect(s.run("job", "wait", id, "--wait-timeout", "200ms"), app.ExitTimeout, "has not finished")
	if strings.Contains(worker.stderr.String(), "Try") {
		t.Errorf("a worker gives hints: %s", worker.stderr)
	}
	worker.stop(t)

	s.start("worker", "--allow-exec")
	if out := s.ok("job", "wait", id, "--wait-timeout", "1m"); !strings.Contains(out, `"stdout":"`+id+` 1 1\n"`) {
		t.Errorf("%s", out)
	}
}

func TestHTTPKind(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/echo":
			_, _ = io.WriteString(w, r.Header.Get("Idempotency-Key")+" ")
			_, _ = io.Copy(w, r.Body)
		case "/busy":
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			http.Error(w, "there is no such thing", http.StatusNotFound)
		}
	}))
	t.Cleanup(server.Close)
	s := newShell(t)
	s.start("worker")

	id := s.enqueue("http", "--args", `{"url":"`+server.URL+`/echo","body":{"n":1}}`)
	out := s.ok("job", "wait", id, "--wait-timeout", "1m")
	if want := `"body":"` + id + ` {\"n\":1}"}`; !strings.HasPrefix(out, `{"status":200,"headers":{"Content-Type":"text/plain`) ||
		!strings.HasSuffix(out, want+"\n") {
		t.Errorf("%s", out)
	}
	s.expect(s.run("job", "enqueue", "http", "--args", `{"url":"`+server.URL+`/gone"}`, "--wait", "--quiet"),
		1, "failed (terminal)", "answered 404 Not Found: there is no such thing")

	busy := s.enqueue("http", "--args", `{"url":"`+server.URL+`/busy"}`)
	until(t, "the first attempt", func() bool { return s.job(busy)["state"] == "retryable" })
	v := s.job(busy)
	text, _ := v["run_at"].(string)
	if due, err := time.Parse(time.RFC3339, text); err != nil || time.Until(due) < 50*time.Minute || time.Until(due) > 61*time.Minute {
		t.Errorf("it is due at %v", v["run_at"])
	}
}

// TestDevThatCannotJoin: one line names the database, without hints before it.
func TestDevThatCannotJoin(t *testing.T) {
	t.Parallel()
	server := pgtest.Shared(t)
	role := "reader_" + strings.ToLower(rand.Text()[:12])
	execute := func(address string, statements ...string) {
		t.Helper()
		ctx := context.WithoutCancel(t.Context())
		conn, err := pgx.Connect(ctx, address)
		if err != nil {
			t.Fatal(err)
		}
		for _, statement := range statements {
			if _, err := conn.Exec(ctx, statement); err != nil {
				t.Error(err)
			}
		}
		if err := conn.Close(ctx); err != nil {
			t.Error(err)
		}
	}
	s := newShell(t)
	database := server.Database(t)
	s.env[app.EnvDatabase] = database
	t.Cleanup(func() { execute(database, "DROP OWNED BY "+role, "DROP ROLE "+role) })
	s.ok("migrate", "up")
	execute(s.env[app.EnvDatabase], "CREATE ROLE "+role+" LOGIN PASSWORD 'hunter2'", "GRANT USAGE ON SCHEMA holdfast TO "+role,
		"GRANT SELECT ON ALL TABLES IN SCHEMA holdfast TO "+role)
	u, err := url.Parse(s.env[app.EnvDatabase])
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(role, "hunter2")
	s.env[app.EnvDatabase] = u.String()
	for _, args := range [][]string{{"dev", "--listen", "none"}, {"worker"}} { // the port of others is none of this test's
		got := s.run(args...)
		s.expect(got, 1, "cannot start a node on postgres://", "permission denied")
		if strings.Contains(got.stderr, "hunter2") || strings.Contains(got.stderr, "Try") {
			t.Errorf("%s", got.stderr)
		}
	}
}
