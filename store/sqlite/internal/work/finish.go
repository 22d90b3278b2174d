package work

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/edges"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/keys"
)

// applyOutcome ends the run of an outcome and sets its result.
func applyOutcome(t *core.Tx, o *store.Outcome) error {
	o.Final, o.Due, o.Err = 0, time.Time{}, nil
	r, err := t.Record(core.RecordName{Node: o.Lease.Node, Seq: o.Lease.Claim})
	if err != nil {
		return err
	}
	if !r.Holds(o.Lease) {
		if err := writeSuccesses(t); err != nil { // it may repeat one of them
			return err
		}
		return recognise(t, o)
	}
	if o.Err = o.Check(); o.Err != nil {
		return nil //nolint:nilerr // it is the outcome's own
	}
	r.Finish(o.Lease.Slot)
	if err := writeMeta(t, o.Lease.Job, o.Meta); err != nil {
		return err
	}
	if o.State == store.Completed && !o.HasUnique && !o.HasOrdering {
		o.Final = store.Completed
		return complete(t, o, r)
	}
	if err := writeSuccesses(t); err != nil { // what follows may look for them
		return err
	}
	b, found, err := t.Body(o.Lease.Job)
	if err != nil || !found {
		return db.Unexpected("the body of a running job", err)
	}
	e := endingOf(t, o)
	if o.KeepsPlace {
		e.RunAt = b.RunMicros
	}
	o.Final, _, err = EndRun(t, b, r, o.Lease, e)
	if e.due != 0 {
		o.Due = db.TimeOf(e.due)
	}
	return err
}

// complete ends a job well that holds no keys. If it has no children and successors and answers no
// parent its finished row is all there is to write, and is only planned. The body is not read, but
// for the parent if the outcome does not say which it is.
func complete(t *core.Tx, o *store.Outcome, r *core.ClaimRecord) error {
	if !o.HasChildren && !o.Answers && !o.HasSuccessors {
		return planSuccess(t, core.Success{Outcome: o, Record: r})
	}
	if err := writeSuccesses(t); err != nil { // the parent's may be one of them
		return err
	}
	id, e := o.Lease.Job, plainEnding(o)
	if err := insertFinished(t, id, e, r, o.Lease.Number); err != nil {
		return err
	}
	if o.HasChildren {
		if err := closeLater(t, id); err != nil {
			return err
		}
	}
	if o.HasSuccessors {
		if err := edges.Check(t, id); err != nil {
			return err
		}
	}
	if !o.Answers {
		return nil
	}
	parent, err := parentOf(t, o)
	if err != nil {
		return err
	}
	return answer(t, parent, id, e)
}

// parentOf returns the parent that the job of an outcome answers. It is looked up where the outcome
// does not say.
func parentOf(t *core.Tx, o *store.Outcome) (store.ID, error) {
	if o.Parent != (store.ID{}) {
		return o.Parent, nil
	}
	s := t.Stmt("job_parent")
	db.BindID(s, o.Lease.Job)
	found, err := s.Next()
	if err != nil || !found {
		return store.ID{}, db.Unexpected("the body of a running job", err)
	}
	defer s.Done()
	return db.ReadID(s), nil
}

// endingOf returns what an outcome asks for.
func endingOf(t *core.Tx, o *store.Outcome) *Ending {
	e := &Ending{
		State: o.State, Reason: o.Reason, err: o.Error, trace: o.Trace, result: o.Result, codec: o.Codec, startedAt: o.StartedAt,
		again: o.Continue, version: o.Version, Durable: o.Durable || o.Continue != nil, children: o.HasChildren,
		CancelSeen: o.CancelSeen,
	}
	switch o.State {
	case store.Cancelled:
		e.Reason = store.ReasonCancelled
	case store.Failed:
		e.fingerprint = o.Fingerprint
	case store.Available:
		e.RunAt = t.Now
	case store.Retryable, store.Scheduled:
		if e.RunAt = t.Now + o.Delay.Microseconds(); !o.RunAt.IsZero() {
			e.RunAt = o.RunAt.UnixMicro()
		}
	case store.Waiting:
		e.wait = o.Wait
	default: // Completed says all itself
	}
	return e
}

