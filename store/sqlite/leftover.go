package sqlite

import (
	"math"

	"github.com/holdfastdev/holdfast/store"
)

// nobody is the maker of rows whose job was removed, or never made.
const nobody = 0

// leaveBehind removes what a generation has forgotten, or leaves what is left of it for later. What the
// one before has forgotten is gone, unless that is noted.
func (t *tx) leaveBehind(id store.ID, before, next generation) error {
	cleared, noted, err := t.cleared(id)
	if err != nil {
		return err
	}
	if !noted {
		cleared = max(before.first-1, 0)
	}
	return t.forgetSome(id, next, cleared, noted)
}

// cleared tells how far the removal of what a job has forgotten is, if it is noted that some is left.
func (t *tx) cleared(id store.ID) (seq int64, noted bool, err error) {
	s := t.stmt("leftover_cleared")
	bindID(s, id)
	if noted, err = s.next(); err != nil || !noted {
		return 0, false, err
	}
	defer s.done()
	return readOptInt(s), true, nil
}

// forgetSome removes some of what a generation has forgotten, and sees to it that it is noted whether some is
// left.
func (t *tx) forgetSome(id store.ID, g generation, cleared int64, noted bool) error {
	cleared, more, err := t.forgetEntries(id, cleared, g.first-1)
	if err != nil {
		return err
	}
	messages, err := t.removeRows("leftover_inbox", id, g.sent)
	if err != nil {
		return err
	}
	if more || messages >= t.database.portion {
		s := t.stmt("leftover_note")
		bindID(s, id)
		s.bindInt(t.now)
		s.bindNull()
		s.bindInt(cleared)
		return exec(s)
	}
	if !noted {
		return nil
	}
	return t.nothingLeft(id)
}

// forgetEntries looks at a portion of a journal, after a Seq and up to one, and removes what does not
// stay. It returns the last Seq that it has looked at, and whether there may be more. What stays may
// become very much, so nobody looks at it twice: a value goes when one that has replaced it is looked
// at.
func (t *tx) forgetEntries(id store.ID, after, upTo int64) (last int64, more bool, err error) {
	last, looked, err := t.lookAt(id, after, upTo, t.database.portion)
	if err != nil || looked == 0 {
		return upTo, false, err
	}
	s := t.stmt("leftover_forget")
	bindID(s, id)
	s.bindInt(after)
	s.bindInt(last)
	if err := exec(s); err != nil {
		return 0, false, err
	}
	s = t.stmt("leftover_replaced")
	bindID(s, id)
	s.bindInt(after)
	s.bindInt(last)
	bindID(s, id)
	return last, looked >= t.database.portion, exec(s)
}

// lookAt finds the next entries of a journal, after a Seq and up to one: the last of them, and how many
// they are, limit at the most.
func (t *tx) lookAt(id store.ID, after, upTo, limit int64) (last, n int64, err error) {
	s := t.stmt("journal_portion")
	bindID(s, id)
	s.bindInt(after)
	s.bindInt(upTo)
	s.bindInt(limit)
	if found, err := s.next(); err != nil || !found {
		return 0, 0, unexpected("journal_portion", err)
	}
	defer s.done()
	return readOptInt(s), s.readInt(), nil
}

// removeAll removes the journal and the inbox of a job that is removed, or leaves what is left of
// them for later.
func (t *tx) removeAll(id store.ID) (rows int64, err error) {
	rows, more, err := t.removeSome(id)
	switch {
	case err != nil:
		return 0, err
	case more:
		s := t.stmt("leftover_note")
		bindID(s, id)
		s.bindInt(t.now)
		s.bindInt(nobody)
		s.bindNull()
		return rows, exec(s)
	}
	return rows, t.nothingLeft(id)
}

// removeSome removes some of all rows of a job, and reports whether there may be more.
func (t *tx) removeSome(id store.ID) (rows int64, more bool, err error) {
	for _, name := range []string{"leftover_journal", "leftover_inbox"} {
		n, err := t.removeRows(name, id, math.MaxInt64)
		if err != nil {
			return 0, false, err
		}
		rows, more = rows+n, more || n >= t.database.portion
	}
	return rows, more, nil
}

// removeRows removes a portion of a journal or an inbox, the first rows up to a number.
func (t *tx) removeRows(of string, id store.ID, upTo int64) (removed int64, err error) {
	s := t.stmt(of)
	bindID(s, id)
	s.bindInt(upTo)
	s.bindInt(t.database.portion)
	return s.exec()
}

func (t *tx) nothingLeft(id store.ID) error {
	s := t.stmt("leftover_delete")
	bindID(s, id)
	return exec(s)
}

// clearLeftovers removes all rows that a job which was removed, or a fork that was never made, has
// left under an id that somebody uses now.
func (t *tx) clearLeftovers(id store.ID) error {
	if !t.askedLeft {
		left, err := exists(t.stmt("leftover_any"))
		if err != nil {
			return err
		}
		t.askedLeft, t.left = true, left
	}
	if !t.left {
		return nil
	}
	s := t.stmt("leftover_clear")
	bindID(s, id)
	if n, err := s.exec(); err != nil || n == 0 {
		return err
	}
	for _, name := range []string{"retain_journal", "retain_inbox"} {
		s := t.stmt(name)
		bindID(s, id)
		if err := exec(s); err != nil {
			return err
		}
	}
	return nil
}

// leftover finds a job that has left rows.
func (t *tx) leftover() (id store.ID, found bool, err error) {
	s := t.stmt("leftover_due")
	s.bindInt(t.now)
	if found, err = s.next(); err != nil || !found {
		return id, false, err
	}
	defer s.done()
	return readID(s), true, nil
}

// removeLeft removes some of what a job has left: of all its rows, if it is not there.
func (t *tx) removeLeft(id store.ID) error {
	there, err := t.isThere(id)
	if err != nil {
		return err
	}
	if there {
		g, err := t.generation(id)
		if err != nil {
			return err
		}
		cleared, _, err := t.cleared(id)
		if err != nil {
			return err
		}
		return t.forgetSome(id, g, cleared, true)
	}
	s := t.stmt("leftover_take")
	bindID(s, id)
	if err := exec(s); err != nil {
		return err
	}
	_, more, err := t.removeSome(id)
	if err != nil || more {
		return err
	}
	return t.nothingLeft(id)
}
