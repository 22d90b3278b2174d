package postgres

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// CreateBatch implements store.JobBatches.
func (s *Store) CreateBatch(ctx context.Context, tx store.Tx, b store.JobBatch) error {
	err := s.inTx(ctx, tx, func(t pg.Runner) error { return s.batches.Create(ctx, t, &b) })
	return pg.Classify(ctx, "create batch "+b.ID.String(), err)
}

// CloseBatch implements store.JobBatches.
func (s *Store) CloseBatch(ctx context.Context, tx store.Tx, namespace string, id store.ID) error {
	err := s.inTx(ctx, tx, func(t pg.Runner) error {
		if err := s.batches.CloseOne(ctx, t, namespace, id); err != nil || tx == nil {
			return err
		}
		return s.write.WakeTx(ctx, t, nil, s.local.Micros(), store.Wake{Kind: store.WakeLeader})
	})
	return pg.Classify(ctx, "close batch "+id.String(), err)
}

// inTx calls f in the caller's transaction, or in one of its own if that is nil.
func (s *Store) inTx(ctx context.Context, tx store.Tx, f func(pg.Runner) error) error {
	if tx == nil {
		return pg.RetryOnConflict(ctx, func() error {
			return s.db.InTx(ctx, pg.BeginHot, func(t pg.Session) error { return f(t) })
		})
	}
	t, err := s.callers(tx)
	if err != nil {
		return err
	}
	return f(t)
}

// Batches implements store.JobBatches.
func (s *Store) Batches(ctx context.Context, filter store.BatchFilter) ([]store.JobBatch, error) {
	found, err := s.batches.Batches(ctx, filter)
	return found, pg.Classify(ctx, "list batches", err)
}

// CountBatches implements store.JobBatches.
func (s *Store) CountBatches(ctx context.Context, params store.CountBatchesParams) (store.CountedBatches, error) {
	counted, err := s.batches.CountBatches(ctx, params)
	return counted, pg.Classify(ctx, "count members of batches", err)
}