// EndRun is the only way out of Running, but for the success of a plain job, which needs no body.
// The caller has marked the slot as done. It returns the state that the job is in then, and why.
// Whether the run is counted and recorded is told by the state that it asked for: a failure is,
// wherever the job goes instead; a run that parks or starts over leaves no attempt.
func EndRun(t *core.Tx, b *core.Body, r *core.ClaimRecord, l store.Lease, e *Ending) (store.State, store.Reason, error) {
	asked, err := RequestsOf(t, b.ID)
	if err != nil {
		return 0, "", err
	}
	recorded, counted := e.State != store.Waiting && e.again == nil, e.State == store.Retryable && !e.Uncounted
	if !e.State.Finished() {
		if err := applyRequests(t, b, e, asked); err != nil {
			return 0, "", err
		}
	}
	ended := e.State.Finished()
	b.LeaseNumber, b.ClaimedAt = l.Number, r.ClaimedAt
	b.Attempt++ // this one
	if e.State != store.Completed && (recorded || ended) {
		if err := insertAttempt(t, b, e, r, l); err != nil {
			return 0, "", err
		}
	}
	if ended {
		if err := forget(t, b.ID, asked); err != nil {
			return 0, "", err
		}
		return e.State, e.Reason, finish(t, b, e, r, l.Number)
	}
	if !counted {
		b.Attempt--
	}
	if asked.Pause != nil { // it was for this run
		if err := deletePauseRequest(t, b.ID); err != nil {
			return 0, "", err
		}
	}
	state, err := goOn(t, b, e)
	return state, e.Reason, err
}

// applyRequests changes how a run ends by what people asked of the job meanwhile, by its deadline,
// and by what has arrived for it.
func applyRequests(t *core.Tx, b *core.Body, e *Ending, asked Requests) error {
	held := e.State == store.Waiting && e.wait.Held
	verdict := store.Ending{
		State: e.State, Held: held, Contradicts: held && e.Reason == store.ReasonNondeterminism, Durable: e.Durable,
		CancelSeen: e.CancelSeen, RunAt: db.TimeOf(e.RunAt),
	}.Meet(store.Asked{
		Cancel: asked.Cancel != nil, Pause: asked.Pause != nil, Deadline: b.Options.Deadline, Closing: b.Closing,
	})
	e.State = verdict.State
	switch verdict.Cause {
	case store.EndsByRequest:
		e.Reason, e.err = store.ReasonCancelled, asked.Cancel.reason
	case store.EndsByDeadline:
		e.Reason = store.ReasonDeadline
	default: // as the run says
	}
	switch verdict.Due {
	case store.DueNow:
		e.RunAt = t.Now
	case store.DueAtDeadline:
		e.RunAt = b.Options.Deadline.UnixMicro()
	default: // as the run says
	}
	if verdict.Hold {
		e.pause = asked.Pause
	}
	if e.State != store.Waiting || held {
		return nil
	}
	arrived, err := arrived(t, b.ID, e.wait)
	if arrived {
		e.State, e.RunAt = store.Available, t.Now
	}
	return err
}

// goOn puts a job back whose run has ended without finishing it, and returns the state that it is
// in then.
func goOn(t *core.Tx, b *core.Body, e *Ending) (store.State, error) {
	if err := bind(t, b, e.version); err != nil {
		return 0, err
	}
	if e.again != nil {
		if err := continueAsNew(t, b, e.again); err != nil {
			return 0, err
		}
	}
	switch {
	case e.pause != nil:
		return store.Waiting, holdJob(t, b, e)
	case e.State == store.Waiting:
		return store.Waiting, park(t, b, e)
	}
	if err := keys.ReleaseUnique(t, &b.Job, e.State); err != nil {
		return 0, err
	}
	if err := t.PutBack(b, e.RunAt); err != nil {
		return 0, err
	}
	if e.State == store.Available {
		return e.State, t.MakeAvailable(b.Pointer())
	}
	e.due = e.RunAt
	return e.State, t.DeferUntil(b.Pointer(), e.State)
}

