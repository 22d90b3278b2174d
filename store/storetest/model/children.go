package model

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// answer tells the parent of a finished job, in the same breath, what became of it. A parent that has failed or was cancelled gets
// the message too, in case it is resumed.
func (s *Store) answer(j *job, now time.Time) {
	parent := s.jobs[j.Parent]
	if !j.Answers || parent == nil || parent.state == store.Completed {
		return
	}
	s.deliver(parent, message{Message: store.Message{
		Kind: store.MessageChild, From: j.ID, State: j.state, Reason: j.reason, Error: j.err,
		Data: bytes.Clone(j.result), Codec: j.Codec,
	}}, now)
}

// unfinishedChildren are those that the end of their parent concerns, oldest first.
func (s *Store) unfinishedChildren(parent store.ID) []*job {
	return s.selected(func(j *job) bool {
		return j.Parent == parent && !j.state.Finished() && j.OnParentClose != store.AbandonChild
	})
}

func (s *Store) hasChildren(j *job) bool { return len(s.unfinishedChildren(j.ID)) > 0 }

// close notes that the children of a finished job are to be closed.
func (s *Store) close(j *job) {
	if s.hasChildren(j) {
		s.closed[j.ID] = true
	}
}

// isToClose tells whether nobody has asked the child yet, whose parent has finished.
func (j *job) isToClose() bool { return j.cancel == nil || j.OnParentClose != store.CancelChild }

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
		for _, child := range s.unfinishedChildren(parent) {
			if !child.isToClose() {
				continue
			}
			if done == limit {
				answer.More = true
				return answer, nil
			}
			done++
			s.closeChild(child, &answer, now)
		}
		delete(s.closed, parent)
	}
	answer.More = done == limit || len(s.closed) > 0 // of those that have just ended
	return answer, nil
}

const parentFinished = "its parent has finished"

// closeChild does what the child's policy says. One with a journal that does not run is in neither list: its run will end it.
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
