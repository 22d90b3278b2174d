package sqlite

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// applyOutcome ends the run of an outcome and sets its result.
func (t *tx) applyOutcome(o *store.Outcome) error {
	o.Final, o.Due, o.Err = 0, time.Time{}, nil
	r, err := t.record(recordName{o.Lease.Node, o.Lease.Claim})
	if err != nil {
		return err
	}
	if r.holds(o.Lease) && o.State == store.Completed && !o.HasUnique && !o.HasOrdering && !o.HasChildren && !o.Answers {
		if o.Err = o.Check(); o.Err != nil {
			return nil //nolint:nilerr // it is the outcome's own
		}
		o.Final = store.Completed
		r.finish(o.Lease.Slot)
		return t.endLater(end{o, r})
	}
	if err := t.writeEnds(); err != nil { // what follows may look for them
		return err
	}
	if !r.holds(o.Lease) {
		return t.refuse(o)
	}
	if o.Err = o.Check(); o.Err != nil {
		return nil //nolint:nilerr // it is the outcome's own
	}
	e := t.endingOf(o)
	r.finish(o.Lease.Slot)
	if o.State == store.Completed && !o.HasUnique && !o.HasOrdering {
		o.Final = store.Completed
		return t.complete(o, e, r)
	}
	b, found, err := t.body(o.Lease.Job)
	if err != nil || !found {
		return unexpected("the body of a running job", err)
	}
	o.Final, _, err = t.endRun(b, r, o.Lease, e)
	if e.due != 0 {
		o.Due = timeOf(e.due)
	}
	return err
}

// complete ends a job well that holds no keys. The body is not read, but for whom to tell.
func (t *tx) complete(o *store.Outcome, e *ending, r *claimRecord) error {
	id := o.Lease.Job
	if err := t.insertFinished(id, e, r, o.Lease.Number); err != nil {
		return err
	}
	if o.HasChildren {
		if err := t.closeLater(id); err != nil {
			return err
		}
	}
	if !o.Answers {
		return nil
	}
	s := t.stmt("job_parent")
	bindID(s, id)
	found, err := s.next()
	if err != nil || !found {
		return unexpected("the body of a running job", err)
	}
	parent := readID(s)
	s.done()
	return t.answer(parent, &store.Message{Kind: store.MessageChild, From: id, State: e.state, Data: e.result, Codec: e.codec})
}

// endingOf returns what an outcome asks for.
func (t *tx) endingOf(o *store.Outcome) *ending {
	e := &ending{
		state: o.State, reason: o.Reason, err: o.Error, trace: o.Trace, result: o.Result, codec: o.Codec, startedAt: o.StartedAt,
		again: o.Continue, version: o.Version, durable: o.Durable || o.Continue != nil, children: o.HasChildren,
		cancelSeen: o.CancelSeen,
	}
	switch o.State {
	case store.Cancelled:
		e.reason = store.ReasonCancelled
	case store.Failed:
		e.fingerprint = o.Fingerprint
	case store.Available:
		e.runAt = t.now
	case store.Retryable, store.Scheduled:
		if e.runAt = t.now + o.Delay.Microseconds(); !o.RunAt.IsZero() {
			e.runAt = o.RunAt.UnixMicro()
		}
	case store.Waiting:
		e.wait = o.Wait
	default: // Completed says all itself
	}
	return e
}

// endRun is the only way out of Running, but for the success of a plain job, which needs no body. The caller has marked the slot as
// done. It returns the state that the job is in then, and why. Whether the run is counted and recorded is told by the state that it
// asked for: a failure is, wherever the job goes instead; a run that parks or starts over leaves no attempt.
func (t *tx) endRun(b *body, r *claimRecord, l store.Lease, e *ending) (store.State, store.Reason, error) {
	asked, err := t.requests(b.ID)
	if err != nil {
		return 0, "", err
	}
	recorded, counted := e.state != store.Waiting && e.again == nil, e.state == store.Retryable && !e.uncounted
	if !e.state.Finished() {
		if err := t.applyRequests(b, e, asked); err != nil {
			return 0, "", err
		}
	}
	ended := e.state.Finished()
	b.LeaseNumber, b.claimedAt = l.Number, r.claimedAt
	b.Attempt++ // this one
	if e.state != store.Completed && (recorded || ended) {
		if err := t.insertAttempt(b, e, r, l); err != nil {
			return 0, "", err
		}
	}
	if ended {
		if err := t.forget(b.ID, asked); err != nil {
			return 0, "", err
		}
		return e.state, e.reason, t.finish(b, e, r, l.Number)
	}
	if !counted {
		b.Attempt--
	}
	if asked.pause != nil { // it was for this run
		if err := t.deletePauseRequest(b.ID); err != nil {
			return 0, "", err
		}
	}
	state, err := t.goOn(b, e)
	return state, e.reason, err
}

