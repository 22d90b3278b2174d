package postgres_test

import (
	"testing"

	"github.com/holdfastdev/holdfast/store"
)

// TestNoRunsAreLeft: a schedule is deleted while it is fired. The runs that the fire has written go
// with it.
func TestNoRunsAreLeft(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	s, conn, watcher := open(t, config), connect(t, config.URL), connect(t, config.URL)
	nightly := store.Schedule{Namespace: "default", Name: "nightly", Left: -1}
	nightly.Times, nightly.Job = "every 1h", store.ScheduledJob{Kind: "send", Queue: "mail", Priority: 2}
	if _, err := s.SaveSchedule(t.Context(), nightly, 0, ""); err != nil {
		t.Fatal(err)
	}
	schema := config.SchemaName
	tx, err := conn.Begin(t.Context())
	if err == nil {
		_, err = tx.Exec(t.Context(), "UPDATE "+schema+".schedule SET version = version + 1")
	}
	if err == nil {
		_, err = tx.Exec(t.Context(), "INSERT INTO "+schema+".schedule_run (schedule, nominal, manual, at, state) "+
			"SELECT id, 1, 0, 1, 3 FROM "+schema+".schedule")
	}
	if err != nil {
		t.Fatal(err)
	}
	deleted := make(chan error, 1)
	go func() { deleted <- s.DeleteSchedule(t.Context(), "default", "nightly", 0, "") }()
	eventually(t, "the schedule is locked", func() bool {
		return value[bool](t, watcher, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid)))", conn.PgConn().PID())
	})
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-deleted; err != nil {
		t.Fatal(err)
	}
	if n := value[int](t, watcher, "SELECT count(*)::int FROM "+schema+".schedule_run"); n != 0 {
		t.Errorf("%d runs are left", n)
	}
}