// bind gives a job to the nodes that claim a version of its kind.
func bind(t *core.Tx, b *core.Body, version string) (err error) {
	if version == "" || version == b.Version {
		return nil
	}
	name := b.Lane.LaneName
	name.Kind = store.LaneName{Kind: b.Kind, Limit: b.Lane.Limit, Shard: b.Lane.Shard, Version: version}.String()
	if b.Lane, err = t.Lane(name); err != nil {
		return err
	}
	b.Lane.Describe(&b.Job)
	return nil
}

// finish ends a job whose pointer is gone, with all that its end brings with it. r is nil if it was
// not running.
func finish(t *core.Tx, b *core.Body, e *Ending, r *core.ClaimRecord, lease int64) error {
	if err := keys.ReleaseUnique(t, &b.Job, e.State); err != nil {
		return err
	}
	if err := insertEnd(t, b, e, r, lease); err != nil {
		return err
	}
	if !b.KeepsTurn(e.State) {
		if err := t.ReleaseTurn(b); err != nil {
			return err
		}
	}
	if b.Answers {
		if err := answer(t, b.Parent, b.ID, e); err != nil {
			return err
		}
	}
	if b.Successors {
		if err := edges.Check(t, b.ID); err != nil {
			return err
		}
	}
	if e.children || e.Taken || r == nil { // the run itself knows whether there may be any
		return closeLater(t, b.ID)
	}
	return nil
}

// recognise answers an outcome whose lease is not live: it is lost, unless the outcome is repeated
// and was applied before. One that leaves no attempt is known by the lease number that it left with
// the body.
func recognise(t *core.Tx, o *store.Outcome) error {
	o.Err = store.LostLease(o.Lease.Job)
	if !o.Repeat {
		return nil
	}
	final, known, err := endedAs(t, o.Lease)
	if err == nil && !known && !o.State.Finished() {
		var last int64
		if last, err = lastLease(t, o.Lease.Job); last >= o.Lease.Number {
			final = o.State
		}
	}
	if err == nil && final != 0 {
		o.Final, o.Err = final, nil
	}
	return err
}

// lastLease returns the lease number of the last run of a job that its body knows of; 0 if there is
// none.
func lastLease(t *core.Tx, id store.ID) (int64, error) {
	s := t.Stmt("job_lease")
	db.BindID(s, id)
	found, err := s.Next()
	if err != nil || !found {
		return 0, err
	}
	defer s.Done()
	return s.ReadInt(), nil
}

// endedAs returns the state to which the run of a lease led, or 0 if it did not end itself. known:
// the run has left a trace of how it ended.
func endedAs(t *core.Tx, l store.Lease) (state store.State, known bool, err error) {
	s := t.Stmt("attempt_outcome")
	db.BindID(s, l.Job)
	s.BindInt(l.Number)
	found, err := s.Next()
	if err != nil {
		return 0, false, err
	}
	if found {
		outcome, taken, node := store.State(s.ReadInt()), s.ReadInt() != 0, s.ReadInt()
		s.Done()
		if taken || node != l.Node {
			return 0, true, nil
		}
		return outcome, true, nil
	}
	s = t.Stmt("finished")
	db.BindID(s, l.Job)
	found, err = s.Next()
	if err != nil || !found {
		return 0, false, err
	}
	defer s.Done()
	state, _, lease, node := store.State(s.ReadInt()), s.ReadInt(), db.ReadOptInt(s), db.ReadOptInt(s)
	if state != store.Completed || lease != l.Number || node != l.Node {
		return 0, false, nil
	}
	return state, true, nil
}
