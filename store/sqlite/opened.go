package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// opened is a file that was opened, and whose schema fits.
type opened struct {
	writer     *conn
	configured string      // the path by which others find it, which may be a link
	path       string      // that of the file
	found      fs.FileInfo // what was there before it was opened
	denied     error       // ErrReadOnly, if this process may only look
	readers    int         // how many reads may run at once
	clock      func() time.Time
}

// newDatabase returns a database that was opened, if it is the one that was found.
func newDatabase(ctx context.Context, o opened) (*database, error) {
	s := &database{
		path: o.path, clock: o.clock, denied: o.denied,
		writer: make(chan *link, 1), readers: make(chan *link, o.readers), closed: make(chan struct{}),
		wakes: untold{more: make(chan struct{}, 1)}, portion: portionRows,
	}
	if err := s.place.remember(o.configured, o.path); err != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	if !os.SameFile(o.found, s.place.main.info) {
		return nil, fmt.Errorf("%w: %s was replaced while it was being opened", store.ErrUnavailable, o.configured)
	}
	err := patient(ctx, func() (err error) {
		if s.id, err = databaseID(o.writer); err != nil {
			return err
		}
		s.firstVersion, err = o.writer.dataVersion()
		return err
	})
	if err != nil {
		return nil, err
	}
	s.lives.dir, s.lives.like = s.path+".nodes", s.place.main.info
	s.writer <- &link{conn: o.writer}
	for range o.readers {
		s.readers <- nil
	}
	return s, nil
}

// close closes the connections, once nobody uses them any more, and gives up the locks of nodes. It is called once.
func (s *database) close() (err error) {
	writer := <-s.writer
	close(s.closed)
	for range cap(s.readers) {
		if r := <-s.readers; r != nil {
			err = errors.Join(err, r.close())
		}
	}
	// The last connection to close copies the log back into the file and removes it.
	return errors.Join(err, writer.close(), s.lives.releaseAll())
}
