package core

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// Opened is a file that was opened, and whose schema fits.
type Opened struct {
	Writer     *db.Conn
	Configured string      // the path by which others find it, which may be a link
	Path       string      // that of the file
	Found      fs.FileInfo // what was there before it was opened
	Denied     error       // ErrReadOnly, if this process may only look
	Readers    int         // how many reads may run at once
	Clock      func() time.Time
}

// New returns a database that was opened, if it is the one that was found.
func New(ctx context.Context, o Opened) (*Database, error) {
	s := &Database{
		Path: o.Path, clock: o.Clock, denied: o.Denied,
		writer: make(chan *Link, 1), readers: make(chan *Link, o.Readers), closed: make(chan struct{}),
		Portion: portionRows,
	}
	if err := s.Place.Remember(o.Configured, o.Path); err != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	if !os.SameFile(o.Found, s.Place.Main.Info) {
		return nil, fmt.Errorf("%w: %s was replaced while it was being opened", store.ErrUnavailable, o.Configured)
	}
	err := db.Patient(ctx, func() (err error) {
		if s.id, err = db.DatabaseID(o.Writer); err != nil {
			return err
		}
		s.FirstVersion, err = o.Writer.DataVersion()
		return err
	})
	if err != nil {
		return nil, err
	}
	s.Lives.Dir, s.Lives.Like = s.Path+".nodes", s.Place.Main.Info
	s.writer <- &Link{Conn: o.Writer}
	for range o.Readers {
		s.readers <- nil
	}
	return s, nil
}

// Close closes the connections, once they are not used any more, and gives up the locks of nodes.
// It is called once.
func (s *Database) Close() (err error) {
	writer := <-s.writer
	close(s.closed)
	for range cap(s.readers) {
		if r := <-s.readers; r != nil {
			err = errors.Join(err, r.Close())
		}
	}
	// The last connection to close copies the log back into the file and removes it.
	return errors.Join(err, writer.Close(), s.Lives.ReleaseAll())
}
