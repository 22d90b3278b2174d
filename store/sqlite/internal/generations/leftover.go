package generations

import (
	"math"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// noMaker is the maker of rows whose job was removed, or never made.
const noMaker = 0

// LeaveBehind removes what a generation has forgotten, or leaves what is left of it for later. What
// the one before has forgotten is gone, unless that is noted.
func LeaveBehind(t *core.Tx, id store.ID, before, next Generation) error {
	cleared, noted, err := cleared(t, id)
	if err != nil {
		return err
	}
	if !noted {
		cleared = max(before.First-1, 0)
	}
	return forgetSome(t, id, next, cleared, noted)
}

// cleared tells how far the removal of what a job has forgotten is, if it is noted that some is
// left.
func cleared(t *core.Tx, id store.ID) (seq int64, noted bool, err error) {
	s := t.Stmt("leftover_cleared")
	db.BindID(s, id)
	if noted, err = s.Next(); err != nil || !noted {
		return 0, false, err
	}
	defer s.Done()
	return db.ReadOptInt(s), true, nil
}

// forgetSome removes some of what a generation has forgotten, and sees to it that it is noted
// whether some is left.
func forgetSome(t *core.Tx, id store.ID, g Generation, cleared int64, noted bool) error {
	cleared, more, err := forgetEntries(t, id, cleared, g.First-1)
	if err != nil {
		return err
	}
	messages, err := removeRows(t, "leftover_inbox", id, g.Sent)
	if err != nil {
		return err
	}
	if more || messages >= t.Database.Portion {
		s := t.Stmt("leftover_note")
		db.BindID(s, id)
		s.BindInt(t.Now)
		s.BindNull()
		s.BindInt(cleared)
		return db.Exec(s)
	}
	if !noted {
		return nil
	}
	return nothingLeft(t, id)
}

// forgetEntries looks at a portion of a journal, after a Seq and up to one, and removes what does
// not stay. It returns the last Seq that it has looked at, and whether there may be more. What
// stays may become very much, so nothing is looked at twice: a value goes when one that has
// replaced it is looked at.
func forgetEntries(t *core.Tx, id store.ID, after, upTo int64) (last int64, more bool, err error) {
	last, looked, err := LookAt(t, id, after, upTo, t.Database.Portion)
	if err != nil || looked == 0 {
		return upTo, false, err
	}
	s := t.Stmt("leftover_forget")
	db.BindID(s, id)
	s.BindInt(after)
	s.BindInt(last)
	if err := db.Exec(s); err != nil {
		return 0, false, err
	}
	s = t.Stmt("leftover_replaced")
	db.BindID(s, id)
	s.BindInt(after)
	s.BindInt(last)
	db.BindID(s, id)
	return last, looked >= t.Database.Portion, db.Exec(s)
}

// LookAt finds the next entries of a journal, after a Seq and up to one: the last of them, and how
// many they are, limit at the most.
func LookAt(t *core.Tx, id store.ID, after, upTo, limit int64) (last, n int64, err error) {
	s := t.Stmt("journal_portion")
	db.BindID(s, id)
	s.BindInt(after)
	s.BindInt(upTo)
	s.BindInt(limit)
	if found, err := s.Next(); err != nil || !found {
		return 0, 0, db.Unexpected("journal_portion", err)
	}
	defer s.Done()
	return db.ReadOptInt(s), s.ReadInt(), nil
}

// RemoveAll removes the journal, the inbox and the updates of a job that is removed, or leaves what
// is left of them for later.
func RemoveAll(t *core.Tx, id store.ID) (rows int64, err error) {
	rows, more, err := removeSome(t, id)
	switch {
	case err != nil:
		return 0, err
	case more:
		s := t.Stmt("leftover_note")
		db.BindID(s, id)
		s.BindInt(t.Now)
		s.BindInt(noMaker)
		s.BindNull()
		return rows, db.Exec(s)
	}
	return rows, nothingLeft(t, id)
}

// removeSome removes some of all rows of a job, and reports whether there may be more.
func removeSome(t *core.Tx, id store.ID) (rows int64, more bool, err error) {
	for _, name := range []string{"leftover_journal", "leftover_inbox", "leftover_updates"} {
		n, err := removeRows(t, name, id, math.MaxInt64)
		if err != nil {
			return 0, false, err
		}
		rows, more = rows+n, more || n >= t.Database.Portion
	}
	return rows, more, nil
}

// removeRows removes a portion of a journal, an inbox or the updates of a job, rows up to a number.
func removeRows(t *core.Tx, of string, id store.ID, upTo int64) (removed int64, err error) {
	s := t.Stmt(of)
	db.BindID(s, id)
	s.BindInt(upTo)
	s.BindInt(t.Database.Portion)
	return s.Exec()
}

func nothingLeft(t *core.Tx, id store.ID) error {
	s := t.Stmt("leftover_delete")
	db.BindID(s, id)
	return db.Exec(s)
}

// Clear removes all rows that a job which was removed, or a fork that was never made, has
// left under an id that is used now.
func Clear(t *core.Tx, id store.ID) error {
	if !t.AskedLeft {
		left, err := db.Exists(t.Stmt("leftover_any"))
		if err != nil {
			return err
		}
		t.AskedLeft, t.Left = true, left
	}
	if !t.Left {
		return nil
	}
	s := t.Stmt("leftover_clear")
	db.BindID(s, id)
	if n, err := s.Exec(); err != nil || n == 0 {
		return err
	}
	for _, name := range []string{"retain_journal", "retain_inbox", "retain_updates"} {
		s := t.Stmt(name)
		db.BindID(s, id)
		if err := db.Exec(s); err != nil {
			return err
		}
	}
	return nil
}

// Leftover finds a job that has left rows.
func Leftover(t *core.Tx) (id store.ID, found bool, err error) {
	s := t.Stmt("leftover_due")
	s.BindInt(t.Now)
	if found, err = s.Next(); err != nil || !found {
		return id, false, err
	}
	defer s.Done()
	return db.ReadID(s), true, nil
}

// RemoveLeft removes some of what a job has left: of all its rows, if it is not there.
func RemoveLeft(t *core.Tx, id store.ID) error {
	there, err := t.IsThere(id)
	if err != nil {
		return err
	}
	if there {
		g, err := Of(t, id)
		if err != nil {
			return err
		}
		cleared, _, err := cleared(t, id)
		if err != nil {
			return err
		}
		return forgetSome(t, id, g, cleared, true)
	}
	s := t.Stmt("leftover_take")
	db.BindID(s, id)
	if err := db.Exec(s); err != nil {
		return err
	}
	_, more, err := removeSome(t, id)
	if err != nil || more {
		return err
	}
	return nothingLeft(t, id)
}
