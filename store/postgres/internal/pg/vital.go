package pg

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

// vitalPatience is how long a heartbeat waits for a connection of the pool.
const vitalPatience = time.Second

// SendVital is send for a heartbeat. Where all connections of the pool are in use for long, by
// handlers that have a transaction open each or by readers, it goes by one of its own.
func (d *DB) SendVital(ctx context.Context, list ...Statement) error {
	if d.IsClosed() {
		return ErrClosed
	}
	waiting, cancel := context.WithTimeout(ctx, vitalPatience)
	sent := false
	err := d.Conns.With(waiting, func(conn *pgx.Conn) error {
		cancel()
		sent = true
		return d.sendOn(ctx, conn, list)
	})
	cancel()
	if sent || ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) || d.Conns.HasIdle() {
		return err
	}
	d.vital.mu.Lock()
	defer d.vital.mu.Unlock()
	if d.vital.conn == nil || d.vital.conn.IsClosed() {
		if d.vital.conn, err = d.Beside(ctx, ""); err != nil {
			d.vital.conn = nil
			return err
		}
	}
	return d.sendOn(ctx, d.vital.conn, list)
}

// closeVital ends the connection.
func (d *DB) closeVital() {
	d.vital.mu.Lock()
	defer d.vital.mu.Unlock()
	if d.vital.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = d.vital.conn.Close(ctx) // it is done with
	d.vital.conn = nil
}
