package storetest

import (
	"context"
	"errors"

	"github.com/holdfastdev/holdfast/store"
)

// applyWhole applies a batch, and again what another transaction was in the way of, until nothing
// is: among many who write at the same moment that may be any of them.
func applyWhole(ctx context.Context, s store.Store, batch *store.Batch) error {
	for {
		if err := s.Apply(ctx, batch); err != nil {
			return err
		}
		left := &store.Batch{
			Appends:  onlyBusy(batch.Appends, func(a *store.Append) error { return a.Err }),
			Sends:    onlyBusy(batch.Sends, func(q *store.Send) error { return q.Err }),
			Outcomes: onlyBusy(batch.Outcomes, func(o *store.Outcome) error { return o.Err }),
			Enqueues: onlyBusy(batch.Enqueues, func(q *store.Enqueue) error { return q.Err }),
		}
		if left.Len() == 0 {
			return nil
		}
		batch = left
	}
}

func onlyBusy[T any](all []T, errOf func(T) error) (busy []T) {
	for _, op := range all {
		if errors.Is(errOf(op), store.ErrBusy) {
			busy = append(busy, op)
		}
	}
	return busy
}
