package db

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Fresh is for how long a look holds for what is begun: it makes no difference to what is
// confirmed.
const Fresh = 10 * time.Millisecond

// epoch has a reading of the monotonic clock.
var epoch = time.Now()

// goneError is what all operations fail with from then on.
type goneError struct{ path, what string }

// Place is where the database was found when it was opened, and what was there. The file
// may be deleted or replaced while it is open. SQLite does not notice: it goes on writing to a file
// that can never be found again. The same is true of the log beside it, which
// holds the last commits, and of the index of the log, by which processes tell each other where it
// ends. SQLite itself replaces neither as long as a process has the database open.
//
// So nothing is confirmed before the file and its log were seen to be in their place, after the
// commit. And nothing is begun, or read, if all of them were not seen there a moment ago.
type Place struct {
	Main, Log, Index Placed

	gone atomic.Pointer[goneError] // once anything was seen to be gone
	Seen atomic.Int64              // when all were seen in their place, in nanoseconds since epoch

	Stat func(path string) (fs.FileInfo, error) // os.Stat, but in tests
}

// Placed is a file that was there.
type Placed struct {
	Path string
	Info fs.FileInfo
}

func (e *goneError) Error() string {
	return fmt.Sprintf("%v: %s was %s while it was open, so anything stored in it now would be lost; "+
		"stop all programs that have it open, then put it back together with its -wal, or remove its -wal and -shm "+
		"before you restore a backup or start with a new file", store.ErrDatabaseGone, e.path, e.what)
}

// Unwrap makes the error an ErrDatabaseGone.
func (e *goneError) Unwrap() error { return store.ErrDatabaseGone }

// placedAt notes which file is at path.
func placedAt(path string) (Placed, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Placed{}, err
	}
	os.SameFile(info, info) // on Windows, the identity is read when it is first asked for
	return Placed{path, info}, nil
}

// Remember notes what is in its place. configured is the path by which others find the database,
// which may be a link, resolved that of the file.
func (p *Place) Remember(configured, resolved string) (err error) {
	p.Stat = os.Stat
	if p.Main, err = placedAt(configured); err != nil {
		return err
	}
	if p.Log, err = placedAt(resolved + "-wal"); err != nil {
		return err
	}
	p.Index, err = placedAt(resolved + "-shm")
	if errors.Is(err, fs.ErrNotExist) { // where a system keeps it elsewhere
		p.Index, err = Placed{}, nil
	}
	return err
}

// Check returns the error of a database that is gone, as far as anybody has noticed.
func (p *Place) Check() error {
	if gone := p.gone.Load(); gone != nil {
		return gone
	}
	return nil
}

// Begin looks whether all is in its place, unless that was just looked at.
func (p *Place) Begin() error {
	if time.Since(epoch)-time.Duration(p.Seen.Load()) < Fresh {
		return p.Check()
	}
	return p.Look()
}

// Look looks at all files.
func (p *Place) Look() error {
	now := time.Since(epoch)
	if err := p.Confirm(); err != nil {
		return err
	}
	if err := p.compare(p.Index); err != nil {
		return err
	}
	p.Seen.Store(int64(now))
	return nil
}

// Confirm looks whether what was committed before the call is in a database that others will find.
func (p *Place) Confirm() error {
	if err := p.Check(); err != nil {
		return err
	}
	if err := p.compare(p.Main); err != nil {
		return err
	}
	return p.compare(p.Log)
}

// compare looks whether a file is the one that was there.
func (p *Place) compare(was Placed) error {
	if was.Info == nil {
		return nil
	}
	info, err := p.Stat(was.Path)
	switch {
	case err == nil && os.SameFile(info, was.Info):
		return nil
	case err == nil:
		return p.lose(was, "replaced by another file")
	case errors.Is(err, fs.ErrNotExist):
		return p.lose(was, "deleted or moved")
	default: // unknown; it may pass
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
}

// lose notes that the database is gone, which is final: what is put back later may be older than
// what was committed.
func (p *Place) lose(was Placed, what string) error {
	p.gone.CompareAndSwap(nil, &goneError{was.Path, what})
	return p.gone.Load()
}
