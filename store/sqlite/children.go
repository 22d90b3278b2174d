package sqlite

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
)

// closeLimit is how many children one CloseChildren looks at if it is not told.
const closeLimit = 1000

// CloseChildren implements store.Maintenance.
func (v workVerbs) CloseChildren(ctx context.Context, limit int) (store.Closed, error) {
	if limit <= 0 {
		limit = closeLimit
	}
	var closed store.Closed
	err := v.d.writeIf(ctx, "close children",
		func(t *tx) (bool, error) {
			closed = store.Closed{}
			parents, err := t.closedParents(1)
			return len(parents) > 0, err
		},
		func(t *tx) (err error) {
			closed, err = t.closeChildren(limit)
			return err
		})
	return closed, err
}

// closedParent is a note of a job whose children are to be closed.
type closedParent struct {
	id   store.ID
	last store.ID // the last child that was looked at
}

func (t *tx) closedParents(limit int) ([]closedParent, error) {
	var parents []closedParent
	s := t.stmt("closed")
	s.bindInt(int64(limit))
	return parents, each(s, func() error {
		p := closedParent{id: readID(s)}
		if !s.readNull() {
			p.last = readID(s)
		}
		parents = append(parents, p)
		return nil
	})
}

// closeChildren works off the notes that there are, in the order of their jobs, and up to limit children of them. A child that ends at once
// may have children itself: the note of it is for the next call, which is asked for.
func (t *tx) closeChildren(limit int) (closed store.Closed, err error) {
	parents, err := t.closedParents(limit) // there may be many whose children have all finished
	if err != nil {
		return closed, err
	}
	left := limit
	for _, p := range parents {
		if left == 0 {
			break
		}
		looked, err := t.closeChildrenOf(p, left, &closed)
		if err != nil {
			return closed, err
		}
		left -= looked
	}
	parents, err = t.closedParents(1)
	closed.More = len(parents) > 0
	return closed, err
}

// closeChildrenOf closes up to limit children of one job, and returns how many it looked at. A job that a person made run again keeps
// its children.
func (t *tx) closeChildrenOf(p closedParent, limit int, closed *store.Closed) (int, error) {
	again, err := t.runsAgain(p.id)
	if err != nil {
		return 0, err
	}
	var children []store.ID
	var policies []store.ClosePolicy
	if !again {
		s := t.stmt("children_unfinished")
		bindID(s, p.id)
		bindID(s, p.last)
		s.bindInt(int64(limit))
		err := each(s, func() error {
			children = append(children, readID(s))
			policies = append(policies, store.ClosePolicy(s.readInt()))
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	for i, id := range children {
		state, err := t.cancel(id, cancelling{
			reason: "its parent has finished", actor: "parent " + p.id.String(), terminate: policies[i] == store.TerminateChild,
		})
		switch {
		case err != nil:
			return 0, err
		case state == store.Cancelled:
			closed.Ended = append(closed.Ended, id)
		case state == store.Running:
			closed.Running = append(closed.Running, id)
		}
	}
	if len(children) < limit {
		return len(children), t.forgetClosed(p.id)
	}
	s := t.stmt("closed_until")
	bindID(s, children[len(children)-1])
	bindID(s, p.id)
	return len(children), exec(s)
}

// runsAgain reports whether a job is there and has not finished.
func (t *tx) runsAgain(id store.ID) (bool, error) {
	s := t.stmt("job_run_at")
	bindID(s, id)
	if there, err := exists(s); !there || err != nil {
		return false, err
	}
	_, finished, err := t.finished(id)
	return !finished, err
}
