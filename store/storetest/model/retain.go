package model

import (
	"context"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// queueKept is how long a queue is listed that has no job.
const queueKept = 48 * time.Hour

// queue is one with the time since which nobody has needed it, if it has no job.
type queue struct {
	store.Queue
	used time.Time
}

// Retain implements store.Maintenance. What people did to a job goes with the job, and what they
// did to a queue is kept by nobody here.
func (s *Store) Retain(ctx context.Context, params store.RetainParams) (store.Retained, error) {
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
		return keep[j.state] > 0 && now.Sub(j.finishedAt) >= keep[j.state]
	}) {
		if params.Limit > 0 && retained.Jobs == params.Limit {
			retained.More = true
			break
		}
		s.remove(j)
		retained.Jobs++
	}
	for name, q := range s.queues {
		if q.PausedAt.IsZero() && now.Sub(q.used) >= queueKept && !s.isUsed(name) {
			delete(s.queues, name)
		}
	}
	return retained, nil
}

// isUsed reports whether the queue has a job, in whatever state.
func (s *Store) isUsed(name queueName) bool {
	return len(s.selected(func(j *job) bool { return j.queueName() == name })) > 0
}

func (s *Store) remove(j *job) {
	if s.holdsKey(j) {
		delete(s.unique, string(j.UniqueKey))
	}
	delete(s.jobs, j.ID)
	s.queues[j.queueName()].used = s.Now()
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

// ForgetQueue removes a queue at once, for the same use, and reports whether it may be: it is not
// paused, and has no job.
func (s *Store) ForgetQueue(namespace, name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := queueName{namespace, name}
	if q := s.queues[at]; q == nil || !q.PausedAt.IsZero() || s.isUsed(at) {
		return false
	}
	delete(s.queues, at)
	return true
}

// touch returns a queue, made if it does not exist, that somebody needs now.
func (s *Store) touch(namespace, name string, now time.Time) *queue {
	at := queueName{namespace, name}
	if s.queues[at] == nil {
		s.queues[at] = &queue{Queue: store.Queue{Namespace: namespace, Name: name, CreatedAt: now}}
	}
	s.queues[at].used = now
	return s.queues[at]
}

// isPaused reports whether nothing of a queue is claimed.
func (s *Store) isPaused(name queueName) bool {
	q := s.queues[name]
	return q != nil && !q.PausedAt.IsZero()
}

func (j *job) queueName() queueName { return queueName{j.Namespace, j.Queue} }
