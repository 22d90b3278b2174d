package pg

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/holdfastdev/holdfast/store"
)

// sqlConns are the connections of a pool of database/sql. The driver must be that of pgx: then each
// has a connection of pgx inside, through which pipelines, prepared statements and notifications
// work as they do without database/sql. The pool only lends the connection.
type sqlConns struct {
	db       *sql.DB
	settings atomic.Pointer[pgx.ConnConfig] // of the newest connection that was met
}

// metKey marks connections whose settings are known.
const metKey = "holdfast"

// With implements Conns.
func (c *sqlConns) With(ctx context.Context, f func(*pgx.Conn) error) (err error) {
	lent, err := c.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = lent.Close() }() // gives it back
	ended := lent.Raw(func(driverConn any) error {
		conn, ok := pgxConnIn(driverConn)
		if !ok {
			err = fmt.Errorf("%w: the *sql.DB has connections of the driver %T, of which Holdfast can use none; open it with "+
				`sql.Open("pgx", url) and the driver github.com/jackc/pgx/v5/stdlib`, store.ErrInvalid, driverConn)
			return nil
		}
		c.meet(conn)
		if err = f(conn); conn.IsClosed() || conn.PgConn().TxStatus() != 'I' {
			return driver.ErrBadConn // so that the pool drops it
		}
		return nil
	})
	if err == nil && !errors.Is(ended, driver.ErrBadConn) {
		err = ended
	}
	return err
}

// meet notes the settings of a connection that is new: some pools make each connection with another
// password, which is valid for minutes.
func (c *sqlConns) meet(conn *pgx.Conn) {
	data := conn.PgConn().CustomData()
	if _, known := data[metKey]; !known {
		data[metKey] = true
		c.settings.Store(conn.Config())
	}
}

// pgxConnIn finds the connection of pgx in one of a driver: pgx's own, or another one around it
// that says so, as those do that trace or count.
func pgxConnIn(driverConn any) (*pgx.Conn, bool) {
	for {
		switch conn := driverConn.(type) {
		case *stdlib.Conn:
			return conn.Conn(), true
		case interface{ Raw() driver.Conn }:
			driverConn = conn.Raw()
		default:
			return nil, false
		}
	}
}

// Beside implements Conns. database/sql does not tell the settings of a pool, so they are those of
// the newest connection that was met.
func (c *sqlConns) Beside(ctx context.Context, change func(*pgx.ConnConfig)) (*pgx.Conn, error) {
	for c.settings.Load() == nil {
		if err := c.With(ctx, func(*pgx.Conn) error { return nil }); err != nil {
			return nil, err
		}
	}
	config := c.settings.Load().Copy()
	change(config)
	return pgx.ConnectConfig(ctx, config)
}

// HasIdle implements Conns.
func (c *sqlConns) HasIdle() bool { return c.db.Stats().Idle > 0 }

// Close implements Conns.
func (c *sqlConns) Close() { _ = c.db.Close() } // it is done with
