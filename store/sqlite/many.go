package sqlite

// inserting is how rows of a table are inserted. It is made of functions, not of closures, so that
// it costs nothing.
type inserting[T any] struct {
	// many is the statement for rowsAtOnce rows, and bind binds one of them. It ends at the first
	// row that is there already, and keeps those before it.
	many string
	bind func(*tx, stmt, T)
	// one inserts a row by itself, and returns false if it is there already.
	one func(*tx, T) (inserted bool, err error)
	// after is called for each row that was inserted, if it is set.
	after func(*tx, T) error
	// taken is called for a row that is there already, when it has left the buffer. If it is not
	// set there is none.
	taken func(*tx, T) error
}

// plan adds a row. If the buffer is full it is written.
func (b *rowBuffer[T]) plan(t *tx, row T, how inserting[T]) error {
	b.rows = append(b.rows, row)
	return b.writeFull(t, how)
}

// writeFull writes rows while there are enough for the statement that takes many.
func (b *rowBuffer[T]) writeFull(t *tx, how inserting[T]) error {
	for len(b.rows) >= rowsAtOnce {
		if err := b.writeMany(t, how); err != nil {
			return err
		}
	}
	return nil
}

// writeMany writes the first rows with one statement.
func (b *rowBuffer[T]) writeMany(t *tx, how inserting[T]) error {
	s := t.own.stmt(how.many)
	for _, row := range b.rows[:rowsAtOnce] {
		how.bind(t, s, row)
	}
	inserted := rowsAtOnce
	if _, err := s.exec(); err != nil {
		if how.taken == nil || !isTaken(err) {
			return err
		}
		inserted = t.own.changes()
	}
	if how.after != nil {
		for _, row := range b.rows[:inserted] {
			if err := how.after(t, row); err != nil {
				return err
			}
		}
	}
	if inserted == rowsAtOnce {
		b.drop(inserted)
		return nil
	}
	row := b.rows[inserted]
	b.drop(inserted + 1)
	return how.taken(t, row)
}

// drop drops the first rows. If there are few left it keeps the array, since there are many to
// come.
func (b *rowBuffer[T]) drop(n int) {
	if len(b.rows) > 2*n {
		b.rows = b.rows[n:]
	} else {
		b.rows = append(b.rows[:0], b.rows[n:]...)
	}
}

// writeAll writes what is planned.
func (b *rowBuffer[T]) writeAll(t *tx, how inserting[T]) error {
	if err := b.writeFull(t, how); err != nil {
		return err
	}
	array := b.rows
	for len(b.rows) > 0 {
		row := b.rows[0]
		b.rows = b.rows[1:]
		inserted, err := how.one(t, row)
		switch {
		case err != nil:
			return err
		case !inserted:
			err = how.taken(t, row)
		case how.after != nil:
			err = how.after(t, row)
		}
		if err != nil {
			return err
		}
	}
	b.rows = array[:0]
	return nil
}
