package faults

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
)

// CreateBatch implements store.JobBatches.
func (s *Store) CreateBatch(ctx context.Context, tx store.Tx, b store.JobBatch) error {
	if tx != nil {
		return s.inner.CreateBatch(ctx, tx, b)
	}
	return s.do(ctx, "CreateBatch", func(bool) error { return s.inner.CreateBatch(ctx, nil, b) })
}

// CloseBatch implements store.JobBatches.
func (s *Store) CloseBatch(ctx context.Context, tx store.Tx, namespace string, id store.ID) error {
	if tx != nil {
		return s.inner.CloseBatch(ctx, tx, namespace, id)
	}
	return s.do(ctx, "CloseBatch", func(bool) error { return s.inner.CloseBatch(ctx, nil, namespace, id) })
}

// Batches implements store.JobBatches.
func (s *Store) Batches(ctx context.Context, filter store.BatchFilter) ([]store.JobBatch, error) {
	return answer(ctx, s, "Batches", func() ([]store.JobBatch, error) { return s.inner.Batches(ctx, filter) })
}

// CountBatches implements store.JobBatches.
func (s *Store) CountBatches(ctx context.Context, params store.CountBatchesParams) (store.CountedBatches, error) {
	return answer(ctx, s, "CountBatches", func() (store.CountedBatches, error) { return s.inner.CountBatches(ctx, params) })
}
