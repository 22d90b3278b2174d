package postgres

import (
	"context"
	"database/sql"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// Transactions begins transactions of X, a caller's own type, on the database of a store. Begin and
// BeginSQL return one.
type Transactions[X any] struct {
	begin func(context.Context) (tx X, wrapped store.Tx, end ender, err error)
}

// ender ends a transaction.
type ender struct{ commit, rollback func(context.Context) error }

// Begin returns what begins transactions of a pgx pool, at READ COMMITTED whatever its default is.
func Begin(pool *pgxpool.Pool) Transactions[pgx.Tx] {
	return Transactions[pgx.Tx]{func(ctx context.Context) (pgx.Tx, store.Tx, ender, error) {
		tx, err := pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
		if err != nil {
			return nil, nil, ender{}, err
		}
		return tx, Tx(tx), ender{tx.Commit, tx.Rollback}, nil
	}}
}

// BeginSQL returns what begins transactions of a database/sql pool, at READ COMMITTED. It must be
// of pgx's driver (pgx/v5/stdlib).
func BeginSQL(db *sql.DB) Transactions[*sql.Tx] {
	return Transactions[*sql.Tx]{func(ctx context.Context) (*sql.Tx, store.Tx, ender, error) {
		tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
		if err != nil {
			return nil, nil, ender{}, err
		}
		without := func(f func() error) func(context.Context) error { return func(context.Context) error { return f() } }
		return tx, SQLTx(tx), ender{without(tx.Commit), without(tx.Rollback)}, nil
	}}
}

// Transact begins a transaction, calls fn with it and with its wrapping for the store, and commits.
// If fn returns an error or panics nothing of the transaction happens, and the error is returned as
// it is. An error of the commit itself that is store.ErrUnavailable leaves open whether it
// happened.
func (t Transactions[X]) Transact(ctx context.Context, fn func(tx X, wrapped store.Tx) error) error {
	tx, wrapped, end, err := t.begin(ctx)
	if err != nil {
		return pg.Classify(ctx, "begin a transaction", err)
	}
	committing := false
	defer func() {
		if !committing {
			// What fn returned is the error to tell. Nothing of the transaction happens, whatever
			// this one is.
			_ = end.rollback(context.WithoutCancel(ctx))
		}
	}()
	if err := fn(tx, wrapped); err != nil {
		return err
	}
	committing = true
	return pg.Classify(ctx, "commit the transaction", end.commit(ctx))
}
