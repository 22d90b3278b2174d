package sqlite

import (
	"context"
	"math"

	"github.com/holdfastdev/holdfast/store"
)

// portionRows is how many entries of one job, and as many messages, one transaction removes or copies:
// what takes a few milliseconds.
const portionRows = 1000

// nobody is the maker of rows whose job was removed, or never made.
const nobody = 0

// leaveBehind removes what a generation has forgotten, or leaves what is left of it for later.
func (t *tx) leaveBehind(id store.ID, g generation) error {
	_, more, err := t.removeRows(id, g.first-1, g.sent)
	if err != nil || !more {
		return err
	}
	s := t.stmt("leftover_note")
	bindID(s, id)
	s.bindInt(t.now)
	s.bindNull()
	return exec(s)
}

// removeAll removes the journal and the inbox of a job that is removed, or leaves what is left of
// them for later.
func (t *tx) removeAll(id store.ID) (rows int64, err error) {
	rows, more, err := t.removeRows(id, math.MaxInt64, math.MaxInt64)
	switch {
	case err != nil:
		return 0, err
	case more:
		s := t.stmt("leftover_note")
		bindID(s, id)
		s.bindInt(t.now)
		s.bindInt(nobody)
		return rows, exec(s)
	}
	s := t.stmt("leftover_delete")
	bindID(s, id)
	return rows, exec(s)
}

// removeRows removes the first rows of a journal and of an inbox, up to a Seq and a row, and reports
// whether there may be more of them.
func (t *tx) removeRows(id store.ID, entries, messages int64) (removed int64, more bool, err error) {
	for _, of := range []struct {
		rows string
		upTo int64
	}{{"leftover_journal", entries}, {"leftover_inbox", messages}} {
		s := t.stmt(of.rows)
		bindID(s, id)
		s.bindInt(of.upTo)
		s.bindInt(t.store.portion)
		n, err := s.exec()
		if err != nil {
			return 0, false, err
		}
		removed, more = removed+n, more || n >= t.store.portion
	}
	return removed, more, nil
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

// removeLeftovers removes some rows of one job that has left some, and tells whether there may be
// more.
func (s *Store) removeLeftovers(ctx context.Context, limit int) (done int, more bool, err error) {
	err = s.writeIf(ctx, "remove old jobs",
		func(t *tx) (bool, error) {
			_, found, err := t.leftover()
			done, more = 0, found
			return found && limit > 0, err
		},
		func(t *tx) error {
			id, found, err := t.leftover()
			done, more = 0, found
			if err != nil || !found {
				return err
			}
			done = 1
			return t.removeLeft(id)
		})
	return done, more, err
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
	entries, messages := int64(math.MaxInt64), int64(math.MaxInt64)
	there, err := t.isThere(id)
	if err != nil {
		return err
	}
	if there {
		g, err := t.generation(id)
		if err != nil {
			return err
		}
		entries, messages = g.first-1, g.sent
	} else {
		s := t.stmt("leftover_take")
		bindID(s, id)
		if err := exec(s); err != nil {
			return err
		}
	}
	_, more, err := t.removeRows(id, entries, messages)
	if err != nil || more {
		return err
	}
	s := t.stmt("leftover_delete")
	bindID(s, id)
	return exec(s)
}