// applyRequests changes how a run ends by what people asked of the job meanwhile, by its deadline, and by what has arrived for it.
func (t *tx) applyRequests(b *body, e *ending, asked requests) error {
	held := e.state == store.Waiting && e.wait.Held
	verdict := store.Ending{
		State: e.state, Held: held, Contradicts: held && e.reason == store.ReasonNondeterminism, Durable: e.durable,
		CancelSeen: e.cancelSeen, RunAt: timeOf(e.runAt),
	}.Meet(store.Asked{
		Cancel: asked.cancel != nil, Pause: asked.pause != nil, Deadline: b.Options.Deadline, Closing: b.Closing,
	})
	e.state = verdict.State
	switch verdict.Cause {
	case store.EndsByRequest:
		e.reason, e.err = store.ReasonCancelled, asked.cancel.reason
	case store.EndsByDeadline:
		e.reason = store.ReasonDeadline
	default: // as the run says
	}
	switch verdict.Due {
	case store.DueNow:
		e.runAt = t.now
	case store.DueAtDeadline:
		e.runAt = b.Options.Deadline.UnixMicro()
	default: // as the run says
	}
	if verdict.Hold {
		e.pause = asked.pause
	}
	if e.state != store.Waiting || held {
		return nil
	}
	arrived, err := t.arrived(b.ID, e.wait)
	if arrived {
		e.state, e.runAt = store.Available, t.now
	}
	return err
}

// goOn puts a job back whose run has ended without finishing it, and returns the state that it is in then.
func (t *tx) goOn(b *body, e *ending) (store.State, error) {
	if err := t.bind(b, e.version); err != nil {
		return 0, err
	}
	if e.again != nil {
		if err := t.continueAsNew(b, e.again); err != nil {
			return 0, err
		}
	}
	switch {
	case e.pause != nil:
		return store.Waiting, t.holdJob(b, e.state, e.runAt, e.pause.reason)
	case e.state == store.Waiting:
		return store.Waiting, t.park(b, e)
	}
	if err := t.enter(&b.Job, e.state); err != nil {
		return 0, err
	}
	if err := t.putBack(b, e.runAt); err != nil {
		return 0, err
	}
	if e.state == store.Available {
		return e.state, t.makeAvailable(b.pointer())
	}
	e.due = e.runAt
	return e.state, t.deferUntil(b.pointer(), e.state)
}

// bind gives a job to the nodes that claim a version of its kind.
func (t *tx) bind(b *body, version string) (err error) {
	if version == "" || version == b.Version {
		return nil
	}
	name := b.lane.laneName
	name.kind = bound(b.Kind, version)
	if b.lane, err = t.lane(name); err != nil {
		return err
	}
	b.lane.describe(&b.Job)
	return nil
}

// finish ends a job whose pointer is gone, with all that its end brings with it. r is nil if it was not running.
func (t *tx) finish(b *body, e *ending, r *claimRecord, lease int64) error {
	if err := t.enter(&b.Job, e.state); err != nil {
		return err
	}
	if err := t.insertEnd(b, e, r, lease); err != nil {
		return err
	}
	if err := t.releaseTurn(b); err != nil {
		return err
	}
	if b.Answers {
		m := &store.Message{Kind: store.MessageChild, From: b.ID, State: e.state}
		if e.state == store.Completed {
			m.Data, m.Codec = e.result, e.codec
		} else {
			m.Error, m.Reason = e.err, e.reason
		}
		if err := t.answer(b.Parent, m); err != nil {
			return err
		}
	}
	if e.children || e.taken || r == nil { // the run itself knows whether there may be any
		return t.closeLater(b.ID)
	}
	return nil
}

// refuse answers an outcome whose lease is not live: it is lost, unless the outcome is repeated and had been applied. One that leaves no
// attempt is known by the lease number that it left with the body.
func (t *tx) refuse(o *store.Outcome) error {
	o.Err = store.LostLease(o.Lease.Job)
	if !o.Repeat {
		return nil
	}
	final, known, err := t.endedAs(o.Lease)
	if err == nil && !known && !o.State.Finished() {
		var last int64
		if last, err = t.lastLease(o.Lease.Job); last >= o.Lease.Number {
			final = o.State
		}
	}
	if err == nil && final != 0 {
		o.Final, o.Err = final, nil
	}
	return err
}

// lastLease returns the lease number of the last run of a job that its body knows of; 0 if there is none.
func (t *tx) lastLease(id store.ID) (int64, error) {
	s := t.stmt("job_lease")
	bindID(s, id)
	found, err := s.next()
	if err != nil || !found {
		return 0, err
	}
	defer s.done()
	return s.readInt(), nil
}

// endedAs returns the state to which the run of a lease led, or 0 if it did not end itself. known: the run has left a trace of how
// it ended.
func (t *tx) endedAs(l store.Lease) (state store.State, known bool, err error) {
	s := t.stmt("attempt_outcome")
	bindID(s, l.Job)
	s.bindInt(l.Number)
	found, err := s.next()
	if err != nil {
		return 0, false, err
	}
	if found {
		outcome, taken, node := store.State(s.readInt()), s.readInt() != 0, s.readInt()
		s.done()
		if taken || node != l.Node {
			return 0, true, nil
		}
		return outcome, true, nil
	}
	s = t.stmt("finished")
	bindID(s, l.Job)
	found, err = s.next()
	if err != nil || !found {
		return 0, false, err
	}
	defer s.done()
	state, _, lease, node := store.State(s.readInt()), s.readInt(), readOptInt(s), readOptInt(s)
	if state != store.Completed || lease != l.Number || node != l.Node {
		return 0, false, nil
	}
	return state, true, nil
}
