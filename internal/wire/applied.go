package wire

import (
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Applied is what Apply has set in a batch, by its operations.
type Applied struct {
	Requests    []error
	Checkpoints []CheckpointDone
	Appends     []AppendDone
	Sends       []SendDone
	Outcomes    []OutcomeDone
	Enqueues    []EnqueueDone
	Fires       []error
	Calls       []error
	Claimed     []store.Claimed
	Woken       []store.Wake
}

// CheckpointDone is what was set in a checkpoint.
type CheckpointDone struct {
	UpdatedAt time.Time
	Err       error
}

// AppendDone is what was set in an append.
type AppendDone struct {
	Enqueues []EnqueueDone
	Err      error
}

// SendDone is what was set in a send.
type SendDone struct {
	Job    store.ID // of the send of an enqueue
	Result store.SendResult
	Err    error
}

// OutcomeDone is what was set in an outcome.
type OutcomeDone struct {
	Final store.State
	Due   time.Time
	Err   error
}

// EnqueueDone is what was set in an enqueue.
type EnqueueDone struct {
	Result        store.EnqueueResult
	HasSuccessors bool
	FollowUps     []EnqueueDone
	Send          *SendDone
	Err           error
}

// AppliedOf returns what Apply has set in a batch.
func AppliedOf(b *store.Batch) Applied {
	done := Applied{
		Requests:    each(b.Requests, func(r *store.KeyedRequest) error { return r.Err }),
		Checkpoints: each(b.Checkpoints, func(c *store.CheckpointWrite) CheckpointDone { return CheckpointDone{c.Checkpoint.UpdatedAt, c.Err} }),
		Appends:     each(b.Appends, AppendDoneOf),
		Sends:       each(b.Sends, sendDone),
		Outcomes:    each(b.Outcomes, func(o *store.Outcome) OutcomeDone { return OutcomeDone{o.Final, o.Due, o.Err} }),
		Enqueues:    each(b.Enqueues, enqueueDone),
		Fires:       each(b.Fires, func(f *store.Fire) error { return f.Err }),
		Calls:       each(b.Calls, func(c *store.BatchCall) error { return c.Err }),
		Woken:       b.Woken,
	}
	if b.Start != nil {
		done.Claimed = b.Start.Claimed
	}
	return done
}

// AppendDoneOf returns what was set in an append.
func AppendDoneOf(a *store.Append) AppendDone {
	return AppendDone{each(a.Enqueues, enqueueDone), a.Err}
}

func sendDone(q *store.Send) SendDone { return SendDone{q.Job, q.Result, q.Err} }

func enqueueDone(q *store.Enqueue) EnqueueDone {
	done := EnqueueDone{Result: q.Result, HasSuccessors: q.HasSuccessors, FollowUps: each(q.FollowUps, enqueueDone), Err: q.Err}
	if q.Send != nil {
		send := sendDone(q.Send)
		done.Send = &send
	}
	return done
}

// each is what was set in each operation; nil: there is none.
func each[T, D any](operations []*T, of func(*T) D) []D {
	if len(operations) == 0 {
		return nil
	}
	done := make([]D, len(operations))
	for i, o := range operations {
		done[i] = of(o)
	}
	return done
}

// SetIn sets in the batch that was sent what Apply has set in the one that arrived. The error, an
// ErrUnavailable, is that of an answer to another batch.
func (done *Applied) SetIn(b *store.Batch) error {
	fits := len(done.Checkpoints) == len(b.Checkpoints) && len(done.Sends) == len(b.Sends) && len(done.Outcomes) == len(b.Outcomes) &&
		len(done.Requests) == len(b.Requests) &&
		len(done.Fires) == len(b.Fires) && len(done.Calls) == len(b.Calls) && len(done.Appends) == len(b.Appends) &&
		fit(done.Enqueues, b.Enqueues)
	for i := 0; fits && i < len(b.Appends); i++ {
		fits = fit(done.Appends[i].Enqueues, b.Appends[i].Enqueues)
	}
	if !fits {
		return fmt.Errorf("%w: the server's answer does not fit the batch", store.ErrUnavailable)
	}
	for i, r := range b.Requests {
		r.Err = done.Requests[i]
	}
	for i, c := range b.Checkpoints {
		c.Checkpoint.UpdatedAt, c.Err = done.Checkpoints[i].UpdatedAt, done.Checkpoints[i].Err
	}
	for i, a := range b.Appends {
		a.Err = done.Appends[i].Err
		setEnqueues(done.Appends[i].Enqueues, a.Enqueues)
	}
	for i, q := range b.Sends {
		q.Result, q.Err = done.Sends[i].Result, done.Sends[i].Err
	}
	for i, o := range b.Outcomes {
		o.Final, o.Due, o.Err = done.Outcomes[i].Final, done.Outcomes[i].Due, done.Outcomes[i].Err
	}
	setEnqueues(done.Enqueues, b.Enqueues)
	for i, f := range b.Fires {
		f.Err = done.Fires[i]
	}
	for i, c := range b.Calls {
		c.Err = done.Calls[i]
	}
	if b.Start != nil {
		b.Start.Claimed = done.Claimed
	}
	b.Woken = done.Woken
	return nil
}

// SetIn sets in the append that was sent what was set in the one that arrived.
func (done *AppendDone) SetIn(a *store.Append) error {
	if !fit(done.Enqueues, a.Enqueues) {
		return fmt.Errorf("%w: the server's answer does not fit the append", store.ErrUnavailable)
	}
	a.Err = done.Err
	setEnqueues(done.Enqueues, a.Enqueues)
	return nil
}

// fit reports whether what was set is that of these enqueues.
func fit(done []EnqueueDone, enqueues []*store.Enqueue) bool {
	if len(done) != len(enqueues) {
		return false
	}
	for i, q := range enqueues {
		if (done[i].Send == nil) != (q.Send == nil) || !fit(done[i].FollowUps, q.FollowUps) {
			return false
		}
	}
	return true
}

func setEnqueues(done []EnqueueDone, enqueues []*store.Enqueue) {
	for i, q := range enqueues {
		d := &done[i]
		q.Result, q.HasSuccessors, q.Err = d.Result, d.HasSuccessors, d.Err
		if q.Send != nil {
			q.Send.Job, q.Send.Result, q.Send.Err = d.Send.Job, d.Send.Result, d.Send.Err
		}
		setEnqueues(d.FollowUps, q.FollowUps)
	}
}
