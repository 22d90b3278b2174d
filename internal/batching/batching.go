// Package batching counts the members of batches and calls back those of which all have ended: it
// is the duty of the node that leads.
//
// # What it promises
//
// What a batch enqueues when it has ended is written with the mark that it was called back, in one
// transaction that compares the version of the batch. So of two leaders, or of one that was killed
// in between and the next one, one calls; and a call whose answer was lost is refused when it is
// repeated. A batch whose call cannot be written, because a caller's transaction holds what it
// needs, keeps no other waiting for longer than its try lasts.
//
// # Imports
//
// This package imports store.
package batching

import (
	"context"
	"errors"

	"github.com/holdfastdev/holdfast/store"
)

const (
	batches = 200   // that one call of the store looks at
	members = 2_000 // of all of them
)

// Pass counts until there is nothing more to count now, and calls back what is through: write
// commits a unit. It reports whether there are closed batches that were not called back.
func Pass(ctx context.Context, s store.JobBatches, write func(context.Context, *store.Unit) error) (open bool, err error) {
	for again := true; again; {
		again = false
		for after := (store.ID{}); ; {
			c, err := s.CountBatches(ctx, store.CountBatchesParams{After: after, Limit: batches, Members: members})
			if err != nil {
				return true, err
			}
			if err := call(ctx, c.Through, write); err != nil {
				return true, err
			}
			again, open, after = again || c.Again, c.Open, c.Next
			if after == (store.ID{}) {
				break
			}
		}
	}
	return open, nil
}

// call writes the calls of batches. Another leader may have been faster.
func call(ctx context.Context, through []store.JobBatch, write func(context.Context, *store.Unit) error) error {
	var failed error
	for i := range through {
		err := write(ctx, through[i].Call())
		switch {
		case err == nil, errors.Is(err, store.ErrConflict), errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrBusy):
		case ctx.Err() != nil:
			return err
		default:
			failed = err // and the others go on
		}
	}
	return failed
}
