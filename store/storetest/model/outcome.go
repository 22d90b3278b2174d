package model

import (
	"bytes"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/model/copyof"
)

// endRun applies an outcome and returns the state in which the job is then, and when it is due.
func (s *Store) endRun(o *store.Outcome, now time.Time) (final State, due time.Time, err error) {
	j := s.live(o.Lease)
	if j == nil {
		if known := s.jobs[o.Lease.Job]; known != nil && o.Repeat {
			if final, applied := known.endings[o.Lease]; applied {
				return final, due, nil
			}
		}
		return 0, due, store.LostLease(o.Lease.Job)
	}
	e, err := endingOf(o, j.RunAt, now)
	if err != nil {
		return 0, due, err
	}
	if held := s.holder(j.ID); held != nil && held.isAppending(j.ID) && o.State == store.Completed && !o.InTx {
		// A database may not look. Here it is a mistake of the engine that is found.
		return 0, due, fmt.Errorf("%w: the run appends in an open transaction, which its end does not say", store.ErrInvalid)
	}
	if s.isBusy(j, &e, now) {
		return 0, due, store.ErrBusy
	}
	s.say(j, o.Meta)
	s.end(j, e, now)
	j.endings[o.Lease] = j.state
	if !e.recorded() && !j.state.Finished() {
		j.endings[o.Lease] = o.State // a database has nothing from which it could know better
	}
	switch {
	case j.state == store.Waiting:
		due = j.wait.due
	case j.deferred():
		due = j.RunAt
	}
	return j.state, due, nil
}

// endingOf reads an outcome of a job with the given run time.
func endingOf(o *store.Outcome, runAt, now time.Time) (ending, error) {
	if err := o.Check(); err != nil {
		return ending{}, err
	}
	e := ending{
		state: o.State, reason: o.Reason, err: o.Error, trace: o.Trace,
		result: bytes.Clone(o.Result), codec: o.Codec, likeness: o.Fingerprint, startedAt: o.StartedAt.Truncate(time.Microsecond),
		anew: o.Continue, version: o.Version,
		durable: o.Durable, hasChildren: o.HasChildren, answers: o.Answers, cancelSeen: o.CancelSeen,
	}
	switch o.State {
	case store.Completed, store.Failed:
	case store.Cancelled:
		e.reason = store.ReasonCancelled
	case store.Available:
		if e.runAt = now; o.KeepsPlace {
			e.runAt = runAt
		}
	case store.Retryable, store.Scheduled:
		e.runAt = o.RunAt.Truncate(time.Microsecond)
		if o.RunAt.IsZero() {
			e.runAt = now.Add(o.Delay).Truncate(time.Microsecond)
		}
	case store.Waiting:
		e.wait, e.runAt = copyof.Wait(o.Wait), now
	case store.Running: // no run ends so; it was refused
	}
	return e, nil
}

// taken completes the ending of a run that does not report it itself, by what there is to see.
func (s *Store) taken(j *job, e ending) ending {
	e.durable, e.hasChildren, e.answers = j.durable(), s.hasChildren(j), j.Answers
	return e
}

// recorded reports whether the run becomes one of the job's attempts, if it does not end the job.
func (e *ending) recorded() bool { return e.state != store.Waiting && e.anew == nil }

// counted reports whether the run uses up an attempt, if it does not end the job.
func (e *ending) counted() bool { return e.state == store.Retryable && !e.uncounted }

// end is the only way out of Running.
func (s *Store) end(j *job, e ending, now time.Time) {
	lease := j.lease
	goal := s.goal(j, &e, now)
	if e.anew != nil {
		s.beginAnew(j, e.anew, now)
	}
	state := goal.state
	if goal.held {
		state = store.Waiting
	}
	if state != store.Completed && (e.recorded() || state.Finished()) {
		j.attempts = append(j.attempts, store.Attempt{
			Number: j.Attempt, LeaseNumber: j.LeaseNumber, Node: lease.Node,
			ClaimedAt: j.claimedAt, StartedAt: e.startedAt, EndedAt: now,
			Outcome: state, Reason: goal.reason, Error: goal.err, Trace: e.trace,
		})
	}
	j.endedBy, j.lease = lease, store.Lease{}
	if goal.state.Finished() {
		if goal.state == store.Completed {
			j.result, j.codec = e.result, e.codec
		}
		if e.state == store.Failed {
			j.likeness = e.likeness
		}
		j.startedAt = e.startedAt
		s.finish(j, goal.state, goal.reason, goal.err, now)
		if e.hasChildren {
			s.closed[j.ID] = true // whether or not there is one
		}
		if e.answers {
			s.answer(j, now)
		}
		return
	}
	if !e.counted() && e.anew == nil {
		j.Attempt--
	}
	if e.version != "" {
		j.Version = e.version
	}
	switch {
	case goal.held:
		s.hold(j, goal.state, goal.runAt, j.pause, now)
		j.wait.staysHandedOver(e.wait)
	case goal.state == store.Waiting:
		s.park(j, e.wait, e.reason, e.err, now)
	default:
		j.RunAt = goal.runAt
		s.enter(j, goal.state)
	}
	j.pause = nil
}

// goal is where a job goes when a run of it ends.
type goal struct {
	state  State
	reason store.Reason
	err    string
	runAt  time.Time
	held   bool // it would go there, but it was asked to pause
}

func (s *Store) goal(j *job, e *ending, now time.Time) goal {
	verdict := store.Ending{
		State: e.state, Held: e.isHeld(), Contradicts: e.isContradiction(), Durable: e.durable || e.anew != nil,
		CancelSeen: e.cancelSeen, RunAt: e.runAt,
	}.Meet(store.Asked{Cancel: j.cancel != nil, Pause: j.pause != nil, Deadline: j.Options.Deadline, Closing: j.Closing})
	g := goal{state: verdict.State, reason: e.reason, err: e.err, runAt: e.runAt, held: verdict.Hold}
	switch verdict.Cause {
	case store.EndsByRequest:
		g.reason, g.err = store.ReasonCancelled, j.cancel.Reason
	case store.EndsByDeadline:
		g.reason = store.ReasonDeadline
	default: // as the run says
	}
	switch verdict.Due {
	case store.DueNow:
		g.runAt = now
	case store.DueAtDeadline:
		g.runAt = j.Options.Deadline
	default: // as the run says
	}
	switch {
	case g.state == store.Completed:
		g.reason, g.err = "", ""
	case g.state == store.Waiting && (j.awaited(e.wait) || j.requested(e.wait)):
		g.state = store.Available
	}
	return g
}
