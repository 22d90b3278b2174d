package sqlite

import (
	"context"
	"database/sql"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// Transactor runs transactions on a database of the caller's. Use Begin.
type Transactor struct{ db *sql.DB }

// Begin returns what runs transactions on the caller's own database, which must be on the same file
// as the store, with modernc.org/sqlite.
func Begin(db *sql.DB) Transactor { return Transactor{db} }

// Transact calls fn in a transaction, which it commits if fn returns nil and rolls back otherwise,
// and returns fn's error as it is. wrapped is the same transaction for the methods of the store,
// which must not be called in any other way meanwhile: from the beginning the transaction has the
// file's write lock, which it waits for as the store's own writer does. The error is
// ErrUnavailable, or the context's, if it cannot have it in time, and ErrDatabaseGone if the file
// that the store has written to is not in its place after the commit.
func (t Transactor) Transact(ctx context.Context, fn func(tx *sql.Tx, wrapped store.Tx) error) error {
	var tx *sql.Tx
	err := db.Patient(ctx, func() (err error) {
		tx, err = t.db.BeginTx(ctx, nil)
		return err
	})
	if err != nil {
		return db.Classify("begin a transaction", err)
	}
	defer func() { _ = tx.Rollback() }() // does nothing after the commit
	if err := lockForWriting(ctx, tx); err != nil {
		return db.Classify("begin a transaction", err)
	}
	ours := core.WrapTx(tx)
	if err := fn(tx, ours); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		if ended := ctx.Err(); ended != nil {
			err = ended
		}
		return db.Classify("commit the transaction", err)
	}
	return db.Classify("commit the transaction", ours.Confirm())
}

// lockForWriting makes a transaction a writer's that may have begun as a reader's, by a statement
// that writes nothing. It has read nothing yet, so that it cannot be refused for what others wrote
// since.
func lockForWriting(ctx context.Context, tx *sql.Tx) error {
	return db.Patient(ctx, func() error {
		_, err := tx.ExecContext(ctx, db.TextOf("lock"))
		return err
	})
}
