package model

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// CloseChildren implements store.Maintenance.
func (s *Store) CloseChildren(ctx context.Context, limit int) (store.Closed, error) {
	now, err := s.begin(ctx)
	if err != nil {
		return store.Closed{}, err
	}
	defer s.mu.Unlock()
	var answer store.Closed
	done := 0
	for _, parent := range slices.SortedFunc(maps.Keys(s.closed), compareIDs) {
		left := false // until the next time
		for _, child := range s.unfinishedChildren(parent) {
			if !child.isToClose() {
				continue
			}
			if s.isKept(child.ID) {
				left = true
				continue
			}
			if done == limit {
				answer.More, answer.Wakes = true, s.woken
				return answer, nil
			}
			done++
			s.closeChild(child, &answer, now)
		}
		if !left {
			delete(s.closed, parent)
		}
	}
	for _, e := range s.toTell() {
		if done == limit {
			answer.More, answer.Wakes = true, s.woken
			return answer, nil
		}
		done++
		s.tellSuccessor(e, &answer, now)
	}
	answer.Wakes, answer.Watch = s.woken, s.isWatching()
	answer.More = done == limit || done > 0 && (len(s.closed) > 0 || len(s.toTell()) > 0) // of those that have just ended
	return answer, nil
}

const parentFinished = "its parent has finished"

// closeChild does what the child's policy says. One with a journal that does not run is in neither
// list: its run will end it.
func (s *Store) closeChild(child *job, answer *store.Closed, now time.Time) {
	if child.OnParentClose == store.TerminateChild {
		s.terminate(child, parentFinished, now)
	} else {
		s.cancel(child, parentFinished, "", now)
	}
	switch {
	case child.state == store.Running:
		answer.Running = append(answer.Running, child.ID)
	case child.state.Finished():
		answer.Ended = append(answer.Ended, child.ID)
	}
}
