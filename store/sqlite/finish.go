package sqlite

import (
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// ending is how a run ends, whoever ends it: its handler, its node that leaves, or a rescue.
type ending struct {
	state     store.State
	reason    store.Reason
	err       string
	trace     string
	result    []byte
	startedAt time.Time
	runAt     int64 // of a job that goes on
	taken     bool  // somebody else than the run ends it
}

// applyOutcome ends the run of an outcome and sets its result.
func (t *tx) applyOutcome(o *store.Outcome) error {
	o.Final, o.Err = 0, nil
	r, err := t.record(recordName{o.Lease.Node, o.Lease.Claim})
	if err != nil {
		return err
	}
	if !r.holds(o.Lease) {
		return t.refuse(o)
	}
	e := ending{state: o.State, reason: o.Reason, err: o.Error, trace: o.Trace, result: o.Result, startedAt: o.StartedAt}
	switch o.State {
	case store.Completed, store.Failed:
	case store.Cancelled:
		e.reason = store.ReasonCancelled
	case store.Available:
		e.runAt = t.now
	case store.Retryable, store.Scheduled:
		if e.runAt = t.now + o.Delay.Microseconds(); !o.RunAt.IsZero() {
			e.runAt = o.RunAt.UnixMicro()
		}
	default:
		o.Err = fmt.Errorf("%w: a run cannot end as %v", store.ErrInvalid, o.State)
		return nil
	}
	r.finish(o.Lease.Slot)
	if o.State == store.Completed && !o.HasUnique && !o.HasOrdering {
		o.Final = store.Completed
		return t.insertFinished(o.Lease.Job, e, r, o.Lease.Number)
	}
	b, found, err := t.body(o.Lease.Job)
	if err != nil || !found {
		return unexpected("the body of a running job", err)
	}
	o.Final, _, err = t.endRun(b, r, o.Lease, e)
	return err
}

// endRun is the only way out of Running, but for the success of a plain job, which needs no body. The caller has marked
// the slot as done. It returns the state that the job is in then, and why.
func (t *tx) endRun(b *body, r *claimRecord, l store.Lease, e ending) (store.State, store.Reason, error) {
	if !e.state.Finished() {
		request, requested, err := t.cancelRequest(b.ID)
		if err != nil {
			return 0, "", err
		}
		deadline := b.Options.Deadline
		switch {
		case requested:
			e.state, e.reason, e.err = store.Cancelled, store.ReasonCancelled, request.Reason
		case e.state != store.Available && !deadline.IsZero() && e.runAt >= deadline.UnixMicro():
			e.state, e.reason = store.Failed, store.ReasonDeadline
		}
	}
	b.LeaseNumber = l.Number
	b.Attempt++ // this one
	if e.state != store.Completed {
		if err := t.insertAttempt(b, e, r, l); err != nil {
			return 0, "", err
		}
	}
	if err := t.enter(&b.Job, e.state); err != nil {
		return 0, "", err
	}
	if e.state.Finished() {
		if err := t.insertFinished(b.ID, e, r, l.Number); err != nil {
			return 0, "", err
		}
		if err := t.deleteCancelRequest(b.ID); err != nil {
			return 0, "", err
		}
		return e.state, e.reason, t.releaseTurn(b)
	}
	if e.state != store.Retryable {
		b.Attempt-- // a snooze or a release is not counted
	}
	if err := t.putBack(b, e.runAt); err != nil {
		return 0, "", err
	}
	if e.state == store.Available {
		return e.state, e.reason, t.makeAvailable(b.pointer())
	}
	return e.state, e.reason, t.deferUntil(b.pointer(), e.state)
}

// insertFinished records the end of a job. r is nil if it was not running.
func (t *tx) insertFinished(id store.ID, e ending, r *claimRecord, lease int64) error {
	s := t.stmt("finished_insert")
	bindID(s, id)
	s.bindInt(int64(e.state))
	s.bindInt(t.now)
	if r != nil {
		s.bindInt(lease)
		s.bindInt(r.node)
		s.bindInt(r.claimedAt)
	} else {
		s.bindNull()
		s.bindNull()
		s.bindNull()
	}
	if e.state == store.Completed {
		s.bindNull()
		s.bindNull()
		bindPayload(s, e.result)
	} else {
		bindOptText(s, string(e.reason))
		bindOptText(s, e.err)
		s.bindNull()
	}
	return exec(s)
}

func (t *tx) insertAttempt(b *body, e ending, r *claimRecord, l store.Lease) error {
	s := t.stmt("attempt_insert")
	bindID(s, b.ID)
	s.bindInt(l.Number)
	s.bindInt(int64(b.Attempt))
	s.bindInt(l.Node)
	s.bindInt(r.claimedAt)
	bindOptTime(s, e.startedAt)
	s.bindInt(t.now)
	s.bindInt(int64(e.state))
	s.bindInt(boolInt(e.taken))
	bindOptText(s, string(e.reason))
	bindOptText(s, e.err)
	bindOptText(s, e.trace)
	return exec(s)
}

// refuse answers an outcome whose lease is not live: it is lost, unless the outcome is repeated and had been applied.
func (t *tx) refuse(o *store.Outcome) error {
	o.Err = fmt.Errorf("outcome of job %v: %w", o.Lease.Job, store.ErrLeaseLost)
	if !o.Repeat {
		return nil
	}
	final, err := t.endedAs(o.Lease)
	if err == nil && final != 0 {
		o.Final, o.Err = final, nil
	}
	return err
}

// endedAs returns the state to which the run of a lease led, or 0 if it did not end itself.
func (t *tx) endedAs(l store.Lease) (store.State, error) {
	s := t.stmt("attempt_outcome")
	bindID(s, l.Job)
	s.bindInt(l.Number)
	found, err := s.next()
	if err != nil {
		return 0, err
	}
	if found {
		outcome, taken, node := store.State(s.readInt()), s.readInt() != 0, s.readInt()
		s.done()
		if taken || node != l.Node {
			return 0, nil
		}
		return outcome, nil
	}
	s = t.stmt("finished")
	bindID(s, l.Job)
	found, err = s.next()
	if err != nil || !found {
		return 0, err
	}
	defer s.done()
	state, _, lease, node := store.State(s.readInt()), s.readInt(), readOptInt(s), readOptInt(s)
	if state != store.Completed || lease != l.Number || node != l.Node {
		return 0, nil
	}
	return state, nil
}
