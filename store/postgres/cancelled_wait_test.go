package postgres_test

import (
	"errors"
	"testing"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// TestCancelledWait: a wait for a caller's transaction that ends with a cancelled statement, as
// PostgreSQL calls some timeouts, is a wait in vain like others: what waited is told that it may be
// repeated.
func TestCancelledWait(t *testing.T) {
	t.Parallel()
	for name, held := range map[string]func(*store.Enqueue){
		"a unique key":                func(q *store.Enqueue) { q.Job.UniqueKey, q.Job.UniqueStates = []byte("held"), store.Unfinished },
		"a business key":              named("held", 0),
		"a business key and a signal": func(q *store.Enqueue) { named("held", 0)(q); along("s")(q) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := used(t, nil)
			s, conn, owner := open(t, config), connect(t, config.URL), connect(t, config.URL)
			tx, err := owner.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = tx.Rollback(t.Context()) }()
			if err := s.EnqueueTx(t.Context(), postgres.Tx(tx), []*store.Enqueue{newJob(held)}); err != nil {
				t.Fatal(err)
			}
			for cancelled := 0; cancelled < 20; {
				q := newJob(held)
				done := make(chan error)
				go func() { done <- s.Apply(t.Context(), &store.Batch{Enqueues: []*store.Enqueue{q}}) }()
				for waits := true; waits; {
					select {
					case err := <-done:
						if waits = false; err != nil || !errors.Is(q.Err, store.ErrBusy) {
							t.Fatalf("after %d cancelled waits: %v, %v", cancelled, err, q.Err)
						}
					default:
						cancelled += value[int](t, conn, `SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity
							WHERE wait_event_type = 'Lock' AND query LIKE '%' || $1 || '%' AND pid <> pg_backend_pid()`, config.SchemaName)
					}
				}
			}
		})
	}
}
