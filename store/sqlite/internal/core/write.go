package core

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// Write runs f in a write transaction and commits it. f runs again if the transaction has to start
// over; it must not have effects but those on its operands.
func (s *Database) Write(ctx context.Context, op string, f func(*Tx) error) error {
	_, err := s.Move(ctx, op, nil, f)
	return err
}

// WriteIf is Write for operations that most of the time find nothing to do. needed looks first,
// without the write lock: an idle node then costs other processes nothing, and wakes none. What
// it saw may have changed when f runs.
func (s *Database) WriteIf(ctx context.Context, op string, needed func(*Tx) (bool, error), f func(*Tx) error) error {
	_, err := s.Move(ctx, op, needed, f)
	return err
}

// Move is Write, or with needed WriteIf, for what makes jobs available or due: it returns what
// nodes are to be told of.
func (s *Database) Move(
	ctx context.Context, op string, needed func(*Tx) (bool, error), f func(*Tx) error,
) (wakes []store.Wake, err error) {
	c, err := s.TakeWriter(ctx)
	if err != nil {
		return nil, db.Classify(op, err)
	}
	defer s.GiveWriter(c)
	if s.denied != nil {
		return nil, db.Classify(op, s.denied)
	}
	err = db.Patient(ctx, func() (err error) {
		if err := s.Place.Begin(); err != nil {
			return err
		}
		if needed != nil {
			if yes, err := s.look(c, needed); err != nil || !yes {
				return err
			}
		}
		if err := c.BeginImmediate(); err != nil {
			return err
		}
		s.Own.begin()
		defer s.Own.end()
		wakes, err = s.commit(c, store.RequestIn(ctx), f)
		return err
	})
	return wakes, db.Classify(op, s.OrGone(err))
}

// OrGone returns the reason of an error that comes of the database being gone, if it does. One that
// is about the file names it.
func (s *Database) OrGone(err error) error {
	if err == nil || errors.Is(err, store.ErrClosed) {
		return err
	}
	if gone := s.Place.Look(); errors.Is(gone, store.ErrDatabaseGone) {
		return gone
	}
	return db.OfFile(s.Path, err)
}

// look runs needed in a read transaction on c.
func (s *Database) look(c *Link, needed func(*Tx) (bool, error)) (bool, error) {
	if err := c.Begin(); err != nil {
		return false, err
	}
	defer c.Rollback() // nothing was written
	t := s.begun(c)
	yes, err := needed(t)
	s.Lanes.publish(t.lanes.read)
	return yes, err
}

// begun returns the transaction that is open on c.
func (s *Database) begun(c *Link) *Tx {
	return &Tx{Session: c, Own: c, Database: s, Now: s.Micros(), Tails: c.tails}
}

// commit runs f in the transaction that is open on c, and commits it, or rolls it back. It returns
// what nodes are to be told of.
func (s *Database) commit(c *Link, r *store.KeyedRequest, f func(*Tx) error) ([]store.Wake, error) {
	defer c.Rollback() // does nothing after the commit
	t := s.begun(c)
	t.request = r
	defer func() {
		clear(t.Tails)
		c.tails = t.Tails
	}()
	if err := f(t); err != nil {
		return nil, err
	}
	if err := t.writeCollected(); err != nil {
		return nil, err
	}
	if err := c.Commit(); err != nil {
		return nil, err
	}
	if err := s.Place.Confirm(); err != nil {
		return nil, err
	}
	s.Lanes.publish(t.lanes.read)
	s.Tails.publish(t.Tails)
	return t.Woken, nil
}

// writeCollected writes what the transaction has collected: that the request has happened in whose
// context it was begun, claim records whose slots are done, gates that these free, ordering keys to
// hand on, and what the feed is to tell.
func (t *Tx) writeCollected() error {
	if err := t.writeRequest(); err != nil {
		return err
	}
	if err := t.WriteRecords(); err != nil {
		return err
	}
	if err := t.handOnOrAsk(); err != nil {
		return err
	}
	if err := t.handOnKeys(); err != nil {
		return err
	}
	return t.writeFeed()
}

// TakeWriter waits for the write connection, for 30 seconds if ctx has no end.
func (s *Database) TakeWriter(ctx context.Context) (*Link, error) {
	return s.takeWriterWithin(ctx, db.WithPatience)
}

