package rawsqlite

import (
	"context"
	"errors"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// maxOps bounds a transaction.
const maxOps = 2000

var errClosed = errors.New("the writer is closed")

type op struct {
	write func(*sqlite.Conn) error
	ack   chan error
}

// writer puts everything that waits into one transaction, one after the other. It never waits for
// more. If an operation fails, so does all of its transaction, which is good enough for a ceiling.
type writer struct {
	conn  *sqlite.Conn
	ops   chan op
	stop  chan struct{}
	ended chan struct{}
}

func newWriter(conn *sqlite.Conn) *writer {
	w := &writer{conn: conn, ops: make(chan op, maxOps), stop: make(chan struct{}), ended: make(chan struct{})}
	go w.loop()
	return w
}

// do returns when the operation is durable.
func (w *writer) do(ctx context.Context, write func(*sqlite.Conn) error) error {
	o := op{write: write, ack: make(chan error, 1)}
	select {
	case w.ops <- o:
	case <-w.stop:
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-o.ack:
		return err
	case <-w.ended:
		return errClosed
	}
}

func (w *writer) close() error {
	close(w.stop)
	<-w.ended
	return w.conn.Close()
}

func (w *writer) loop() {
	defer close(w.ended)
	ops := make([]op, 0, maxOps)
	for {
		ops = ops[:0]
		select {
		case o := <-w.ops:
			ops = append(ops, o)
		case <-w.stop:
			return
		}
	more:
		for len(ops) < maxOps {
			select {
			case o := <-w.ops:
				ops = append(ops, o)
			default:
				break more
			}
		}
		err := w.commit(ops)
		for _, o := range ops {
			o.ack <- err
		}
	}
}

func (w *writer) commit(ops []op) (err error) {
	end, err := sqlitex.ImmediateTransaction(w.conn)
	if err != nil {
		return err
	}
	defer end(&err)
	for _, o := range ops {
		if err := o.write(w.conn); err != nil {
			return err
		}
	}
	return nil
}
