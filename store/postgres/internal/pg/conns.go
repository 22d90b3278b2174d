package pg

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Conns lends the connections of a pool, which is one of pgx or of database/sql.
type Conns interface {
	// With waits for a connection until ctx ends, and calls f with it, which nothing else uses
	// meanwhile. A connection that f leaves broken, or inside a transaction, is not used again.
	With(ctx context.Context, f func(*pgx.Conn) error) error
	// Beside opens a connection that is not the pool's, with the pool's settings as change leaves
	// them. The caller closes it.
	Beside(ctx context.Context, change func(*pgx.ConnConfig)) (*pgx.Conn, error)
	// HasIdle reports whether a connection of the pool is unused at this moment.
	HasIdle() bool
	// Close closes the pool.
	Close()
}

// pgxConns are the connections of a pool of pgx.
type pgxConns struct {
	pool  *pgxpool.Pool
	kinds *Kinds // that may keep some of them, or nil
}

// With implements Conns.
func (c pgxConns) With(ctx context.Context, f func(*pgx.Conn) error) error {
	if c.kinds != nil {
		c.kinds.yield()
	}
	conn, err := c.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	return f(conn.Conn())
}

// Beside implements Conns. The pool's hooks take part in it: they may fetch a password that is
// valid for minutes, or change the role.
func (c pgxConns) Beside(ctx context.Context, change func(*pgx.ConnConfig)) (*pgx.Conn, error) {
	config := c.pool.Config()
	change(config.ConnConfig)
	if config.BeforeConnect != nil {
		if err := config.BeforeConnect(ctx, config.ConnConfig); err != nil {
			return nil, err
		}
	}
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil || config.AfterConnect == nil {
		return conn, err
	}
	if err := config.AfterConnect(ctx, conn); err != nil {
		_ = conn.Close(ctx) // the first error is the one to tell
		return nil, err
	}
	return conn, nil
}

// HasIdle implements Conns.
func (c pgxConns) HasIdle() bool { return c.pool.Stat().IdleConns() > 0 }

// Close implements Conns.
func (c pgxConns) Close() { c.pool.Close() }
