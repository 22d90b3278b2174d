package core

import "github.com/holdfastdev/holdfast/store/sqlite/internal/db"

// Inserting is how rows of a table are inserted. It is made of functions, not of closures, so that
// it costs nothing.
type Inserting[T any] struct {
	// Many is the statement for RowsAtOnce rows, and bind binds one of them. It ends at the first
	// row that is there already, and keeps those before it.
	Many string
	Bind func(*Tx, db.Stmt, T)
	// One inserts a row by itself, and returns false if it is there already.
	One func(*Tx, T) (inserted bool, err error)
	// After is called for each row that was inserted, if it is set.
	After func(*Tx, T) error
	// Taken is called for a row that is there already, when it has left the buffer. If it is not
	// set there is none.
	Taken func(*Tx, T) error
}

// Plan adds a row. If the buffer is full it is written.
func (b *RowBuffer[T]) Plan(t *Tx, row T, how Inserting[T]) error {
	b.Rows = append(b.Rows, row)
	return b.WriteFull(t, how)
}

// WriteFull writes rows while there are enough for the statement that takes many.
func (b *RowBuffer[T]) WriteFull(t *Tx, how Inserting[T]) error {
	for len(b.Rows) >= db.RowsAtOnce {
		if err := b.writeMany(t, how); err != nil {
			return err
		}
	}
	return nil
}

// writeMany writes the first rows with one statement.
func (b *RowBuffer[T]) writeMany(t *Tx, how Inserting[T]) error {
	s := t.Own.Stmt(how.Many)
	for _, row := range b.Rows[:db.RowsAtOnce] {
		how.Bind(t, s, row)
	}
	inserted := db.RowsAtOnce
	if _, err := s.Exec(); err != nil {
		if how.Taken == nil || !db.IsTaken(err) {
			return err
		}
		inserted = t.Own.Changes()
	}
	if how.After != nil {
		for _, row := range b.Rows[:inserted] {
			if err := how.After(t, row); err != nil {
				return err
			}
		}
	}
	if inserted == db.RowsAtOnce {
		b.drop(inserted)
		return nil
	}
	row := b.Rows[inserted]
	b.drop(inserted + 1)
	return how.Taken(t, row)
}

// drop drops the first rows. If there are few left it keeps the array, since there are many to
// come.
func (b *RowBuffer[T]) drop(n int) {
	if len(b.Rows) > 2*n {
		b.Rows = b.Rows[n:]
	} else {
		b.Rows = append(b.Rows[:0], b.Rows[n:]...)
	}
}

// WriteAll writes what is planned.
func (b *RowBuffer[T]) WriteAll(t *Tx, how Inserting[T]) error {
	if err := b.WriteFull(t, how); err != nil {
		return err
	}
	array := b.Rows
	for len(b.Rows) > 0 {
		row := b.Rows[0]
		b.Rows = b.Rows[1:]
		inserted, err := how.One(t, row)
		switch {
		case err != nil:
			return err
		case !inserted:
			err = how.Taken(t, row)
		case how.After != nil:
			err = how.After(t, row)
		}
		if err != nil {
			return err
		}
	}
	b.Rows = array[:0]
	return nil
}
