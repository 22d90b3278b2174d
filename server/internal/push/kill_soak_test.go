//go:build soak

package push_test

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/endpoint"
	"github.com/holdfastdev/holdfast/internal/pgtest/ready"
)

// child starts such a server, and returns what kills it.
func child(t *testing.T, database string) (kill func()) {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0])
	cmd.Env = append(os.Environ(), envDatabase+"="+database)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	killed := false
	kill = func() {
		if !killed {
			killed = true
			_ = cmd.Process.Kill() // it may have ended
			_ = cmd.Wait()
		}
	}
	t.Cleanup(kill)
	return kill
}

// TestKilled: while servers are killed again and again, each event gets one delivery, and each is
// made.
func TestKilled(t *testing.T) {
	t.Parallel()
	for name, database := range map[string]func(t *testing.T) string{
		"sqlite":   func(t *testing.T) string { t.Helper(); return filepath.Join(t.TempDir(), "push.db") },
		"postgres": func(t *testing.T) string { t.Helper(); return ready.Database(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := database(t)
			client, err := holdfast.Open(t.Context(), sourceOf(db), holdfast.WithLogger(slog.New(slog.DiscardHandler)), holdfast.WithNamespace("shop"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = client.Close(context.WithoutCancel(t.Context())) })
			s := &server{T: t, client: client}
			r := receive(t, says(200, ""))
			w, _ := s.webhook("crm", at(r.URL, endpoint.Filter{Kinds: []string{"mail"}}))
			events := map[string]bool{}
			kills := []func(){child(t, db), child(t, db)}
			for round := range 6 {
				for len(events) < 40*(round+1) {
					events[s.cancelled("mail", 1)[0]] = true
				}
				before := len(r.all())
				s.until("something is told", func() bool { return len(r.all()) > before || len(r.all()) >= len(events) })
				kills[0]()
				kills = append(kills[1:], child(t, db))
			}
			told := map[string]bool{}
			s.until("all are told", func() bool {
				for _, got := range r.all() {
					told[messageOf(s, got).Data.ID] = true
				}
				return len(told) >= len(events)
			})
			if n := len(s.deliveries(&w)); n != len(events) || len(told) != len(events) {
				t.Errorf("%d deliveries, of %d jobs, for %d events", n, len(told), len(events))
			}
		})
	}
}
