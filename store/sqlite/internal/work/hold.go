package work

import (
	"cmp"
	"context"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/audited"
	"github.com/holdfastdev/holdfast/store/internal/refusal"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/keys"
)

// PauseJobs implements store.Operators.
func (v Verbs) PauseJobs(ctx context.Context, params store.PauseJobsParams) ([]store.Result, []store.Wake, error) {
	var results []store.Result
	wakes, err := v.d.Move(ctx, "pause jobs", nil, func(t *core.Tx) (err error) {
		results, err = t.EachOf(params.Namespace, params.Jobs, func(r *store.Result) error { return pauseJob(t, r, params) })
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return results, wakes, nil
}

// pauseJob sets the result; an error ends the transaction.
func pauseJob(t *core.Tx, result *store.Result, params store.PauseJobsParams) error {
	b, found, err := t.Body(result.Job)
	if err != nil {
		return err
	}
	if !found {
		result.Err = store.NoJob(result.Job)
		return nil
	}
	f, finished, err := t.Finished(b.ID)
	if err != nil {
		return err
	}
	if finished {
		result.State = f.State
		result.Err = store.JobIs(b.ID, f.State)
		return nil
	}
	state, blocked, err := t.PointerState(b)
	if err != nil {
		return err
	}
	if state == 0 {
		result.State = store.Running
		return requestPause(t, b.ID, params)
	}
	result.State = store.Waiting
	entry := audited.Paused(&params, state)
	was, held := before{state, b.RunMicros}, store.Wait{Held: true}
	if state == store.Waiting {
		w, err := WaiterOf(t, b)
		if err == nil && w.depends() {
			return pauseDependent(t, b, params)
		}
		if err != nil || w.Held {
			return err
		}
		was = before{state: store.Available}
		held.HandedOver, held.Compensates = w.HandedOver, w.compensates
	}
	if err := t.DeletePointer(b, state, blocked); err != nil {
		return err
	}
	about := storedWait{Since: t.Now, Reason: store.ReasonPaused, Error: params.Reason}
	if err := putWaiting(t, b, db.Never, held, was, about); err != nil {
		return err
	}
	return core.AuditJob(t, b.ID, entry)
}

// requestPause asks a running job to stop when it is put back. The first request stands.
func requestPause(t *core.Tx, id store.ID, params store.PauseJobsParams) error {
	s := t.Stmt("pause_request_put")
	db.BindID(s, id)
	s.BindInt(t.Now)
	db.BindOptText(s, params.Reason)
	db.BindOptText(s, params.Actor)
	asked, err := s.Exec()
	if err != nil || asked == 0 {
		return err
	}
	return core.AuditJob(t, id, audited.Paused(&params, store.Running))
}

// Resume implements store.Operators.
func (v Verbs) Resume(ctx context.Context, params store.ResumeParams) (store.State, []store.Wake, error) {
	var state store.State
	wakes, err := v.d.Move(ctx, "resume job "+params.Job.String(), nil, func(t *core.Tx) (err error) {
		if own, err := t.IsIn(params.Namespace, params.Job); err != nil {
			return err
		} else if !own {
			return store.NoJob(params.Job)
		}
		was, err := lookAtResumed(t, params.Job)
		if err != nil {
			return err
		}
		if state, err = resume(t, params, was); err != nil {
			return err
		}
		return core.AuditJob(t, params.Job, audited.Resumed(&params, cmp.Or(was.state, store.Running), was.Held && !was.depends(), state))
	})
	if err != nil {
		return 0, nil, err
	}
	return state, wakes, nil
}

// resumed is a job that is to go on, as it is before that.
type resumed struct {
	Waiter // of one that waits

	body  *core.Body
	state store.State // 0: it runs
	over  core.Finished
}

func lookAtResumed(t *core.Tx, id store.ID) (was resumed, err error) {
	b, found, err := t.Body(id)
	if err != nil {
		return was, err
	}
	if !found {
		return was, store.NoJob(id)
	}
	was.body = b
	over, finished, err := t.Finished(id)
	if was.over = over; err != nil || finished {
		was.state = over.State
		return was, err
	}
	was.state, was.Waiter, err = heldState(t, b)
	return was, err
}

func resume(t *core.Tx, params store.ResumeParams, was resumed) (store.State, error) {
	b, f, state, held := was.body, was.over, was.state, was.Waiter
	if state == 0 && params.Continue == nil {
		return store.Running, resumeRunning(t, b)
	}
	if params.Continue != nil {
		return store.Available, startOver(t, params, b, f, state)
	}
	if !held.Held && state != store.Failed && state != store.Cancelled {
		return 0, store.JobIs(b.ID, state)
	}
	last, err := LastEntry(t, b.ID)
	if err != nil {
		return 0, err
	}
	if params.Expect >= 0 && params.Expect != last {
		return 0, refusal.JournalMoved(b.ID, last)
	}
	if params.Keep >= 0 {
		if err := trim(t, b.ID, params.Keep); err != nil {
			return 0, err
		}
		if held.Held && b.Closing && b.Decided > params.Keep {
			if err := t.ReopenEnd(b); err != nil {
				return 0, err
			}
		}
	}
	if held.Held {
		return resumeHeld(t, b, held)
	}
	return store.Available, resumeFinished(t, b, f)
}

// startOver makes a job continue as new that is in that state, 0 if it runs.
func startOver(t *core.Tx, params store.ResumeParams, b *core.Body, f core.Finished, state store.State) error {
	switch state {
	case 0:
		return store.JobIs(b.ID, store.Running)
	case store.Waiting, store.Failed, store.Cancelled:
	default:
		return store.JobIs(b.ID, state)
	}
	if state == store.Waiting && b.Closing {
		return refusal.JobIsEnding(b.ID)
	}
	if last, err := LastEntry(t, b.ID); err != nil {
		return err
	} else if params.Expect >= 0 && params.Expect != last {
		return refusal.JournalMoved(b.ID, last)
	}
	if state == store.Waiting {
		if err := forgetEdges(t, b); err != nil {
			return err
		}
		if err := t.DeletePointer(b, store.Waiting, false); err != nil {
			return err
		}
		if err := keys.ReleaseUnique(t, &b.Job, store.Available); err != nil {
			return err
		}
	} else if err := reopen(t, b, f); err != nil {
		return err
	}
	if err := continueAsNew(t, b, params.Continue); err != nil {
		return err
	}
	if b.LeaseNumber == 0 { // it has never run
		b.Forked = true
		if err := t.WriteMarks(b); err != nil {
			return err
		}
	}
	if err := t.PutBack(b, t.Now); err != nil {
		return err
	}
	return t.MakeAvailable(b.Pointer())
}

// heldState returns the state of a job that is not finished, 0 if it runs, and how it waits.
func heldState(t *core.Tx, b *core.Body) (state store.State, w Waiter, err error) {
	if state, _, err = t.PointerState(b); err == nil && state == store.Waiting {
		w, err = WaiterOf(t, b)
	}
	return state, w, err
}

// resumeFinished lets a job begin its attempts again that failed or was cancelled.
func resumeFinished(t *core.Tx, b *core.Body, f core.Finished) error {
	if err := reopen(t, b, f); err != nil {
		return err
	}
	if err := t.PutBack(b, t.Now); err != nil {
		return err
	}
	return t.MakeAvailable(b.Pointer())
}

// Again lets a job run again that has failed.
func Again(t *core.Tx, id store.ID, again store.Again) error {
	b, found, err := t.Body(id)
	if err != nil {
		return err
	}
	if !found {
		return store.NoJob(id)
	}
	f, finished, err := t.Finished(id)
	if err != nil {
		return err
	}
	if state := f.State; state != store.Failed {
		if !finished {
			if state, _, err = t.PointerState(b); err == nil && state == 0 {
				state = store.Running
			}
		}
		if err != nil {
			return err
		}
		return store.JobIs(id, state)
	}
	last, err := LastEntry(t, id)
	if err != nil {
		return err
	}
	if again.Expect >= 0 && again.Expect != last {
		return refusal.JournalMoved(id, last)
	}
	if again.Keep >= 0 {
		if err := trim(t, id, again.Keep); err != nil {
			return err
		}
	}
	return resumeFinished(t, b, f)
}

// resumeRunning takes back the request to pause a job that runs.
func resumeRunning(t *core.Tx, b *core.Body) error {
	asked, err := RequestsOf(t, b.ID)
	if err != nil {
		return err
	}
	if asked.Pause == nil {
		return store.JobIs(b.ID, store.Running)
	}
	return deletePauseRequest(t, b.ID)
}

// resumeHeld makes a job what it was before it was held, or available.
func resumeHeld(t *core.Tx, b *core.Body, w Waiter) (store.State, error) {
	if b.LeaseNumber == 0 {
		if again, err := awaitAgain(t, b, w); again || err != nil {
			return store.Waiting, err
		}
	}
	if err := forgetEdges(t, b); err != nil {
		return 0, err
	}
	return letGo(t, b, w)
}

// letGo makes a held job what it was before, or available.
func letGo(t *core.Tx, b *core.Body, w Waiter) (store.State, error) {
	if err := t.DeletePointer(b, store.Waiting, false); err != nil {
		return 0, err
	}
	state, due := store.Available, t.Now
	if w.was.state != store.Available && w.was.due > t.Now {
		state, due = w.was.state, w.was.due
	}
	if err := keys.ReleaseUnique(t, &b.Job, state); err != nil {
		return 0, err
	}
	if err := t.PutBack(b, due); err != nil {
		return 0, err
	}
	if state == store.Available {
		return state, t.MakeAvailable(b.Pointer())
	}
	return state, t.DeferUntil(b.Pointer(), state)
}
