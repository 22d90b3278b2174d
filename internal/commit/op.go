package commit

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// op is a write of one caller: a unit of work, which happens whole or not at all, or sends or
// enqueues that are independent of each other.
type op struct {
	store.Unit
	apart bool // its sends and enqueues are independent

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
	if o.Outcome != nil && atomic.LoadUint32(&o.committed) == 0 {
		jobs[o.Outcome.Lease.Job] = true
	}
}

// markCommitted records that the batch of the op was committed, and with it the outcome.
func (o *op) markCommitted() {
	if o.Outcome != nil {
		atomic.StoreUint32(&o.committed, 1)
	}
}

// size is how many operations of the store the op has; the limits of a batch count these.
func (o *op) size() int {
	n := len(o.Enqueues) + len(o.Sends)
	if o.Request != nil {
		n++
	}
	if o.Append != nil {
		n += len(o.Append.Entries) + len(o.Append.Enqueues) + len(o.Append.Answers)
	}
	if o.Checkpoint != nil {
		n++
	}
	if o.Outcome != nil {
		n++
	}
	if o.Fire != nil {
		n += 1 + len(o.Fire.Runs)
	}
	return n
}

// isBusy reports whether a caller's transaction blocks an operation.
func isBusy(err error) bool { return errors.Is(err, store.ErrBusy) }

// keepBusy reduces an op that was applied to the operations blocked by callers' transactions, and
// reports whether there are any. Those of a unit would have refused the batch.
func (o *op) keepBusy() bool {
	var enqueues []*store.Enqueue
	for _, q := range o.Enqueues {
		if isBusy(q.Err) {
			enqueues = append(enqueues, q)
		}
	}
	var sends []*store.Send
	for _, q := range o.Sends {
		if isBusy(q.Err) {
			sends = append(sends, q)
		}
	}
	if len(enqueues)+len(sends) == 0 {
		return false
	}
	o.Enqueues, o.Sends = enqueues, sends // the caller's slices stay unchanged
	return true
}

// refused is why a unit has to be taken out of a refused batch, or nil. A checkpoint is not worth
// the rest of its unit: one that can never be written is dropped instead.
func (o *op) refused() error {
	if o.apart {
		return nil
	}
	err := o.Err()
	if c := o.Checkpoint; c != nil && errors.Is(c.Err, store.ErrInvalid) && (o.Append != nil || o.Outcome != nil) {
		o.Checkpoint = nil
		err = o.Err()
	}
	return err
}

// fail tells those who look at one operation of a unit that it was refused because of another.
func (o *op) fail(err error) {
	if o.Append != nil && o.Append.Err == nil {
		o.Append.Err = err
	}
	if o.Outcome != nil && o.Outcome.Err == nil {
		o.Outcome.Err = err
	}
}

// markRepeated marks the operations that the store must recognise if they have been committed.
func (o *op) markRepeated() {
	if o.Outcome != nil {
		o.Outcome.Repeat = true
	}
	if o.Append != nil {
		o.Append.Repeat = true
	}
}

// callers is the number of ops whose caller waits and may write again next.
func callers(ops []*op) int {
	n := 0
	for _, o := range ops {
		if o.Outcome == nil {
			n++
		}
	}
	return n
}

// assemble makes a batch of ops.
func assemble(ops []*op) *store.Batch {
	batch := &store.Batch{}
	for _, o := range ops {
		if o.apart {
			batch.Sends, batch.Enqueues = append(batch.Sends, o.Sends...), append(batch.Enqueues, o.Enqueues...)
		} else {
			batch.Add(&o.Unit)
		}
	}
	batch.Reset()
	return batch
}
