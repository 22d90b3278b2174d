package sqlite

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// Backup copies the database, which may be in use, into a new file at path, and returns how large
// that is and how many jobs it has: all that was committed when the copy began. Writers are not
// held up. The copy is made and checked under another name beside path, which it gets at the end; a
// file that is there is not touched, and the error is ErrConflict. The error is ErrSchema if there
// is no database, and ErrInvalid if the copy is damaged, as the database then is.
//
// To go back to it, stop all programs, remove what lies beside the database (its name with -wal,
// -shm and .nodes), and put the copy in its place.
func (c Config) Backup(ctx context.Context, path string) (bytes, jobs int64, err error) {
	bytes, jobs, err = c.backup(ctx, path)
	return bytes, jobs, db.Classify("back up "+c.Path, err)
}

func (c Config) backup(ctx context.Context, path string) (bytes, jobs int64, err error) {
	if c, err = c.withDefaults(); err != nil {
		return 0, 0, err
	}
	if _, err := os.Stat(c.Path); c.Path == Memory || errors.Is(err, fs.ErrNotExist) {
		return 0, 0, fmt.Errorf("%w: there is no database %s", store.ErrSchema, c.Path)
	}
	if path, err = filepath.Abs(path); err != nil {
		return 0, 0, fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	if err := isFree(path); err != nil {
		return 0, 0, err
	}
	partial := path + ".partial-" + rand.Text()[:8]
	defer func() { err = errors.Join(err, ignoreMissing(os.Remove(partial))) }()
	if err := c.vacuumInto(ctx, partial); err != nil {
		return 0, 0, db.OfFile(c.Path, err)
	}
	if jobs, err = checkBackup(ctx, partial); err != nil {
		return 0, 0, db.OfFile(partial, err)
	}
	if bytes, err = settle(partial, path); err != nil {
		return 0, 0, err
	}
	return bytes, jobs, nil
}

func isFree(path string) error {
	_, err := os.Lstat(path)
	switch {
	case err == nil:
		return fmt.Errorf("%w: %s exists; name a new file", store.ErrConflict, path)
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	if _, err := os.Stat(filepath.Dir(path)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: there is no directory %s", store.ErrInvalid, filepath.Dir(path))
	}
	return nil // other problems are told when it is made
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// vacuumInto copies the database in one snapshot, into a file that only its owner can read.
func (c Config) vacuumInto(ctx context.Context, path string) (err error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, privateMode)
	if err != nil {
		return fmt.Errorf("%w: %w", store.ErrReadOnly, err)
	}
	if err := file.Close(); err != nil {
		return err
	}
	conn, err := db.OpenConn(c.Path, false)
	if err != nil {
		return db.CantOpen(c.Path, err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	conn.Interrupt(ctx.Done())
	err = db.Patient(ctx, func() error { return conn.VacuumInto(path) })
	conn.Interrupt(nil)
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return err
}

// checkBackup reads all of a copy.
func checkBackup(ctx context.Context, path string) (jobs int64, err error) {
	conn, err := db.OpenConn(path, false)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	conn.Interrupt(ctx.Done())
	found, err := conn.One("PRAGMA integrity_check")
	switch {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case err != nil:
		return 0, err
	case found != "ok":
		return 0, fmt.Errorf("%w: the copy is damaged: %s", store.ErrInvalid, found)
	}
	if _, err := appliedVersion(conn); err != nil {
		return 0, err
	}
	s := conn.Stmt("backup_jobs")
	if more, err := s.Next(); err != nil || !more {
		return 0, db.Unexpected("backup_jobs", err)
	}
	defer s.Done()
	return s.ReadInt(), nil
}

// settle makes a file last, and gives it its name, unless that was taken meanwhile.
func settle(partial, path string) (bytes int64, err error) {
	file, err := os.OpenFile(partial, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	info, err := file.Stat()
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return 0, err
	}
	// A link refuses a name that is taken, which a rename does not.
	err = os.Link(partial, path)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		if err = isFree(path); err == nil { // the file system has no links
			err = os.Rename(partial, path)
		}
	}
	if errors.Is(err, fs.ErrExist) {
		return 0, isFree(path)
	}
	if err != nil {
		return 0, err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return 0, err
	}
	// A system that cannot sync a directory keeps names by other means.
	_ = dir.Sync()
	return info.Size(), dir.Close()
}
