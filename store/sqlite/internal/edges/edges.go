package edges

import (
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// Put lets a job wait for another one.
func Put(t *core.Tx, job store.ID, d store.Dependency) error {
	s := t.Stmt("edge_put")
	db.BindID(s, d.On)
	db.BindID(s, job)
	s.BindInt(int64(d.IfFailed))
	return db.Exec(s)
}

// Import writes an edge as another database has it, and has its predecessor looked at.
func Import(t *core.Tx, job store.ID, e store.Awaited) error {
	s := t.Stmt("edge_import")
	db.BindID(s, e.On)
	db.BindID(s, job)
	s.BindInt(int64(e.IfFailed))
	db.BindOptInt(s, int64(e.Told))
	if err := db.Exec(s); err != nil {
		return err
	}
	return Check(t, e.On)
}

// Of returns what a job waits for, by the ids of its predecessors.
func Of(t *core.Tx, job store.ID) (list []store.Awaited, err error) {
	s := t.Stmt("edges_of")
	db.BindID(s, job)
	return list, db.Each(s, func() error {
		e := store.Awaited{Dependency: store.Dependency{On: db.ReadID(s), IfFailed: store.FailurePolicy(s.ReadInt())}}
		e.Told = store.State(db.ReadOptInt(s))
		list = append(list, e)
		return nil
	})
}

// Left reports whether a job waits for another one.
func Left(t *core.Tx, job store.ID) (bool, error) { return exists(t, "edge_left", job) }

// Forget lets a job wait for no other one any more.
func Forget(t *core.Tx, job store.ID) error { return exec(t, "edges_delete", job) }

// Successor is a job that waits for another one.
type Successor struct {
	Job      store.ID
	IfFailed store.FailurePolicy
}

// ToTell returns those that wait for a job and do not know yet that it has ended like this.
func ToTell(t *core.Tx, on store.ID, state store.State, limit int) (list []Successor, err error) {
	s := t.Stmt("edges_untold")
	db.BindID(s, on)
	s.BindInt(int64(state))
	s.BindInt(int64(limit))
	return list, db.Each(s, func() error {
		list = append(list, Successor{db.ReadID(s), store.FailurePolicy(s.ReadInt())})
		return nil
	})
}

// Untold reports whether there is one.
func Untold(t *core.Tx, on store.ID, state store.State) (bool, error) {
	list, err := ToTell(t, on, state, 1)
	return len(list) > 0, err
}

// Told notes that a job knows how its predecessor has ended, and waits for a person.
func Told(t *core.Tx, on, job store.ID, state store.State) error {
	s := t.Stmt("edge_told")
	s.BindInt(int64(state))
	db.BindID(s, on)
	db.BindID(s, job)
	return db.Exec(s)
}

// Met lets a job wait for another one no more.
func Met(t *core.Tx, on, job store.ID) error {
	s := t.Stmt("edge_delete")
	db.BindID(s, on)
	db.BindID(s, job)
	return db.Exec(s)
}

// IsCycle reports whether a job waits for another one, or for one that does, and so on.
func IsCycle(t *core.Tx, job, other store.ID) (bool, error) {
	s := t.Stmt("edge_cycle")
	db.BindID(s, job)
	db.BindID(s, other)
	return db.Exists(s)
}

// Mark makes the body of a job say that others come after it.
func Mark(t *core.Tx, on store.ID) error { return exec(t, "job_mark_successors", on) }

// Check has a predecessor looked at.
func Check(t *core.Tx, on store.ID) error { return exec(t, "edge_check_put", on) }

// Checked takes that back.
func Checked(t *core.Tx, on store.ID) error { return exec(t, "edge_check_delete", on) }

// Over returns predecessors that have a note and have finished, or are not there any more, by their
// ids.
func Over(t *core.Tx, limit int) ([]store.ID, error) { return ids(t, "edge_checks_over", limit) }

// Back returns predecessors that have a note and were put back, by their ids: their next runs know
// that others come after them.
func Back(t *core.Tx, limit int) ([]store.ID, error) { return ids(t, "edge_checks_back", limit) }

// Unwatch drops notes of jobs that were put back, whose bodies say that others come after them.
func Unwatch(t *core.Tx, limit int) error {
	back, err := Back(t, limit)
	if err != nil {
		return err
	}
	for _, on := range back {
		if err := Mark(t, on); err != nil {
			return err
		}
		if err := Checked(t, on); err != nil {
			return err
		}
	}
	return nil
}

// Work reports whether something is to be done about a predecessor that has a note, and whether
// there is any that has one.
func Work(t *core.Tx) (tell, watch bool, err error) {
	if watch, err = db.Exists(t.Stmt("edge_check_any")); err != nil || !watch {
		return false, false, err
	}
	over, err := Over(t, 1)
	if err != nil || len(over) > 0 {
		return true, watch, err
	}
	back, err := Back(t, 1)
	return len(back) > 0, watch, err
}

func ids(t *core.Tx, statement string, limit int) (list []store.ID, err error) {
	s := t.Stmt(statement)
	s.BindInt(int64(limit))
	return list, db.Each(s, func() error {
		list = append(list, db.ReadID(s))
		return nil
	})
}

func exec(t *core.Tx, statement string, id store.ID) error {
	s := t.Stmt(statement)
	db.BindID(s, id)
	return db.Exec(s)
}

func exists(t *core.Tx, statement string, id store.ID) (bool, error) {
	s := t.Stmt(statement)
	db.BindID(s, id)
	return db.Exists(s)
}
