package model

import (
	"context"
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
	keep := map[State]time.Duration{
		store.Completed: params.Completed, store.Failed: params.Failed, store.Cancelled: params.Cancelled,
	}
	var retained store.Retained
	for _, j := range s.selected(func(j *job) bool {
		return keep[j.state] > 0 && now.Sub(j.finishedAt) >= keep[j.state] && !s.isKept(j.ID) && !s.isNeeded(j)
	}) {
		if params.Limit > 0 && retained.Jobs == params.Limit {
			retained.More = true
			break
		}
		s.remove(j)
		retained.Jobs++
	}
	for id, b := range s.batches {
		if params.Completed > 0 && !b.DoneAt.IsZero() && now.Sub(b.DoneAt) >= params.Completed {
			delete(s.batches, id)
		}
	}
	s.forgetChanges(params.Feed, now)
	s.forgetKeys(now)
	s.forgetNodes(now)
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
