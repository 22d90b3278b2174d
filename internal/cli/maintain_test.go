package cli

import (
	"database/sql"
	"net"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // to lock a file

	"github.com/holdfastdev/holdfast/internal/cli/app"
)

// maintained is the answer of the verbs in JSON.
type maintained struct {
	Node                                                       *string
	Died, Rescued, Promoted, Fired, Cancelled, Closed, Removed int
	Led, More                                                  bool
	Doubtful_nodes                                             int //nolint:revive // of the JSON
}

func TestMaintainOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *shell) {
		t.Helper()
		due := s.enqueue("parcel", "--args", `"ada"`, "--in", "1ms")
		cancelled := s.enqueue("parcel", "--args", `"bob"`)
		s.ok("job", "cancel", cancelled)
		s.ok("schedule", "create", "nightly", "--every", "1s", "parcel", "--args", `"eve"`)
		until(t, "what is due", func() bool {
			var m maintained
			s.decode(s.ok("maintain", "schedules", "-o", "json"), &m)
			return m.Fired == 1
		})
		if out := s.ok("maintain", "promote", "-o", "table"); !strings.HasPrefix(out, "1 job made available") {
			t.Errorf("%s", out)
		}
		if state := s.job(due)["state"]; state != "available" {
			t.Errorf("it is %v", state)
		}
		var m maintained
		s.decode(s.ok("maintain", "all", "-o", "json"), &m)
		if m.Node != nil || !m.Led || m.More || m.Doubtful_nodes != 0 || m.Promoted+m.Rescued+m.Removed != 0 {
			t.Errorf("%+v", m)
		}
		if s.job(cancelled)["state"] != "cancelled" {
			t.Error("a cancelled job was removed, which nobody asked for")
		}
		out := s.ok("maintain", "all", "-o", "table", "--cancelled", "1d")
		for _, line := range []string{
			"0 jobs rescued, 0 nodes declared dead\n", "made available\n", "of schedules decided\n", "applied, ",
			"removed\n",
		} {
			if !strings.Contains(out, line) {
				t.Errorf("%q has no %q", out, line)
			}
		}
		s.expect(s.run("maintain", "retain"), app.ExitUsage, "say what is to be removed")
		s.expect(s.run("maintain", "retain", "--completed", "-1h"), app.ExitUsage, "must be positive")
		s.expect(s.run("maintain", "rescue", "--budget", "0s"), app.ExitUsage, "--budget must be more than 0")
		s.expect(s.run("maintain", "node", "--failed", "-1h"), app.ExitUsage, "must be positive")
	})
}

// TestMaintainALockedDatabase: where nothing could be done, that is an error, and nothing is said
// of what was done.
func TestMaintainALockedDatabase(t *testing.T) {
	t.Parallel()
	s := migrated(t)
	s.enqueue("parcel", "--in", "1ms")
	db, err := sql.Open("sqlite", "file:"+s.db+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	out := s.run("maintain", "promote", "--budget", "200ms")
	s.expect(out, app.ExitError, "nothing could be done within 200ms",
		"the database is locked", "another process or connection held the database")
	if out.stdout != "" {
		t.Errorf("it says what was done: %s", out.stdout)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	s.ok("maintain", "promote", "--budget", "20s")
}

// TestMaintainASilentDatabase: the budget bounds how long it takes to open a database that accepts
// connections and does not answer.
func TestMaintainASilentDatabase(t *testing.T) {
	t.Parallel()
	silent, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	s := newShell(t)
	s.env[app.EnvDatabase] = "postgres://ada@" + silent.Addr().String() + "/x?sslmode=disable"
	for _, verb := range []string{"all", "promote", "retain"} {
		args := []string{"maintain", verb, "--budget", "200ms"}
		if verb != "promote" {
			args = append(args, "--completed", "24h")
		}
		s.expect(s.run(args...), app.ExitError, "the database did not answer within 200ms")
	}
}
