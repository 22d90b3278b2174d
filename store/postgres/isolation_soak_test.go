//go:build soak

package postgres_test

import (
	"errors"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
)

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
