package simulate

import (
	"context"
	"errors"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/simulate/play"
)

// Cancel implements store.Operators.
func (w *witness) Cancel(ctx context.Context, p store.CancelParams) ([]store.Result, []store.Wake, error) {
	w.begin("Cancel")
	results, wakes, err := w.Store.Cancel(ctx, p)
	must("Cancel", err)
	for i, id := range p.Jobs {
		r, j := results[i], w.jobs[id]
		if j == nil {
			refused("to cancel no job", r.Err, store.ErrNotFound)
			continue
		}
		w.touched(j)
		if p.Terminate {
			w.terminate(j)
		} else {
			w.request(j)
		}
		if r.Err != nil || r.State != j.state {
			play.Brokenf("CancelArrives", "%v is %v, and told to be %v, %v", j, j.state, r.State, r.Err)
		}
	}
	w.look(ctx)
	return results, wakes, nil
}

// Retry implements store.Operators.
func (w *witness) Retry(ctx context.Context, p store.RetryParams) ([]store.Result, []store.Wake, error) {
	w.begin("Retry")
	results, wakes, err := w.Store.Retry(ctx, p)
	must("Retry", err)
	for i, id := range p.Jobs {
		r, j := results[i], w.jobs[id]
		if j == nil {
			refused("to retry no job", r.Err, store.ErrNotFound)
			continue
		}
		w.touched(j)
		switch j.state {
		case store.Available:
		case store.Scheduled, store.Retryable:
			w.ready(j)
		case store.Failed, store.Cancelled:
			if !w.sawRestart(j, r.Err) {
				continue
			}
		default:
			refused("to retry a job that is "+j.state.String(), r.Err, store.ErrConflict)
			continue
		}
		if r.Err != nil || r.State != j.state {
			play.Brokenf("FinishedIsFinal", "%v is retried, and told to be %v, %v", j, r.State, r.Err)
		}
	}
	w.look(ctx)
	return results, wakes, nil
}

// sawRestart notes that a finished job runs again, unless another one holds its unique key.
func (w *witness) sawRestart(j *job, err error) bool {
	if len(j.body.UniqueKey) > 0 {
		if holder := w.keyHolder(j.body.UniqueKey); holder != nil && holder != j {
			var conflict *store.UniqueError
			if !errors.As(err, &conflict) || conflict.Holder != holder.body.ID {
				play.Brokenf("Unique", "%v holds the key of %v, which is to run again: %v", holder, j, err)
			}
			return false
		}
	}
	w.restart(j)
	return true
}

// Pause implements store.Queues.
func (w *witness) Pause(ctx context.Context, p store.PauseParams) error {
	w.begin("Pause")
	must("Pause", w.Store.Pause(ctx, p))
	w.paused[p.Queue], w.queues[p.Queue] = p.Paused, true
	return nil
}

// PauseJobs implements store.Operators.
func (w *witness) PauseJobs(ctx context.Context, p store.PauseJobsParams) ([]store.Result, []store.Wake, error) {
	w.begin("PauseJobs")
	results, wakes, err := w.Store.PauseJobs(ctx, p)
	must("PauseJobs", err)
	for i, id := range p.Jobs {
		r, j := results[i], w.jobs[id]
		if j == nil {
			refused("to pause no job", r.Err, store.ErrNotFound)
			continue
		}
		w.touched(j)
		switch {
		case j.finished():
			refused("to pause a finished job", r.Err, store.ErrConflict)
			continue
		case j.running():
			j.pause = true
		case j.held():
		case j.state == store.Waiting:
			w.hold(j, store.Available, w.now)
		default:
			w.hold(j, j.state, j.body.RunAt)
		}
		if r.Err != nil || r.State != j.state {
			play.Brokenf("Contract", "%v is paused and %v, and told to be %v, %v", j, j.state, r.State, r.Err)
		}
	}
	w.look(ctx)
	return results, wakes, nil
}

// Resume implements store.Operators.
func (w *witness) Resume(ctx context.Context, p store.ResumeParams) (store.State, []store.Wake, error) {
	w.begin("Resume")
	state, wakes, err := w.Store.Resume(ctx, p)
	j := w.jobs[p.Job]
	if j == nil {
		refused("to resume no job", err, store.ErrNotFound)
		return state, wakes, err
	}
	w.touched(j)
	if !w.sawResume(j, p, err) {
		return state, wakes, err
	}
	if err != nil || state != j.state {
		play.Brokenf("Contract", "%v is resumed and %v, and told to be %v, %v", j, j.state, state, err)
	}
	w.look(ctx)
	return state, wakes, nil
}

// sawResume notes that a job goes on, if it does.
func (w *witness) sawResume(j *job, p store.ResumeParams, err error) bool {
	held := j.held()
	switch {
	case j.running() && j.pause:
		j.pause = false
		return true
	case !held && j.state != store.Failed && j.state != store.Cancelled:
		refused("to resume a job that is "+j.state.String(), err, store.ErrConflict)
		return false
	case p.Expect >= 0 && p.Expect != j.lastEntry():
		refused("to resume a job whose journal has grown", err, store.ErrConflict)
		return false
	case !held:
		if !w.sawRestart(j, err) {
			return false
		}
	case j.wait.was != store.Available && j.wait.wasRunAt.After(w.now):
		was := j.wait
		j.body.RunAt = was.wasRunAt
		w.enter(j, was.was)
	default:
		w.ready(j)
	}
	if p.Keep >= 0 && p.Keep < j.lastEntry() {
		keep := p.Keep
		if j.journal[0].Kind == store.EntryContinued {
			keep = max(keep, j.journal[0].Seq)
		}
		for len(j.journal) > 0 && j.lastEntry() > keep {
			j.journal = j.journal[:len(j.journal)-1]
		}
		j.body.Closing = j.body.Closing && j.decided <= p.Keep
	}
	return true
}

// Fork implements store.Operators.
func (w *witness) Fork(ctx context.Context, p store.ForkParams) ([]store.Wake, error) {
	w.begin("Fork")
	wakes, err := w.Store.Fork(ctx, p)
	from := w.jobs[p.From]
	switch {
	case from == nil:
		refused("to fork no job", err, store.ErrNotFound)
		return wakes, err
	case w.jobs[p.Job.ID] != nil:
		must("Fork", err)
		return wakes, nil
	case p.Next != nil:
		if next := from.entry(p.Keep + 1); next == nil || next.LeaseNumber != p.Next.LeaseNumber {
			refused("to fork what was rewritten", err, store.ErrConflict)
			return wakes, err
		}
	}
	must("Fork", err)
	runAt := p.Job.RunAt
	if runAt.IsZero() {
		runAt = w.now
	}
	j := w.add(p.Job, runAt)
	j.inherited = true
	for _, e := range from.journal {
		if e.Seq <= p.Keep {
			e.LeaseNumber = 0
			j.journal = append(j.journal, e)
		}
	}
	if len(j.journal) > 0 {
		for _, e := range from.earlier {
			e.LeaseNumber = 0
			j.earlier = append(j.earlier, e)
		}
	}
	for _, m := range from.inbox {
		if m.Kind != store.MessageSignal || j.received(m.Seq) {
			m.key = ""
			j.inbox = append(j.inbox, m)
		}
	}
	w.look(ctx)
	return wakes, nil
}
