package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"
)

// Batch is what one commit writes: all of it, or nothing. Operations are written in this order:
// requests, checkpoints, appends, sends, outcomes, enqueues, fires, calls.
//
// What a run writes (a checkpoint, an append, an outcome) refuses the batch if it cannot be
// written, and so do requests, fires, calls, and sends and enqueues that are Required: Apply then
// writes nothing, sets Err of operations that cannot be written and of no other, and returns a
// *RefusedError. A store may find some of them only when others are gone. The caller takes them
// out, with all that is to happen together with them, and applies the rest; those whose error is
// Inconclusive it applies alone after that. See ApplyEach. Other sends and enqueues are answered:
// one with an Err has left nothing, and the rest of the batch is written.
//
// No operation waits for a transaction of a caller: one that would have to is ErrBusy. (SQLite has
// one writer, for whom all wait.)
type Batch struct {
	Requests    []*KeyedRequest // what they do is among Sends and Enqueues
	Checkpoints []*CheckpointWrite
	Appends     []*Append
	Sends       []*Send
	Outcomes    []*Outcome
	Enqueues    []*Enqueue
	Fires       []*Fire      // their jobs are among Enqueues
	Calls       []*BatchCall // their jobs are among Enqueues

	// Start, if set, lets jobs of Enqueues run at once.
	Start *Start

	// Patient says that no other batch waits behind this one: a store may wait a little for what a
	// transaction of a caller holds, if the batch needs nothing else.
	Patient bool

	// Woken is set by the store: a WakeReady for each queue in which a job became available because
	// of the batch that is none of its Enqueues or Outcomes: one that waited, or the next one of an
	// ordering key. If a turn is still to be handed on, a WakeDeferred that is due now.
	Woken []Wake
}

// Unit is a unit of work: operations that happen together, in this order, or not at all.
type Unit struct {
	Request    *KeyedRequest // of which all the rest is the effect
	Checkpoint *CheckpointWrite
	Append     *Append
	Sends      []*Send
	Outcome    *Outcome
	Enqueues   []*Enqueue
	Fire       *Fire      // of which these are the jobs
	Call       *BatchCall // the same
}

// Add adds the operations of a unit to the batch. What else is in the batch happens with it or not
// at all, too; the unit tells which operations have to be taken out together. Its sends and
// enqueues are Required from now on.
func (b *Batch) Add(u *Unit) {
	if u.Request != nil {
		b.Requests = append(b.Requests, u.Request)
	}
	if u.Checkpoint != nil {
		b.Checkpoints = append(b.Checkpoints, u.Checkpoint)
	}
	if u.Append != nil {
		b.Appends = append(b.Appends, u.Append)
	}
	for _, q := range u.Sends {
		q.Required = true
	}
	b.Sends = append(b.Sends, u.Sends...)
	if u.Outcome != nil {
		b.Outcomes = append(b.Outcomes, u.Outcome)
	}
	for _, q := range u.Enqueues {
		q.Required = true
	}
	b.Enqueues = append(b.Enqueues, u.Enqueues...)
	if u.Fire != nil {
		b.Fires = append(b.Fires, u.Fire)
	}
	if u.Call != nil {
		b.Calls = append(b.Calls, u.Call)
	}
}

// Err is why the unit was refused: the first Err of its operations.
func (u *Unit) Err() error {
	if u.Request != nil && u.Request.Err != nil {
		return u.Request.Err
	}
	if u.Checkpoint != nil && u.Checkpoint.Err != nil {
		return u.Checkpoint.Err
	}
	if u.Append != nil && u.Append.Err != nil {
		return u.Append.Err
	}
	for _, q := range u.Sends {
		if q.Err != nil {
			return q.Err
		}
	}
	if u.Outcome != nil && u.Outcome.Err != nil {
		return u.Outcome.Err
	}
	for _, q := range u.Enqueues {
		if q.Err != nil {
			return q.Err
		}
	}
	if u.Fire != nil && u.Fire.Err != nil {
		return u.Fire.Err
	}
	if u.Call != nil {
		return u.Call.Err
	}
	return nil
}

// RefusedError is an ErrRefused: a batch was not written because of those of its operations that
// have an Err.
type RefusedError struct {
	First   error // the Err of one of them
	Refused int   // how many there are
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%v: %d of its operations cannot be written; the first: %v", ErrRefused, e.Refused, e.First)
}

