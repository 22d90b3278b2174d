package engine

import (
	"context"

	"github.com/holdfastdev/holdfast/internal/batching"
	"github.com/holdfastdev/holdfast/internal/observer"
	"github.com/holdfastdev/holdfast/store"
)

// countBatches counts the members of closed batches, and calls back those that have ended.
func (n *node) countBatches(ctx context.Context) error {
	open, err := batching.Pass(ctx, n.store, func(ctx context.Context, u *store.Unit) error {
		err := n.engine.Fire(ctx, u)
		if err == nil {
			observer.Did(ctx, 1)
		}
		return err
	})
	n.counts.Store(open)
	return err
}

// CreateBatch makes a batch, in the caller's transaction unless tx is nil.
func (e *Engine) CreateBatch(ctx context.Context, tx store.Tx, b store.JobBatch) error {
	return e.Store.CreateBatch(ctx, tx, b)
}

// CloseBatch closes a batch, in the caller's transaction unless tx is nil.
func (e *Engine) CloseBatch(ctx context.Context, tx store.Tx, namespace string, id store.ID) error {
	err := e.Store.CloseBatch(ctx, tx, namespace, id)
	if err == nil && tx == nil {
		e.announce(store.Wake{Kind: store.WakeLeader})
	}
	return err
}
