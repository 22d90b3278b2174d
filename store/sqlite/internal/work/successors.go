package work

import (
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/edges"
)

// tellSuccessors tells up to limit jobs how those after which they come have ended.
func tellSuccessors(t *core.Tx, limit int, closed *store.Closed) error {
	if err := edges.Unwatch(t, limit); err != nil || limit <= 0 {
		return err
	}
	over, err := edges.Over(t, limit)
	if err != nil {
		return err
	}
	for _, on := range over {
		if limit <= 0 {
			return nil
		}
		f, _, err := t.Finished(on)
		if err != nil {
			return err
		}
		told, err := edges.ToTell(t, on, f.State, limit)
		if err != nil {
			return err
		}
		for _, s := range told {
			if err := tellSuccessor(t, on, f.State, s, closed); err != nil {
				return err
			}
		}
		if len(told) < limit {
			if err := edges.Checked(t, on); err != nil {
				return err
			}
		}
		limit -= len(told)
	}
	return nil
}

// tellSuccessor tells one how a job has ended; 0 is the state of one that was removed.
func tellSuccessor(t *core.Tx, on store.ID, state store.State, s edges.Successor, closed *store.Closed) error {
	if !s.IfFailed.Lets(state) {
		if s.IfFailed == store.HoldIfFailed {
			return edges.Told(t, on, s.Job, state)
		}
		_, ended, err := cancel(t, s.Job, cancelling{reason: s.IfFailed.UnmetWords(on, state), actor: "job " + on.String()})
		if ended {
			closed.Ended = append(closed.Ended, s.Job)
		}
		return err
	}
	if err := edges.Met(t, on, s.Job); err != nil {
		return err
	}
	if left, err := edges.Left(t, s.Job); left || err != nil {
		return err
	}
	b, found, err := t.Body(s.Job)
	if err != nil || !found {
		return err
	}
	if waits, _, err := t.PointerState(b); err != nil || waits != store.Waiting {
		return err
	}
	w, err := WaiterOf(t, b)
	if err != nil || !w.depends() {
		return err
	}
	_, err = letGo(t, b, w)
	return err
}
