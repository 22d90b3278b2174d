//go:build soak

package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/internal/pgtest"
)

var smallBench = []string{"bench", "--jobs", "1500", "--seconds", "0.05", "--rate", "200"}

func checkBench(t *testing.T, s *shell) {
	t.Helper()
	var views []views.Bench
	s.decode(s.expect(s.run(smallBench...), 0, "run …"), &views)
	if len(views) != 6 {
		t.Fatalf("%+v", views)
	}
	for _, v := range views {
		if v.Jobs < 1 || v.Seconds <= 0 || v.PerSecond <= 0 {
			t.Errorf("%+v", v)
		}
	}
	if all := views[0].Jobs + views[1].Jobs + views[2].Jobs; views[3].Jobs != all || views[2].Jobs != 1500 {
		t.Errorf("%d jobs were enqueued, and %d were run: %+v", all, views[3].Jobs, views)
	}
	if last := views[5]; last.Jobs != 10 || last.P50 == nil || *last.P99 < *last.P50 {
		t.Errorf("%+v", last)
	}
	if views[3].P50 != nil {
		t.Errorf("a latency of nothing: %+v", views[3])
	}
}

func TestBench(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	checkBench(t, s)
	s.terminal = true
	if out := s.ok(append(smallBench, "--quiet")...); !strings.HasPrefix(out, "SCENARIO ") || strings.Count(out, "\n") != 7 {
		t.Errorf("%s", out)
	}
	if found, err := filepath.Glob(filepath.Join(s.dir, "*")); err != nil || len(found) > 0 {
		t.Errorf("it left %v, %v", found, err)
	}
}

// TestBenchLeavesTheRest: it changes nothing else in the database.
func TestBenchLeavesTheRest(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.env[app.EnvDatabase] = pgtest.Shared(t).Database(t)
	s.ok("migrate", "up")
	id := s.enqueue("mail")
	checkBench(t, s)
	if got := s.job(id)["state"]; got != "available" {
		t.Errorf("the job is %v", got)
	}
	conn, err := pgx.Connect(t.Context(), s.env[app.EnvDatabase])
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	var left int
	if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'holdfast_bench%'`).Scan(&left); err != nil {
		t.Fatal(err)
	}
	if left != 0 {
		t.Errorf("it left %d schemas", left)
	}
}
