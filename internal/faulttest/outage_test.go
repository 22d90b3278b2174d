package faulttest

import (
	"testing"
)

// interruptible is the database as it is seen by those for whom it can go away. away takes it away,
// and what it returns brings it back.
func (db *database) interruptible(t *testing.T) (theirs *database, away func() (back func())) {
	t.Helper()
	if db.url != "" {
		p := newProxy(t, db.url)
		return p.database(), func() func() {
			p.refuse(true)
			return func() { p.refuse(false) }
		}
	}
	handle := db.sqlDB(t)
	return db, func() func() {
		// A process that is frozen inside of a transaction is as good as no database.
		tx, err := handle.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return func() {
			if err := tx.Rollback(); err != nil {
				t.Error(err)
			}
		}
	}
}
