package postgres_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// TestIsolationOfAPool: what has waited for a lock sees what was committed meanwhile, also where
// the transactions of the caller's pool are at another level than READ COMMITTED.
func TestIsolationOfAPool(t *testing.T) {
	t.Parallel()
	for _, level := range []string{"repeatable read", "serializable"} {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			config := fresh(t)
			settings, err := pgxpool.ParseConfig(config.URL)
			if err != nil {
				t.Fatal(err)
			}
			settings.ConnConfig.RuntimeParams["default_transaction_isolation"] = level
			settings.MaxConns = 1
			pool, err := pgxpool.NewWithConfig(t.Context(), settings)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(pool.Close)
			s := open(t, postgres.Config{Pool: pool, SchemaName: config.SchemaName})
			node := join(t, s)
			run := start(t, s, node, 1)

			// Another one takes the run's lease, and the run appends to its journal meanwhile.
			conn, watch := connect(t, config.URL), connect(t, config.URL)
			tx, err := conn.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			out := strings.ReplaceAll(postgres.Fence(s), "lock_shared", "lock")
			if _, err := tx.Exec(t.Context(), out, []int64{node}); err != nil {
				t.Fatal(err)
			}
			if _, err := tx.Exec(t.Context(), "DELETE FROM "+config.SchemaName+".claim"); err != nil {
				t.Fatal(err)
			}
			answer := make(chan error, 1)
			go func() {
				a := &store.Append{Lease: run.Lease, Entries: []store.Entry{env.Entry(1, store.EntryStep, "late")}}
				answer <- s.Apply(t.Context(), &store.Batch{Appends: []*store.Append{a}})
			}()
			eventually(t, "the append to wait", func() bool {
				return value[int](t, watch, `SELECT count(*)::int FROM pg_stat_activity a JOIN pg_locks l USING (pid)
					WHERE NOT l.granted AND l.locktype = 'advisory'`) > 0
			})
			if err := tx.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := <-answer; !errors.Is(err, store.ErrRefused) {
				t.Errorf("an append that has waited until its lease was lost: %v", err)
			}

			life(t, s)
			if n := pool.Stat().NewConnsCount(); n != 1 {
				t.Errorf("%d connections were made: what is refused must leave them usable", n)
			}
		})
	}
}
