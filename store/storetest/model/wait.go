package model

import (
	"bytes"
	"context"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// waiting is how a job is parked.
type waiting struct {
	store.Wait
	since  time.Time
	due    time.Time // zero: no time wakes it
	reason store.Reason
	err    string

	// What a held job becomes when it is resumed.
	was      State
	wasRunAt time.Time
}

// pauseRequest is what somebody said who asked to pause a running job.
type pauseRequest struct{ reason string }

func (w *waiting) info() *store.WaitInfo {
	if w == nil {
		return nil
	}
	info := &store.WaitInfo{Since: w.since, Until: w.Until, Held: w.Held, For: bytes.Clone(w.For)}
	if w.Held {
		info.Until, info.Reason, info.Error = time.Time{}, w.reason, w.err
	}
	return info
}

func copyOfWait(w *store.Wait) *store.Wait {
	copied := *w
	copied.For = bytes.Clone(w.For)
	copied.Until = w.Until.Truncate(time.Microsecond)
	return &copied
}

// awaited reports whether a message has come that a run which parks would be woken by.
func (j *job) awaited(wait *store.Wait) bool {
	for _, m := range j.inbox {
		if wait.Wakes(&m.Message) {
			return true
		}
	}
	return false
}

// park makes a job wait, until its deadline at the latest, unless it is held.
func (s *Store) park(j *job, wait *store.Wait, reason store.Reason, text string, now time.Time) {
	j.wait = &waiting{Wait: *wait, since: now, reason: reason, err: text, was: store.Available}
	if !wait.Held {
		j.wait.due = wait.Until
		if d := j.deadline(); !d.IsZero() && (wait.Until.IsZero() || d.Before(wait.Until)) {
			j.wait.due = d
		}
		j.RunAt = j.wait.due
	}
	s.enter(j, store.Waiting)
}

// hold makes a job wait for a person, who will find it in the state in which it would be otherwise.
func (s *Store) hold(j *job, was State, runAt time.Time, asked *pauseRequest, now time.Time) {
	j.wait = &waiting{
		Wait: store.Wait{Held: true}, since: now, reason: store.ReasonPaused, err: asked.reason, was: was, wasRunAt: runAt,
	}
	s.enter(j, store.Waiting)
}

// held reports whether nothing but a person lets the job go on.
func (j *job) held() bool { return j.state == store.Waiting && j.wait.Held }

// PauseJobs implements store.Operators.
func (s *Store) PauseJobs(ctx context.Context, params store.PauseJobsParams) ([]store.PauseResult, error) {
	now, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var results []store.PauseResult
	for _, id := range params.Jobs {
		result := store.PauseResult{Job: id}
		j := s.jobs[id]
		if j != nil && !j.state.Finished() && j.pause == nil && !j.held() {
			j.act(store.ActionPause, params.Actor, params.Reason, now)
		}
		switch {
		case j == nil:
			result.Err = store.NoJob(id)
		case j.state.Finished():
			result.Err = store.JobIs(id, j.state)
		case j.state == store.Running:
			if j.pause == nil {
				j.pause = &pauseRequest{params.Reason}
			}
		case j.held():
		case j.state == store.Waiting:
			s.hold(j, store.Available, time.Time{}, &pauseRequest{params.Reason}, now)
		default:
			s.hold(j, j.state, j.RunAt, &pauseRequest{params.Reason}, now)
		}
		if j != nil {
			result.State = j.state
		}
		results = append(results, result)
	}
	return results, nil
}

// Resume implements store.Operators.
func (s *Store) Resume(ctx context.Context, params store.ResumeParams) (State, error) {
	now, err := s.begin(ctx)
	if err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	j := s.jobs[params.Job]
	if j == nil {
		return 0, store.NoJob(params.Job)
	}
	if j.state == store.Running && j.pause != nil {
		j.pause = nil
		j.act(store.ActionResume, params.Actor, params.Reason, now)
		return store.Running, nil
	}
	held := j.held()
	if !held && j.state != store.Failed && j.state != store.Cancelled {
		return 0, store.JobIs(j.ID, j.state)
	}
	if params.Expect >= 0 && params.Expect != j.lastEntry() {
		return 0, store.JournalMoved(j.ID, j.lastEntry())
	}
	switch {
	case !held:
		if err := s.restart(j, now); err != nil {
			return 0, err
		}
	case j.wait.was != store.Available && j.wait.wasRunAt.After(now):
		j.RunAt = j.wait.wasRunAt
		s.enter(j, j.wait.was)
	default:
		j.RunAt = now
		s.enter(j, store.Available)
	}
	if params.Keep >= 0 && params.Keep < j.lastEntry() {
		keep := params.Keep
		if j.journal[0].Kind == store.EntryContinued {
			keep = max(keep, j.journal[0].Seq)
		}
		j.journal = j.upTo(keep)
		j.Closing = j.Closing && j.decided <= params.Keep
	}
	j.act(store.ActionResume, params.Actor, params.Reason, now)
	return j.state, nil
}
