package sqlite

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
)

// PauseJobs implements store.Operators.
func (v workVerbs) PauseJobs(ctx context.Context, params store.PauseJobsParams) ([]store.Result, error) {
	var results []store.Result
	err := v.d.write(ctx, "pause jobs", func(t *tx) (err error) {
		results, err = t.eachOf(params.Namespace, params.Jobs, func(r *store.Result) error { return t.pauseJob(r, params) })
		return err
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}

// pauseJob sets the result; an error ends the transaction.
func (t *tx) pauseJob(result *store.Result, params store.PauseJobsParams) error {
	b, found, err := t.body(result.Job)
	if err != nil {
		return err
	}
	if !found {
		result.Err = store.NoJob(result.Job)
		return nil
	}
	f, finished, err := t.finished(b.ID)
	if err != nil {
		return err
	}
	if finished {
		result.State = f.state
		result.Err = store.JobIs(b.ID, f.state)
		return nil
	}
	state, blocked, err := t.pointerState(b)
	if err != nil {
		return err
	}
	if state == 0 {
		result.State = store.Running
		return t.requestPause(b.ID, params)
	}
	result.State = store.Waiting
	was := before{state, b.runAt}
	if state == store.Waiting {
		w, err := t.waiter(b)
		if err != nil || w.Held {
			return err
		}
		was = before{state: store.Available}
	}
	if err := t.deletePointer(b, state, blocked); err != nil {
		return err
	}
	about := storedWait{Since: t.now, Reason: store.ReasonPaused, Error: params.Reason}
	if err := t.putWaiting(b, never, store.Wait{Held: true}, was, about); err != nil {
		return err
	}
	return t.audit(params.Actor, "pause", &b.ID, 0, params.Reason)
}

// requestPause asks a running job to stop when it is put back. The first request stands.
func (t *tx) requestPause(id store.ID, params store.PauseJobsParams) error {
	s := t.stmt("pause_request_put")
	bindID(s, id)
	s.bindInt(t.now)
	bindOptText(s, params.Reason)
	bindOptText(s, params.Actor)
	asked, err := s.exec()
	if err != nil || asked == 0 {
		return err
	}
	return t.audit(params.Actor, "pause", &id, 0, params.Reason)
}

// Resume implements store.Operators.
func (v workVerbs) Resume(ctx context.Context, params store.ResumeParams) (store.State, error) {
	var state store.State
	err := v.d.write(ctx, "resume job "+params.Job.String(), func(t *tx) (err error) {
		if own, err := t.isIn(params.Namespace, params.Job); err != nil {
			return err
		} else if !own {
			return store.NoJob(params.Job)
		}
		if state, err = t.resume(params); err != nil {
			return err
		}
		return t.audit(params.Actor, "resume", &params.Job, 0, params.Reason)
	})
	if err != nil {
		return 0, err
	}
	return state, nil
}

func (t *tx) resume(params store.ResumeParams) (store.State, error) {
	b, found, err := t.body(params.Job)
	if err != nil {
		return 0, err
	}
	if !found {
		return 0, store.NoJob(params.Job)
	}
	f, finished, err := t.finished(b.ID)
	if err != nil {
		return 0, err
	}
	state, held := f.state, waiter{}
	if !finished {
		if state, held, err = t.heldState(b); err != nil {
			return 0, err
		}
		if state == 0 {
			return store.Running, t.resumeRunning(b)
		}
	}
	if !held.Held && state != store.Failed && state != store.Cancelled {
		return 0, store.JobIs(b.ID, state)
	}
	last, err := t.lastEntry(b.ID)
	if err != nil {
		return 0, err
	}
	if params.Expect >= 0 && params.Expect != last {
		return 0, store.JournalMoved(b.ID, last)
	}
	if params.Keep >= 0 {
		if err := t.trim(b.ID, params.Keep); err != nil {
			return 0, err
		}
		if held.Held && b.Closing && b.closing > params.Keep {
			if err := t.reopenEnd(b); err != nil {
				return 0, err
			}
		}
	}
	if held.Held {
		return t.resumeHeld(b, held)
	}
	return store.Available, t.resumeFinished(b, f)
}

// heldState returns the state of a job that is not finished, 0 if it runs, and how it waits.
func (t *tx) heldState(b *body) (state store.State, w waiter, err error) {
	if state, _, err = t.pointerState(b); err == nil && state == store.Waiting {
		w, err = t.waiter(b)
	}
	return state, w, err
}

// resumeFinished lets a job begin its attempts again that failed or was cancelled.
func (t *tx) resumeFinished(b *body, f finished) error {
	if err := t.reopen(b, f); err != nil {
		return err
	}
	if err := t.putBack(b, t.now); err != nil {
		return err
	}
	return t.makeAvailable(b.pointer())
}

// resumeRunning takes back the request to pause a job that runs.
func (t *tx) resumeRunning(b *body) error {
	asked, err := t.requests(b.ID)
	if err != nil {
		return err
	}
	if asked.pause == nil {
		return store.JobIs(b.ID, store.Running)
	}
	return t.deletePauseRequest(b.ID)
}

// resumeHeld makes a job what it was before it was held, or available.
func (t *tx) resumeHeld(b *body, w waiter) (store.State, error) {
	if err := t.deletePointer(b, store.Waiting, false); err != nil {
		return 0, err
	}
	state, due := store.Available, t.now
	if w.was.state != store.Available && w.was.due > t.now {
		state, due = w.was.state, w.was.due
	}
	if err := t.enter(&b.Job, state); err != nil {
		return 0, err
	}
	if err := t.putBack(b, due); err != nil {
		return 0, err
	}
	if state == store.Available {
		return state, t.makeAvailable(b.pointer())
	}
	return state, t.deferUntil(b.pointer(), state)
}
