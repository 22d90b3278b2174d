package postgres_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
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

// TestMembersOfAnOldSnapshot: a caller's transaction that began before a batch was closed and
// counted adds nothing to it, whatever its snapshot says.
func TestMembersOfAnOldSnapshot(t *testing.T) {
	t.Parallel()
	for _, level := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable} {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			config := fresh(t)
			s := open(t, config)
			id := uuid.Must(uuid.NewV7())
			if err := s.CreateBatch(t.Context(), nil, store.JobBatch{ID: id, Namespace: "default"}); err != nil {
				t.Fatal(err)
			}
			conn := connect(t, config.URL)
			tx, err := conn.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: level})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tx.Exec(t.Context(), "SELECT count(*) FROM "+config.SchemaName+".batch"); err != nil {
				t.Fatal(err)
			}
			if err := s.CloseBatch(t.Context(), nil, "default", id); err != nil {
				t.Fatal(err)
			}
			counted, err := s.CountBatches(t.Context(), store.CountBatchesParams{Limit: 10, Members: 10})
			if err != nil || len(counted.Through) != 1 {
				t.Fatalf("counted %+v, %v", counted, err)
			}
			member := newJob(func(q *store.Enqueue) { q.Job.Batch = id })
			err = s.EnqueueTx(t.Context(), postgres.Tx(tx), []*store.Enqueue{member})
			if err == nil && member.Err == nil && tx.Commit(t.Context()) == nil {
				t.Fatal("a member was added to a batch that is counted")
			}
			_ = tx.Rollback(t.Context())
			if _, err := s.Get(t.Context(), "", member.Job.ID); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("the job is there: %v", err)
			}
		})
	}
}