// Unwrap makes the error an ErrRefused. It is not one of First: what refuses one operation is
// nothing about the batch.
func (e *RefusedError) Unwrap() error { return ErrRefused }

// Len is the number of operations in the batch.
func (b *Batch) Len() int {
	return len(b.Requests) + len(b.Checkpoints) + len(b.Appends) + len(b.Sends) + len(b.Outcomes) + len(b.Enqueues) + len(b.Fires) +
		len(b.Calls)
}

// Refusal returns the *RefusedError of a batch that must not be committed because of what its
// operations have found, or nil. What the others have found is forgotten then. Stores call it when
// all is written and before they commit.
func (b *Batch) Refusal() error {
	b.forgive()
	var refused RefusedError
	for err := range b.refusals() {
		if refused.Refused++; refused.First == nil {
			refused.First = err
		}
	}
	if refused.Refused == 0 {
		return nil
	}
	b.forget()
	return &refused
}

// refusals are the errors that refuse the batch.
func (b *Batch) refusals() iter.Seq[error] {
	return func(yield func(error) bool) {
		_ = tell(yield, b.Requests, func(r *KeyedRequest) error { return r.Err }) &&
			tell(yield, b.Checkpoints, func(c *CheckpointWrite) error { return c.Err }) &&
			tell(yield, b.Appends, func(a *Append) error { return a.Err }) &&
			tell(yield, b.Sends, (*Send).refusal) &&
			tell(yield, b.Outcomes, func(o *Outcome) error { return o.Err }) &&
			tell(yield, b.Enqueues, (*Enqueue).refusal) &&
			tell(yield, b.Fires, func(f *Fire) error { return f.Err }) &&
			tell(yield, b.Calls, func(c *BatchCall) error { return c.Err })
	}
}

// tell yields the refusals of operations, as long as there is an interest in them.
func tell[T any](yield func(error) bool, operations []*T, refusal func(*T) error) bool {
	for _, o := range operations {
		if err := refusal(o); err != nil && !yield(err) {
			return false
		}
	}
	return true
}

// refusal is the error of the send, if it refuses the batch.
func (q *Send) refusal() error {
	if !q.Required {
		return nil
	}
	return q.Err
}

// refusal is the error of the enqueue, if it refuses the batch.
func (q *Enqueue) refusal() error {
	if !q.Required {
		return nil
	}
	return q.Err
}

func (q *Send) isRefused() bool { return q.refusal() != nil }

func (q *Enqueue) isRefused() bool { return q.refusal() != nil }

// forgive accepts checkpoints, and repeated appends, of runs whose repeated outcomes were
// recognised: they were written together with these. Of an append nothing may be left, if its run
// has continued as new.
func (b *Batch) forgive() {
	for _, c := range b.Checkpoints {
		if errors.Is(c.Err, ErrLeaseLost) && b.recognised(c.Lease) {
			c.Err = nil
		}
	}
	for _, a := range b.Appends {
		if a.Repeat && errors.Is(a.Err, ErrLeaseLost) && b.recognised(a.Lease) {
			a.Err = nil
		}
	}
}

// recognised reports whether a repeated outcome of the run was applied before.
func (b *Batch) recognised(l Lease) bool {
	return slices.ContainsFunc(b.Outcomes, func(o *Outcome) bool { return o.Lease == l && o.Repeat && o.Err == nil })
}

// Reset clears what Apply has set.
func (b *Batch) Reset() {
	for _, r := range b.Requests {
		r.Err = nil
	}
	for _, c := range b.Checkpoints {
		c.Err = nil
	}
	for _, a := range b.Appends {
		a.Err = nil
	}
	for _, q := range b.Sends {
		q.Err = nil
	}
	for _, o := range b.Outcomes {
		o.Err = nil
	}
	for _, q := range b.Enqueues {
		q.Err = nil
	}
	for _, f := range b.Fires {
		f.Err = nil
	}
	for _, c := range b.Calls {
		c.Err = nil
	}
	b.forget()
}

