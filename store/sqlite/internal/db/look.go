package db

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"zombiezen.com/go/sqlite"

	"github.com/holdfastdev/holdfast/store"
)

// A user who may not write a database may still look at it, but must leave nothing beside it: a log
// or an index of another user would keep its owner from writing. SQLite makes both to read, so such
// a look needs those that are there: while a process that may write has the database open, or if it
// was killed.

// openLooking opens a file that this process may not write, without making anything.
func openLooking(path string, denied error) (*Conn, error) {
	file, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	before, err := os.Stat(file + "-wal")
	if err == nil {
		_, err = os.Stat(file + "-shm")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w; it can be read only while a user who may write it has it open", store.ErrReadOnly, denied)
	}
	name := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(file), RawQuery: "mode=ro&readonly_shm=1"}
	c, err := sqlite.OpenConn(name.String(), sqlite.OpenReadOnly|sqlite.OpenURI)
	if err != nil {
		return nil, err
	}
	c.SetBusyTimeout(0)
	looking := &Conn{c: c, stmts: map[string]*nativeStmt{}}
	_, err = looking.One("SELECT count(*) FROM sqlite_schema") // opens the log
	after, statErr := os.Stat(file + "-wal")
	if statErr == nil && os.SameFile(before, after) {
		if err != nil && !IsBusy(err) {
			return nil, errors.Join(err, looking.Close())
		}
		return looking, nil
	}
	// The last one who had it open has closed it at this moment, and SQLite may have made a new
	// log.
	err = looking.Close()
	if statErr == nil && after.Size() == 0 && isOurs(after) {
		err = errors.Join(err, os.Remove(file+"-wal"))
	} else if errors.Is(statErr, fs.ErrNotExist) {
		statErr = nil
	}
	return nil, fmt.Errorf("%w: %s was closed by its owner while it was being opened: %w",
		store.ErrUnavailable, file, errors.Join(err, statErr, denied))
}
