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
func (s *DB) SendVital(ctx context.Context, list ...Statement) error {
	if s.IsClosed() {
		return ErrClosed
	}
	waiting, cancel := context.WithTimeout(ctx, vitalPatience)
	conn, err := s.Pool.Acquire(waiting)
	cancel()
	switch {
	case err == nil:
		defer conn.Release()
		return s.sendOn(ctx, conn, list)
	case ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) || s.Pool.Stat().IdleConns() > 0:
		return err
	}
	s.vital.mu.Lock()
	defer s.vital.mu.Unlock()
	if s.vital.conn == nil || s.vital.conn.IsClosed() {
		if s.vital.conn, err = pgx.ConnectConfig(ctx, s.ConnConfig()); err != nil {
			s.vital.conn = nil
			return err
		}
	}
	return s.sendOn(ctx, s.vital.conn, list)
}

// closeVital ends the connection.
func (s *DB) closeVital() {
	s.vital.mu.Lock()
	defer s.vital.mu.Unlock()
	if s.vital.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = s.vital.conn.Close(ctx) // it is done with
	s.vital.conn = nil
}
