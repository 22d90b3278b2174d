package env

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
)

// What is done with batches may be repeated, but for a call: who repeats one that has happened is
// refused.

func (p persistent) CreateBatch(ctx context.Context, tx store.Tx, b store.JobBatch) error {
	return persist(func(bool) error { return p.Store.CreateBatch(ctx, tx, b) })
}

func (p persistent) CloseBatch(ctx context.Context, tx store.Tx, namespace string, id store.ID) error {
	return persist(func(bool) error { return p.Store.CloseBatch(ctx, tx, namespace, id) })
}

func (p persistent) Batches(ctx context.Context, filter store.BatchFilter) ([]store.JobBatch, error) {
	return persistFor(func() ([]store.JobBatch, error) { return p.Store.Batches(ctx, filter) })
}

func (p persistent) CountBatches(ctx context.Context, params store.CountBatchesParams) (store.CountedBatches, error) {
	return persistFor(func() (store.CountedBatches, error) { return p.Store.CountBatches(ctx, params) })
}
