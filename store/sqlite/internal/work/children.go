package work

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/edges"
)

// closeLimit is how many children one CloseChildren looks at if it is not told.
const closeLimit = 1000

// CloseChildren implements store.Maintenance.
func (v Verbs) CloseChildren(ctx context.Context, limit int) (store.Closed, error) {
	if limit <= 0 {
		limit = closeLimit
	}
	var closed store.Closed
	wakes, err := v.d.Move(ctx, "close children",
		func(t *core.Tx) (bool, error) {
			closed = store.Closed{}
			parents, err := closedParents(t, 1)
			if err != nil {
				return false, err
			}
			tell, watch, err := edges.Work(t)
			closed.Watch = watch
			return tell || len(parents) > 0, err
		},
		func(t *core.Tx) (err error) {
			closed, err = closeChildren(t, limit)
			return err
		})
	closed.Wakes = wakes
	return closed, err
}

// closedParent is a note of a job whose children are to be closed.
type closedParent struct {
	id   store.ID
	last store.ID // the last child that was looked at
}

func closedParents(t *core.Tx, limit int) ([]closedParent, error) {
	var parents []closedParent
	s := t.Stmt("closed")
	s.BindInt(int64(limit))
	return parents, db.Each(s, func() error {
		p := closedParent{id: db.ReadID(s)}
		if !s.ReadNull() {
			p.last = db.ReadID(s)
		}
		parents = append(parents, p)
		return nil
	})
}

// closeChildren works off the notes that there are, in the order of their jobs, and up to limit
// children of them, and of jobs that came after others. One that ends at once may have children
// itself: the note of it is for the next call, which is asked for.
func closeChildren(t *core.Tx, limit int) (closed store.Closed, err error) {
	parents, err := closedParents(t, limit) // there may be many whose children have all finished
	if err != nil {
		return closed, err
	}
	left := limit
	for _, p := range parents {
		if left == 0 {
			break
		}
		looked, err := closeChildrenOf(t, p, left, &closed)
		if err != nil {
			return closed, err
		}
		left -= looked
	}
	if err := tellSuccessors(t, left, &closed); err != nil {
		return closed, err
	}
	if parents, err = closedParents(t, 1); err != nil {
		return closed, err
	}
	tell, watch, err := edges.Work(t)
	closed.More, closed.Watch = tell || len(parents) > 0, watch
	return closed, err
}

// closeChildrenOf closes up to limit children of one job, and returns how many it looked at. A job
// that a person made run again keeps its children.
func closeChildrenOf(t *core.Tx, p closedParent, limit int, closed *store.Closed) (int, error) {
	again, err := runsAgain(t, p.id)
	if err != nil {
		return 0, err
	}
	var children []store.ID
	var policies []store.ClosePolicy
	if !again {
		s := t.Stmt("children_unfinished")
		db.BindID(s, p.id)
		db.BindID(s, p.last)
		s.BindInt(int64(limit))
		err := db.Each(s, func() error {
			children = append(children, db.ReadID(s))
			policies = append(policies, store.ClosePolicy(s.ReadInt()))
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	for i, id := range children {
		state, ended, err := cancel(t, id, cancelling{
			reason: "its parent has finished", actor: "parent " + p.id.String(), terminate: policies[i] == store.TerminateChild,
		})
		switch {
		case err != nil:
			return 0, err
		case ended:
			closed.Ended = append(closed.Ended, id)
		case state == store.Running:
			closed.Running = append(closed.Running, id)
		}
	}
	if len(children) < limit {
		return len(children), forgetClosed(t, p.id)
	}
	s := t.Stmt("closed_until")
	db.BindID(s, children[len(children)-1])
	db.BindID(s, p.id)
	return len(children), db.Exec(s)
}

// runsAgain reports whether a job is there and has not finished.
func runsAgain(t *core.Tx, id store.ID) (bool, error) {
	s := t.Stmt("job_run_at")
	db.BindID(s, id)
	if there, err := db.Exists(s); !there || err != nil {
		return false, err
	}
	_, finished, err := t.Finished(id)
	return !finished, err
}
