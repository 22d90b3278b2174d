package model

import (
	"cmp"
	"context"
	"slices"

	"github.com/holdfastdev/holdfast/store"
)

// Promote implements store.Maintenance: first what is due, earliest first, then the ordering keys
// that are free.
func (s *Store) Promote(ctx context.Context, limit int) (store.Promoted, error) {
	now, err := s.begin(ctx)
	if err != nil {
		return store.Promoted{}, err
	}
	defer s.mu.Unlock()
	s.names = true
	promoted := map[*job]bool{}
	s.capKeys(now)

	deferred := s.selected((*job).deferred)
	slices.SortStableFunc(deferred, func(a, b *job) int { return a.RunAt.Compare(b.RunAt) })
	for _, j := range deferred {
		if len(promoted) < limit && !j.RunAt.After(now) && !s.isKept(j.ID) {
			s.enter(j, store.Available)
			promoted[j] = true
		}
	}

	waiting := s.waitingForTurns()
	slices.SortStableFunc(waiting, func(a, b *job) int {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), a.RunAt.Compare(b.RunAt))
	})
	for _, j := range waiting {
		if _, taken := s.turns[j.keyName()]; !taken && !s.isKept(j.ID) && (promoted[j] || len(promoted) < limit) {
			s.turns[j.keyName()] = j.ID
			promoted[j] = true
		}
	}

	answer := store.Promoted{Jobs: len(promoted), More: len(promoted) >= limit}
	for j := range promoted {
		s.wake(j)
	}
	answer.Wakes = s.woken
	for _, j := range s.selected((*job).deferred) {
		if answer.NextDue.IsZero() || j.RunAt.Before(answer.NextDue) {
			answer.NextDue = j.RunAt
		}
	}
	return answer, nil
}

// waitingForTurns are the available jobs that no node may claim before they have the turn of their
// ordering key.
func (s *Store) waitingForTurns() []*job {
	return s.selected(func(j *job) bool { return j.state == store.Available && !s.hasTurn(j) })
}

// SweepCancels implements store.Maintenance. Here a request and its job move together, so there are
// two cases only: a caller's transaction had the job when it was asked, or one that was to end
// itself has nothing left to do so with, since a person took its journal away. Any other one that
// has a journal is left to its next run.
func (s *Store) SweepCancels(ctx context.Context) (store.Swept, error) {
	now, err := s.begin(ctx)
	if err != nil {
		return store.Swept{}, err
	}
	defer s.mu.Unlock()
	var ended []store.ID
	for _, j := range s.selected((*job).leftAsked) {
		if s.isKept(j.ID) {
			continue
		}
		j.askedLate = false
		s.cancel(j, j.cancel.Reason, j.cancel.Actor, now)
		if j.state.Finished() {
			ended = append(ended, j.ID)
		}
	}
	return store.Swept{Jobs: len(ended), Ended: ended, Wakes: s.woken}, nil
}

// leftAsked tells whether the job was asked to cancel and does not run, so that it sees nothing.
func (j *job) leftAsked() bool {
	return j.cancel != nil && j.state != store.Running && (!j.durable() || j.askedLate)
}
