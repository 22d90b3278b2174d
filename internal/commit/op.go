package commit

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// op is a write of one caller: enqueues, messages, or writes of a run. A checkpoint and an outcome
// in one op are committed together.
type op struct {
	checkpoint *store.CheckpointWrite
	remembered *store.Append
	sends      []*store.Send
	outcome    *store.Outcome
	enqueues   []*store.Enqueue

	ctx      context.Context // of a waiting caller; nil if none waits
	since    time.Time       // when the first try began
	tried    bool            // and the answer was lost
	done     func(error)     // called once, from the committer
	answered bool            // done was called
	// committed is set before done is called: from then on the database knows the end of the job,
	// not only this process. Atomic.
	committed uint32 //nolint:modernize // an op is copied before it is used
	aside     func() // called when the op is put aside for the first time; may be nil

	wait time.Duration // of an op that was put aside, before the next try
	next time.Time     // time of the next try

	panicked bool // a retry panicked after it was put aside
}

// ending adds the job of the outcome, if that is not committed yet.
func (o *op) ending(jobs map[store.ID]bool) {
	if o.outcome != nil && atomic.LoadUint32(&o.committed) == 0 {
		jobs[o.outcome.Lease.Job] = true
	}
}

// isCommitted records that the batch of the op was committed, and with it the outcome, unless that
// was refused or is blocked.
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

// isBusy reports whether a caller's transaction blocks an operation.
func isBusy(err error) bool { return errors.Is(err, store.ErrBusy) }

// keepBusy reduces an op that was applied to the operations blocked by callers' transactions, and
// reports whether there are any.
func (o *op) keepBusy() bool {
	busy := o.remembered != nil && isBusy(o.remembered.Err) || o.outcome != nil && isBusy(o.outcome.Err) ||
		slices.ContainsFunc(o.enqueues, func(q *store.Enqueue) bool { return isBusy(q.Err) }) ||
		slices.ContainsFunc(o.sends, func(q *store.Send) bool { return isBusy(q.Err) })
	if !busy {
		return false
	}
	// The caller's slices stay unchanged.
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

// repeated marks the operations that the store must recognise if they have been committed.
func (o *op) repeated() {
	if o.outcome != nil {
		o.outcome.Repeat = true
	}
	if o.remembered != nil {
		o.remembered.Repeat = true
	}
}

// callers is the number of ops whose caller waits and may write again next.
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
