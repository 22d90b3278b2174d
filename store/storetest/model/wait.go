package model

import (
	"context"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/audited"
	"github.com/holdfastdev/holdfast/store/internal/refusal"
)

// PauseJobs implements store.Operators.
func (s *Store) PauseJobs(ctx context.Context, params store.PauseJobsParams) ([]store.Result, []store.Wake, error) {
	now, err := s.begin(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer s.mu.Unlock()
	var results []store.Result
	for _, id := range params.Jobs {
		result := store.Result{Job: id}
		j := s.in(params.Namespace, id)
		if j != nil && !j.state.Finished() && j.pause == nil && (!j.held() || j.depends()) {
			was := j.state
			if s.isKept(id) {
				was = 0
			}
			s.act(j, audited.Paused(&params, was), now)
		}
		switch {
		case j == nil:
			result.Err = store.NoJob(id)
		case j.state.Finished():
			result.Err = store.JobIs(id, j.state)
		case j.state == store.Running, s.isKept(id):
			if j.pause == nil {
				j.pause = &pauseRequest{params.Reason}
			}
		case j.depends() && !s.isKept(id):
			j.wait.reason, j.wait.err, j.wait.since = store.ReasonPaused, params.Reason, now
		case j.held():
		case j.state == store.Waiting:
			was := &j.wait.Wait
			s.hold(j, store.Available, time.Time{}, &pauseRequest{params.Reason}, now)
			j.wait.staysHandedOver(was)
		default:
			s.hold(j, j.state, j.RunAt, &pauseRequest{params.Reason}, now)
		}
		if j != nil {
			result.State = j.state
		}
		if s.isKept(id) && result.Err == nil {
			result.State = store.Running
		}
		results = append(results, result)
	}
	return results, s.woken, nil
}

// Resume implements store.Operators.
func (s *Store) Resume(ctx context.Context, params store.ResumeParams) (State, []store.Wake, error) {
	now, err := s.begin(ctx)
	if err != nil {
		return 0, nil, err
	}
	defer s.mu.Unlock()
	j := s.in(params.Namespace, params.Job)
	if j == nil {
		return 0, nil, store.NoJob(params.Job)
	}
	if s.isKept(j.ID) {
		return 0, nil, store.ErrBusy
	}
	if params.Continue != nil {
		return s.startOver(j, &params, now)
	}
	if j.state == store.Running && j.pause != nil {
		j.pause = nil
		s.act(j, audited.Resumed(&params, store.Running, false, store.Running), now)
		return store.Running, nil, nil
	}
	held, was, paused := j.held(), j.state, j.held() && !j.depends()
	if !held && j.state != store.Failed && j.state != store.Cancelled {
		return 0, nil, store.JobIs(j.ID, j.state)
	}
	if params.Expect >= 0 && params.Expect != j.lastEntry() {
		return 0, nil, refusal.JournalMoved(j.ID, j.lastEntry())
	}
	switch {
	case !held:
		if err := s.restart(j, now); err != nil {
			return 0, nil, err
		}
	case len(s.after[j.ID]) > 0 && !j.depends(): // it was paused while it waited for them
		j.wait.reason, j.wait.err, j.wait.since = store.ReasonDependency, "", now
	default:
		s.letGo(j, now)
	}
	if params.Keep >= 0 {
		j.cut(params.Keep)
	}
	s.act(j, audited.Resumed(&params, was, paused, j.state), now)
	return j.state, s.woken, nil
}

// startOver lets a person make a job continue as new.
func (s *Store) startOver(j *job, params *store.ResumeParams, now time.Time) (State, []store.Wake, error) {
	switch {
	case j.state != store.Waiting && j.state != store.Failed && j.state != store.Cancelled:
		return 0, nil, store.JobIs(j.ID, j.state)
	case j.state == store.Waiting && j.Closing:
		return 0, nil, refusal.JobIsEnding(j.ID)
	case params.Expect >= 0 && params.Expect != j.lastEntry():
		return 0, nil, refusal.JournalMoved(j.ID, j.lastEntry())
	}
	was, paused := j.state, j.held() && !j.depends()
	if j.state.Finished() {
		if err := s.restart(j, now); err != nil {
			return 0, nil, err
		}
	} else {
		j.RunAt = now
		s.enter(j, store.Available)
	}
	s.beginAnew(j, params.Continue, now)
	s.act(j, audited.Resumed(params, was, paused, j.state), now)
	return j.state, s.woken, nil
}

// cut removes the entries of a journal after one, but for that with which its generation begins.
func (j *job) cut(last int64) {
	if last >= j.lastEntry() {
		return
	}
	keep := last
	if j.journal[0].Kind == store.EntryContinued {
		keep = max(keep, j.journal[0].Seq)
	}
	j.forgetAnswered(keep)
	j.journal = j.upTo(keep)
	j.Closing = j.Closing && j.decided <= last
}
