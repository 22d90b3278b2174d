package model

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Retain implements store.Maintenance. What people did to a job goes with the job, and what they
// did to a queue is not kept here.
func (s *Store) Retain(ctx context.Context, params store.Retention) (store.Retained, error) {
	now, err := s.begin(ctx)
	if err != nil {
		return store.Retained{}, err
	}
	defer s.mu.Unlock()
	var retained store.Retained
	for _, j := range s.selected(func(j *job) bool { return !params.Archived && s.isExpired(j, params, now) }) {
		if params.Limit > 0 && retained.Jobs == params.Limit {
			retained.More = true
			break
		}
		s.countRemoved(j, now)
		s.remove(j)
		retained.Jobs++
	}
	for id, b := range s.batches {
		if params.Completed > 0 && !b.DoneAt.IsZero() && now.Sub(b.DoneAt) >= params.Completed {
			delete(s.batches, id)
		}
	}
	s.forgetChanges(params.Feed, now)
	s.forgetRemoved(now)
	s.requests.Forget(now)
	s.forgetAPIKeys(now)
	s.forgetKeys(now)
	s.forgetNodes(now)
	s.forgetBuilds(params, now)
	if params.Stubs > 0 {
		maps.DeleteFunc(s.stubs, func(_ store.ID, b store.Stub) bool { return now.Sub(b.ArchivedAt) >= params.Stubs })
	}
	for _, j := range s.jobs {
		j.forgetRefused(now.Add(-store.RefusedKept))
	}
	for name, q := range s.queues {
		if !s.isPaused(name, now) && q.Attempts == (store.QueueAttempts{}) && now.Sub(q.used) >= queueKept && !s.isUsed(name) {
			delete(s.queues, name)
		}
	}
	return retained, nil
}

// removedOf is what jobs that retention has removed are counted by.
type removedOf struct {
	day   time.Time
	queue queueName
	state State
}

const day = 24 * time.Hour

// isExpired reports whether retention removes a job.
func (s *Store) isExpired(j *job, params store.Retention, now time.Time) bool {
	if !j.state.Finished() {
		return false
	}
	keep := s.keepOf(j, params)
	return keep > 0 && now.Sub(j.finishedAt) >= keep && !s.isKept(j.ID) && !s.isNeeded(j)
}

// isNeeded reports whether retention leaves a finished job alone, however old it is: others are to
// hear of its end first, or wait for its turn.
func (s *Store) isNeeded(j *job) bool { return s.isUntold(j.ID) || s.keepsTurn(j) || s.isUncalled(j) }

// IsNeeded is that, for a property test that follows a store.
func (s *Store) IsNeeded(id store.ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.isNeeded(s.jobs[id])
}

// Forget removes finished jobs at once. A property test uses it to follow a store that kept them
// longer than this one would have, which the contract allows.
func (s *Store) Forget(ids ...store.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		if j := s.jobs[id]; j != nil && j.state.Finished() {
			s.remove(j)
		}
	}
}

// Unlisted returns the queues of a namespace that were deleted and are not listed.
func (s *Store) Unlisted(namespace string) (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.queues {
		if q.Namespace == namespace && !s.isListed(q) {
			names = append(names, q.Name)
		}
	}
	slices.Sort(names)
	return names
}

// ForgetQueue removes a queue at once, for the same use, and reports whether it may be: it is not
// paused, and has no job.
func (s *Store) ForgetQueue(namespace, name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := queueName{namespace, name}
	if s.queues[at] == nil || s.isPaused(at, s.clock()) || s.isUsed(at) {
		return false
	}
	delete(s.queues, at)
	return true
}

// keepOf returns for how long a finished job is kept; 0: for ever.
func (s *Store) keepOf(j *job, base store.Retention) time.Duration {
	if q := s.queues[j.queueName()]; q != nil {
		if c, known := s.classes[q.Attempts.Retention]; known {
			base = c.In(base)
		}
	}
	return base.Of(j.state)
}

// KeepOf is that, for a property test that follows a store.
func (s *Store) KeepOf(id store.ID, base store.Retention) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keepOf(s.jobs[id], base)
}

// countRemoved counts a job that retention removes.
func (s *Store) countRemoved(j *job, now time.Time) *removedJobs {
	of := removedOf{now.UTC().Truncate(day), j.queueName(), j.state}
	if s.removed[of] == nil {
		s.removed[of] = &removedJobs{}
	}
	s.removed[of].jobs++
	return s.removed[of]
}

// removedJobs are how many jobs were removed, and how many of them have left a stub.
type removedJobs struct{ jobs, stubs int64 }

// forgetRemoved forgets what was removed long ago.
func (s *Store) forgetRemoved(now time.Time) {
	first := now.Add(-store.RemovedKept).UTC().Truncate(day)
	maps.DeleteFunc(s.removed, func(of removedOf, _ *removedJobs) bool { return of.day.Before(first) })
}