// forget clears what Apply has set of operations that are not refused.
func (b *Batch) forget() {
	b.Woken = nil
	if b.Start != nil {
		b.Start.Claimed = nil
	}
	for _, a := range b.Appends {
		for _, q := range a.Enqueues {
			q.Result = EnqueueResult{}
			if a.Err == nil {
				q.Err = nil
			}
		}
	}
	for _, q := range b.Sends {
		if q.Result = (SendResult{}); !q.Required {
			q.Err = nil
		}
	}
	for _, o := range b.Outcomes {
		o.Final, o.Due = 0, time.Time{}
	}
	for _, q := range b.Enqueues {
		if q.Result = (EnqueueResult{}); !q.Required {
			q.Err = nil
		}
		if q.Send != nil {
			q.Send.Result = SendResult{}
		}
	}
}

// Rest returns a batch of the operations that were not refused.
func (b *Batch) Rest() *Batch {
	rest := &Batch{Start: b.Start, Patient: b.Patient}
	for _, r := range b.Requests {
		if r.Err == nil {
			rest.Requests = append(rest.Requests, r)
		}
	}
	for _, c := range b.Checkpoints {
		if c.Err == nil {
			rest.Checkpoints = append(rest.Checkpoints, c)
		}
	}
	for _, a := range b.Appends {
		if a.Err == nil {
			rest.Appends = append(rest.Appends, a)
		}
	}
	for _, q := range b.Sends {
		if !q.isRefused() {
			rest.Sends = append(rest.Sends, q)
		}
	}
	for _, o := range b.Outcomes {
		if o.Err == nil {
			rest.Outcomes = append(rest.Outcomes, o)
		}
	}
	for _, q := range b.Enqueues {
		if !q.isRefused() {
			rest.Enqueues = append(rest.Enqueues, q)
		}
	}
	for _, f := range b.Fires {
		if f.Err == nil {
			rest.Fires = append(rest.Fires, f)
		}
	}
	for _, c := range b.Calls {
		if c.Err == nil {
			rest.Calls = append(rest.Calls, c)
		}
	}
	return rest
}

// Inconclusive reports whether the error that refuses an operation may be due to another operation
// of its batch, of which nothing was written either: a conflict, for example over a unique key that
// both want. Such an operation is refused only if it is when it is alone in its batch.
func Inconclusive(err error) bool { return errors.Is(err, ErrConflict) }

// inconclusive returns a batch for each operation that refuses the batch with an error that is
// Inconclusive.
func (b *Batch) inconclusive() (alone []*Batch) {
	if b.Len() == 1 {
		return nil
	}
	for _, r := range b.Requests {
		if Inconclusive(r.Err) {
			alone = append(alone, &Batch{Requests: []*KeyedRequest{r}, Patient: b.Patient})
		}
	}
	for _, a := range b.Appends {
		if Inconclusive(a.Err) {
			alone = append(alone, &Batch{Appends: []*Append{a}, Patient: b.Patient})
		}
	}
	for _, q := range b.Sends {
		if q.isRefused() && Inconclusive(q.Err) {
			alone = append(alone, &Batch{Sends: []*Send{q}, Patient: b.Patient})
		}
	}
	for _, q := range b.Enqueues {
		if q.isRefused() && Inconclusive(q.Err) {
			alone = append(alone, &Batch{Enqueues: []*Enqueue{q}, Patient: b.Patient})
		}
	}
	return alone
}

// ApplyEach applies a batch of operations that need not happen together: it takes out what is
// refused, and applies the rest. The Err of each operation tells what became of it. An error is
// that of Apply, after which nothing has happened, or all but what had an Inconclusive error.
func ApplyEach(ctx context.Context, w Writer, b *Batch) error {
	rest, alone := b, []*Batch(nil)
	for {
		err := w.Apply(ctx, rest)
		if _, refused := errors.AsType[*RefusedError](err); !refused {
			b.Woken = rest.Woken
			if err != nil {
				return err
			}
			break
		}
		alone = append(alone, rest.inconclusive()...)
		left := rest.Rest()
		if left.Len() == rest.Len() {
			return err // a store that does not say what it refuses
		}
		if rest = left; left.Len() == 0 {
			b.Woken = nil
			break
		}
	}
	for _, one := range alone {
		one.Reset()
		err := w.Apply(ctx, one)
		if _, refused := errors.AsType[*RefusedError](err); err != nil && !refused {
			return err
		}
		b.Woken = append(b.Woken, one.Woken...)
	}
	return nil
}
