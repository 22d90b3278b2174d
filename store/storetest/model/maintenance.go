package model

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Promote implements store.Maintenance: first what is due, earliest first, then the ordering keys that are free.
func (s *Store) Promote(ctx context.Context, limit int) (store.Promoted, error) {
	now, err := s.begin(ctx)
	if err != nil {
		return store.Promoted{}, err
	}
	defer s.mu.Unlock()
	promoted := map[*job]bool{}

	deferred := s.selected((*job).deferred)
	slices.SortStableFunc(deferred, func(a, b *job) int { return a.RunAt.Compare(b.RunAt) })
	for _, j := range deferred {
		if len(promoted) < limit && !j.RunAt.After(now) {
			s.enter(j, store.Available)
			promoted[j] = true
		}
	}

	waiting := s.selected(func(j *job) bool { return j.state == store.Available && !s.hasTurn(j) })
	slices.SortStableFunc(waiting, func(a, b *job) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), a.RunAt.Compare(b.RunAt))
	})
	for _, j := range waiting {
		if _, taken := s.turns[j.keyName()]; !taken && (promoted[j] || len(promoted) < limit) {
			s.turns[j.keyName()] = j.ID
			promoted[j] = true
		}
	}

	answer := store.Promoted{Jobs: len(promoted), More: len(promoted) >= limit}
	for j := range promoted {
		if !slices.Contains(answer.Queues, j.Queue) {
			answer.Queues = append(answer.Queues, j.Queue)
		}
	}
	slices.Sort(answer.Queues)
	for _, j := range s.selected((*job).deferred) {
		if answer.NextDue.IsZero() || j.RunAt.Before(answer.NextDue) {
			answer.NextDue = j.RunAt
		}
	}
	return answer, nil
}

// Rescue implements store.Maintenance. It takes all claim records of all dead nodes, whatever the limit.
func (s *Store) Rescue(ctx context.Context, params store.RescueParams) ([]store.Rescued, error) {
	now, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var rescued []store.Rescued
	for _, node := range slices.Sorted(maps.Keys(s.nodes)) {
		n := s.nodes[node]
		if !n.DeadAt.IsZero() || now.Sub(n.BeatAt) < params.DeadAfter {
			continue
		}
		n.DeadAt = now
		for _, j := range s.runningOn(node) {
			e := ending{state: store.Failed, reason: store.ReasonCrashLoop, uncounted: j.hasGrown()}
			lost := copyOf(j.Job)
			if e.uncounted {
				lost.Attempt--
			}
			// A requested cancel goes before the decision that no attempt is left, unless the job is ending itself already. Reading:
			// a deadline does not, for then there is no next attempt that would come too late.
			if delay, retry := params.Decide(lost); retry || j.cancel != nil && !j.Closing {
				e.state, e.reason, e.runAt = store.Retryable, store.ReasonNodeLost, now.Add(delay).Truncate(time.Microsecond)
			}
			e = s.taken(j, e)
			s.end(j, e, now)
			last := j.attempts[len(j.attempts)-1]
			rescued = append(rescued, store.Rescued{
				Job: j.ID, Node: node, State: j.state, Reason: last.Reason, Queue: j.Queue, RunAt: j.RunAt,
			})
		}
	}
	return rescued, nil
}

// hasGrown reports whether the current run has written to the job's journal.
func (j *job) hasGrown() bool {
	n := len(j.journal)
	return n > 0 && j.journal[n-1].LeaseNumber == j.LeaseNumber
}

// SweepCancels implements store.Maintenance. Here a request and its job move together, so there is one case only: a job that was to
// end itself has nothing left to do so with, since a person took its journal away.
func (s *Store) SweepCancels(ctx context.Context) (int, error) {
	now, err := s.begin(ctx)
	if err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	left := s.selected((*job).leftAsked)
	for _, j := range left {
		s.cancel(j, j.cancel.Reason, j.cancel.Actor, now)
	}
	return len(left), nil
}

// leftAsked tells whether the job was asked to cancel and does not run, so that it would not see it.
func (j *job) leftAsked() bool { return j.cancel != nil && j.state != store.Running && !j.durable() }

// Retain implements store.Maintenance.
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
	return retained, nil
}

// Forget removes finished jobs at once. A property test uses it to follow a store that kept them longer than this one
// would have, which the contract allows.
func (s *Store) Forget(ids ...store.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		if j := s.jobs[id]; j != nil && j.state.Finished() {
			s.remove(j)
		}
	}
}

func (s *Store) remove(j *job) {
	if s.holdsKey(j) {
		delete(s.unique, string(j.UniqueKey))
	}
	delete(s.jobs, j.ID)
}
