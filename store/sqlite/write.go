package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfastdev/holdfast/store"
)

// write runs f in a write transaction and commits it. f runs again if the transaction has to start over; it must not have
// effects but those on its operands.
func (s *database) write(ctx context.Context, op string, f func(*tx) error) error {
	return s.writeIf(ctx, op, nil, f)
}

// writeIf is write for operations that most of the time find nothing to do. needed looks first, without the write lock: an
// idle node then costs other processes nothing, and wakes nobody. What it saw may have changed when f runs.
func (s *database) writeIf(ctx context.Context, op string, needed func(*tx) (bool, error), f func(*tx) error) error {
	c, err := s.takeWriter(ctx)
	if err != nil {
		return classify(op, err)
	}
	defer s.giveWriter(c)
	if s.denied != nil {
		return classify(op, s.denied)
	}
	err = patient(ctx, func() error {
		if err := s.place.begin(); err != nil {
			return err
		}
		if needed != nil {
			if yes, err := s.look(c, needed); err != nil || !yes {
				return err
			}
		}
		if err := c.beginImmediate(); err != nil {
			return err
		}
		return s.commit(c, f)
	})
	return classify(op, s.orGone(err))
}

// orGone returns the reason of an error that comes of the database being gone, if it does. One that is about the file names it.
func (s *database) orGone(err error) error {
	if err == nil || errors.Is(err, store.ErrClosed) {
		return err
	}
	if gone := s.place.look(); errors.Is(gone, store.ErrDatabaseGone) {
		return gone
	}
	return ofFile(s.path, err)
}

// look runs needed in a read transaction on c.
func (s *database) look(c *link, needed func(*tx) (bool, error)) (bool, error) {
	if err := c.begin(); err != nil {
		return false, err
	}
	defer c.rollback() // nothing was written
	t := s.begun(c)
	yes, err := needed(t)
	s.lanes.publish(t.lanes.read)
	return yes, err
}

// begun returns the transaction that is open on c.
func (s *database) begun(c *link) *tx {
	return &tx{session: c, own: c, database: s, now: s.micros(), ended: c.ended}
}

// commit runs f in the transaction that is open on c, and commits it, or rolls it back.
func (s *database) commit(c *link, f func(*tx) error) error {
	defer c.rollback() // does nothing after the commit
	t := s.begun(c)
	defer func() {
		clear(t.ended)
		c.ended = t.ended
	}()
	if err := f(t); err != nil {
		return err
	}
	if err := t.settle(); err != nil {
		return err
	}
	if err := c.commit(); err != nil {
		return err
	}
	if err := s.place.confirm(); err != nil {
		return err
	}
	s.lanes.publish(t.lanes.read)
	s.ends.publish(t.ended)
	if !t.tells {
		s.wakes.add(t.woken)
	}
	return nil
}

// isUntold reports whether nobody is told of what becomes available but by Watch: neither the
// caller by an answer, nor everybody by the version of the data, as when a caller's transaction
// commits.
func (t *tx) isUntold() bool { return t.own != nil && !t.tells }

// settle writes what the transaction has collected: claim records whose slots are done, and ordering keys to hand on.
func (t *tx) settle() error {
	if err := t.writeRecords(); err != nil {
		return err
	}
	return t.handOnKeys()
}

// takeWriter waits for the write connection, for 30 seconds if ctx has no end.
func (s *database) takeWriter(ctx context.Context) (*link, error) {
	return s.takeWriterWithin(ctx, withPatience)
}

// takeWriterWithin waits for the write connection as long as bound lets it.
func (s *database) takeWriterWithin(
	ctx context.Context, bound func(context.Context) (context.Context, context.CancelFunc),
) (*link, error) {
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
		return nil, impatient(ctx, "another transaction of this process")
	}
}

// usable returns the error of a store that was closed, or whose database is gone.
func (s *database) usable() error {
	select {
	case <-s.closed:
		return store.ErrClosed
	default:
		return s.place.check()
	}
}

// giveWriter gives the write connection back.
func (s *database) giveWriter(c *link) { s.writer <- c }

// read runs f on a connection of its own, which sees one snapshot. f runs again if the snapshot has to be taken again; it
// starts over then.
func (s *database) read(ctx context.Context, op string, f func(*tx) error) error {
	c, err := s.takeReader(ctx)
	if err != nil {
		return classify(op, err)
	}
	healthy := false
	defer func() { s.giveReader(c, healthy) }()
	c.interrupt(ctx.Done())
	err = patient(ctx, func() error {
		if err := s.place.begin(); err != nil {
			return err
		}
		if err := c.begin(); err != nil {
			return err
		}
		defer c.rollback()
		t := s.begun(c)
		err := f(t)
		s.lanes.publish(t.lanes.read) // what a snapshot shows is committed
		return err
	})
	c.interrupt(nil)
	c.rollback() // an interrupted connection refused to
	err = s.orGone(err)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	err = classify(op, err)
	// A connection that met something worse than the caller's mistake or impatience is opened again the next time.
	healthy = err == nil || ctx.Err() != nil || !store.IsRetryable(err)
	return err
}

// takeReader waits for a read connection, and opens it if it is its first time.
func (s *database) takeReader(ctx context.Context) (*link, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := s.usable(); err != nil {
		return nil, err
	}
	var c *link
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
		return nil, s.orGone(err)
	}
	return &link{conn: opened}, nil
}

// newReader opens a read connection, to the files that the others have open.
func (s *database) newReader(ctx context.Context) (*conn, error) {
	if err := s.place.look(); err != nil {
		return nil, err
	}
	c, err := openReader(ctx, s.path)
	if err != nil {
		return nil, err
	}
	if err := s.place.look(); err != nil {
		_ = c.close() // it told nothing
		return nil, err
	}
	return c, nil
}

func (s *database) giveReader(c *link, healthy bool) {
	if !healthy {
		_ = c.close() // what is wrong with it was told
		c = nil
	}
	s.readers <- c
}

// portionRows is how many entries of one job, and as many messages, one transaction removes or copies:
// what takes a few milliseconds.
const portionRows = 1000

// micros is the time of the process's clock, or the one that was injected.
func (s *database) micros() int64 { return s.clock().UnixMicro() }

// tryWriting takes the write lock, if nobody has it, and gives it back.
func (s *database) tryWriting(ctx context.Context) error {
	c, err := s.takeWriterWithin(ctx, context.WithCancel)
	if err != nil {
		return err
	}
	defer s.giveWriter(c)
	if err := s.place.begin(); err != nil {
		return err
	}
	err = c.beginImmediate()
	c.rollback()
	return err
}

// dataVersion changes when somebody else has committed: another process, another Store or a caller's transaction.
func (s *database) dataVersion(ctx context.Context) (version int64, err error) {
	c, err := s.takeWriter(ctx)
	if err != nil {
		return 0, err
	}
	defer s.giveWriter(c)
	if err := s.place.look(); err != nil {
		return 0, err
	}
	err = patient(ctx, func() error {
		version, err = c.dataVersion()
		return err
	})
	return version, s.orGone(err)
}
