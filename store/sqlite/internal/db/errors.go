package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"zombiezen.com/go/sqlite"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/refusal"
)

// sentinels are the classes of package store; an error that is one of them is passed on as it is.
var sentinels = []error{
	store.ErrInvalid, store.ErrNotFound, store.ErrConflict, store.ErrLeaseLost, store.ErrNodeDead, store.ErrUnavailable,
	store.ErrRefused, store.ErrReadOnly, store.ErrFull, store.ErrSchema, store.ErrDatabaseGone, store.ErrClosed,
}

// Classify gives an error its class and says which operation failed. The class comes first; what
// has one already says all there is to say. The operations have the same names in every store.
//
//	busy, locked, protocol, I/O, memory   ErrUnavailable
//	read-only, no permission              ErrReadOnly
//	full                                  ErrFull
//	no such table or column               ErrSchema
//	damaged, not a database, the rest     ErrInvalid: repeating it does not help
func Classify(op string, err error) error {
	if err == nil {
		return nil
	}
	if bad, ok := errors.AsType[*badFileError](err); ok {
		return store.Failure(store.ErrInvalid, "", bad)
	}
	for _, class := range sentinels {
		if errors.Is(err, class) {
			return store.Failure(class, op, err)
		}
	}
	if errors.Is(err, sql.ErrTxDone) {
		return store.Failure(store.ErrInvalid, op, refusal.TxIsOver("closed", err))
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return store.Failure(nil, op, err)
	}
	class := store.ErrInvalid
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultBusy, sqlite.ResultLocked, sqlite.ResultProtocol, sqlite.ResultIOErr, sqlite.ResultNoMem,
		sqlite.ResultInterrupt, sqlite.ResultCantOpen:
		class = store.ErrUnavailable
	case sqlite.ResultReadOnly, sqlite.ResultPerm, sqlite.ResultAuth:
		class = store.ErrReadOnly
	case sqlite.ResultFull:
		class = store.ErrFull
	case sqlite.ResultCorrupt:
		err = &badFileError{"the database file is damaged", err}
	case sqlite.ResultNotADB:
		err = &badFileError{"the file is not an SQLite database", err}
	default:
		class = classByText(err)
	}
	return store.Failure(class, op, err)
}

// IsTaken reports whether a row was there already that a statement wanted to insert.
func IsTaken(err error) bool { return sqlite.ErrCode(err).ToPrimary() == sqlite.ResultConstraint }

// badFileError is about a file that is damaged or not a database.
type badFileError struct {
	text string
	err  error
}

func (e *badFileError) Error() string { return e.text }

func (e *badFileError) Unwrap() error { return e.err }

// OfFile names the file in an error that is about it.
func OfFile(path string, err error) error {
	code := sqlite.ErrCode(err).ToPrimary()
	if code == sqlite.ResultCorrupt {
		text := "the database file " + path + " is damaged; restore a backup, or save what can be read with: sqlite3 FILE .recover"
		return &badFileError{text, err}
	}
	if code == sqlite.ResultNotADB {
		return &badFileError{path + " is not an SQLite database; check the path", err}
	}
	return err
}

// classByText looks at the words of an error. SQLite gives a missing table the same code as a
// syntax error, and the drivers of callers' transactions have codes of their own.
func classByText(err error) error {
	if errors.Is(err, driver.ErrBadConn) {
		return store.ErrUnavailable
	}
	text := err.Error()
	for _, known := range []struct {
		words string
		class error
	}{
		{"no such table", store.ErrSchema},
		{"no such column", store.ErrSchema},
		{"has no column", store.ErrSchema},
		{"readonly", store.ErrReadOnly},
		{"is full", store.ErrFull},
		{"is locked", store.ErrUnavailable},
		{"SQLITE_BUSY", store.ErrUnavailable},
		{"I/O error", store.ErrUnavailable},
	} {
		if strings.Contains(text, known.words) {
			return known.class
		}
	}
	return store.ErrInvalid
}

// Unexpected is the error of a statement that had to return a row: its own, or a mistake in this
// package.
func Unexpected(statement string, err error) error {
	if err != nil {
		return err
	}
	return fmt.Errorf("%w: %s returned nothing", store.ErrInvalid, statement)
}

// CantOpen finds out why a file cannot be opened: SQLite has one code for many reasons. It looks at
// the permissions and does not open the file, see doc.go.
func CantOpen(path string, err error) error {
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultCantOpen, sqlite.ResultReadOnly, sqlite.ResultIOErr:
	default:
		return err
	}
	if problem := writable(path); problem != nil {
		return fmt.Errorf("%w: %w: %w", store.ErrReadOnly, problem, err)
	}
	return err
}