// takeWriterWithin waits for the write connection as long as bound lets it.
func (s *Database) takeWriterWithin(
	ctx context.Context, bound func(context.Context) (context.Context, context.CancelFunc),
) (*Link, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := s.usable(); err != nil {
		return nil, err
	}
	select {
	case c := <-s.writer:
		return c, nil
	default:
	}
	waiting, cancel := bound(ctx)
	defer cancel()
	select {
	case c := <-s.writer:
		return c, nil
	case <-s.closed:
		return nil, store.ErrClosed
	case <-waiting.Done():
		return nil, db.Impatient(ctx, "another transaction of this process")
	}
}

// usable returns the error of a store that was closed, or whose database is gone.
func (s *Database) usable() error {
	select {
	case <-s.closed:
		return store.ErrClosed
	default:
		return s.Place.Check()
	}
}

// GiveWriter gives the write connection back.
func (s *Database) GiveWriter(c *Link) { s.writer <- c }

// Read runs f on a connection of its own, which sees one snapshot. f runs again if the snapshot has
// to be taken again; it starts over then.
func (s *Database) Read(ctx context.Context, op string, f func(*Tx) error) error {
	c, err := s.takeReader(ctx)
	if err != nil {
		return db.Classify(op, err)
	}
	healthy := false
	defer func() { s.giveReader(c, healthy) }()
	c.Interrupt(ctx.Done())
	err = db.Patient(ctx, func() error {
		if err := s.Place.Begin(); err != nil {
			return err
		}
		if err := c.Begin(); err != nil {
			return err
		}
		defer c.Rollback()
		t := s.begun(c)
		err := f(t)
		s.Lanes.publish(t.lanes.read) // what a snapshot shows is committed
		return err
	})
	c.Interrupt(nil)
	c.Rollback() // an interrupted connection refused to
	err = s.OrGone(err)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	err = db.Classify(op, err)
	// A connection that met something worse than the caller's mistake or impatience is opened again
	// the next time.
	healthy = err == nil || ctx.Err() != nil || !store.IsRetryable(err)
	return err
}

// takeReader waits for a read connection, and opens it if it is its first time.
func (s *Database) takeReader(ctx context.Context) (*Link, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := s.usable(); err != nil {
		return nil, err
	}
	var c *Link
	select {
	case c = <-s.readers:
	case <-s.closed:
		return nil, store.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if c != nil {
		return c, nil
	}
	opened, err := s.newReader(ctx)
	if err != nil {
		s.readers <- nil
		return nil, s.OrGone(err)
	}
	return &Link{Conn: opened}, nil
}

// newReader opens a read connection, to the files that the others have open.
func (s *Database) newReader(ctx context.Context) (*db.Conn, error) {
	if err := s.Place.Look(); err != nil {
		return nil, err
	}
	c, err := db.OpenReader(ctx, s.Path)
	if err != nil {
		return nil, err
	}
	if err := s.Place.Look(); err != nil {
		_ = c.Close() // it told nothing
		return nil, err
	}
	return c, nil
}

func (s *Database) giveReader(c *Link, healthy bool) {
	if !healthy {
		_ = c.Close() // what is wrong with it was told
		c = nil
	}
	s.readers <- c
}

// portionRows is how many entries of one job, and as many messages, one transaction removes or
// copies: what takes a few milliseconds.
const portionRows = 1000

// Micros is the time of the process's clock, or the one that was injected.
func (s *Database) Micros() int64 { return s.clock().UnixMicro() }

// TryWriting takes the write lock, if it is free, and gives it back.
func (s *Database) TryWriting(ctx context.Context) error {
	c, err := s.takeWriterWithin(ctx, context.WithCancel)
	if err != nil {
		return err
	}
	defer s.GiveWriter(c)
	if err := s.Place.Begin(); err != nil {
		return err
	}
	err = c.BeginImmediate()
	c.Rollback()
	return err
}

// DataVersion changes when another connection has committed: another process, another Store or a
// caller's transaction.
func (s *Database) DataVersion(ctx context.Context) (version int64, err error) {
	c, err := s.TakeWriter(ctx)
	if err != nil {
		return 0, err
	}
	defer s.GiveWriter(c)
	if err := s.Place.Look(); err != nil {
		return 0, err
	}
	err = db.Patient(ctx, func() error {
		version, err = c.DataVersion()
		return err
	})
	return version, s.OrGone(err)
}
