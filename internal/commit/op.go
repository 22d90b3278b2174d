package commit

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// op is what one caller wants to have committed: enqueues, or what a run writes. A checkpoint and an outcome in one op
// are committed together.
type op struct {
	checkpoint *store.CheckpointWrite
	remembered *store.Append
	sends      []*store.Send
	outcome    *store.Outcome
	enqueues   []*store.Enqueue

	ctx   context.Context // of a caller that waits; nil if none does
	since time.Time       // when the first try began
	tried bool            // and its answer was lost
	done  func(error)     // called once, from the committer
	told  bool            // it was
	// committed is set before anybody is told of its outcome: from then on the database knows the end of the job, and no
	// longer this process alone. Atomic.
	committed uint32 //nolint:modernize // an op is copied before it is used
	aside     func() // called when the op is put aside for the first time; may be nil

	wait time.Duration // of an op that was put aside, before the next try
	next time.Time     // when that is

	panicked bool // a try of it when it was put aside
}

// ending adds the job whose outcome it is, if it is one that is still to be committed.
func (o *op) ending(jobs map[store.ID]bool) {
	if o.outcome != nil && atomic.LoadUint32(&o.committed) == 0 {
		jobs[o.outcome.Lease.Job] = true
	}
}

// isCommitted notes that a batch with the op was committed, and with it the outcome, unless that was refused or is held.
func (o *op) isCommitted() {
	if o.outcome != nil && o.outcome.Err == nil {
		atomic.StoreUint32(&o.committed, 1)
	}
}

func (o *op) size() int {
	n := len(o.enqueues) + len(o.sends)
	if o.remembered != nil {
		n += len(o.remembered.Entries) + len(o.remembered.Enqueues)
	}
	if o.checkpoint != nil {
		n++
	}
	if o.outcome != nil {
		n++
	}
	return n
}

// isBusy reports whether a caller's transaction was in the way of an operation.
func isBusy(err error) bool { return errors.Is(err, store.ErrBusy) }

// keepBusy leaves in an op that was applied only what a caller's transaction was in the way of, and reports whether that is anything.
func (o *op) keepBusy() bool {
	busy := o.remembered != nil && isBusy(o.remembered.Err) || o.outcome != nil && isBusy(o.outcome.Err) ||
		slices.ContainsFunc(o.enqueues, func(q *store.Enqueue) bool { return isBusy(q.Err) }) ||
		slices.ContainsFunc(o.sends, func(q *store.Send) bool { return isBusy(q.Err) })
	if !busy {
		return false
	}
	// The caller's own slices stay what they are.
	var enqueues []*store.Enqueue
	for _, q := range o.enqueues {
		if isBusy(q.Err) {
			enqueues = append(enqueues, q)
		}
	}
	var sends []*store.Send
	for _, q := range o.sends {
		if isBusy(q.Err) {
			sends = append(sends, q)
		}
	}
	o.enqueues, o.sends = enqueues, sends
	if o.remembered != nil && !isBusy(o.remembered.Err) {
		o.remembered = nil
	}
	if o.checkpoint != nil && o.checkpoint.Err == nil {
		o.checkpoint = nil
	}
	return true
}

// repeated marks what must be recognised if it has happened before.
func (o *op) repeated() {
	if o.outcome != nil {
		o.outcome.Repeat = true
	}
	if o.remembered != nil {
		o.remembered.Repeat = true
	}
}

// callers is how many of the ops have a caller that waits, and may write something else next.
func callers(ops []*op) int {
	n := 0
	for _, o := range ops {
		if o.outcome == nil {
			n++
		}
	}
	return n
}

func assemble(ops []*op) *store.Batch {
	batch := &store.Batch{}
	for _, o := range ops {
		if o.checkpoint != nil {
			o.checkpoint.Err = nil
			batch.Checkpoints = append(batch.Checkpoints, o.checkpoint)
		}
		if o.remembered != nil {
			o.remembered.Err = nil
			for _, e := range o.remembered.Enqueues {
				e.Err = nil
			}
			batch.Appends = append(batch.Appends, o.remembered)
		}
		for _, s := range o.sends {
			s.Err = nil
		}
		batch.Sends = append(batch.Sends, o.sends...)
		if o.outcome != nil {
			o.outcome.Err = nil
			batch.Outcomes = append(batch.Outcomes, o.outcome)
		}
		for _, e := range o.enqueues {
			e.Err = nil
		}
		batch.Enqueues = append(batch.Enqueues, o.enqueues...)
	}
	return batch
}
