package ours

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfastdev/holdfast/bench/internal/system"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// callers is what callers of the client have for transactions of their own. It is opened when it
// is needed.
type callers struct {
	mu   sync.Mutex
	pool *pgxpool.Pool
}

// maxCallers bounds their transactions: a server allows a hundred connections.
const maxCallers = 64

func (c *callers) open(ctx context.Context, db system.Database) (*pgxpool.Pool, error) {
	if db.Store != system.Postgres {
		return nil, fmt.Errorf("transactions of callers on %s: %w", db.Store, system.ErrUnsupported)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pool != nil {
		return c.pool, nil
	}
	config, err := pgxpool.ParseConfig(db.URL)
	if err != nil {
		return nil, err
	}
	config.MaxConns = maxCallers
	c.pool, err = pgxpool.NewWithConfig(ctx, config)
	return c.pool, err
}

func (c *callers) close() {
	if c.pool != nil {
		c.pool.Close()
	}
}

// begin begins a transaction of a caller's, lets it do something, and returns what commits it.
func (c *client) begin(
	ctx context.Context, do func(tx store.Tx) error,
) (commit func(context.Context) error, err error) {
	pool, err := c.callers.open(ctx, c.db)
	if err != nil {
		return nil, err
	}
	tx, err := pool.BeginTx(ctx, pgx.TxOptions{})
	if err != nil {
		return nil, err
	}
	if err := do(postgres.Tx(tx)); err != nil {
		return nil, errors.Join(err, tx.Rollback(ctx))
	}
	return tx.Commit, nil
}

// InsertTx stores a job in a transaction of a caller's.
func (c *client) InsertTx(
	ctx context.Context, args system.Args,
) (commit func(context.Context) error, err error) {
	return c.begin(ctx, func(tx store.Tx) error {
		_, err := noop.EnqueueTx(ctx, c.hf, tx, args)
		return err
	})
}
