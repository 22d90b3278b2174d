package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"zombiezen.com/go/sqlite"

	"github.com/holdfastdev/holdfast/store"
)

// sentinels are the classes of package store; an error that is one of them is passed on as it is.
var sentinels = []error{
	store.ErrInvalid, store.ErrNotFound, store.ErrConflict, store.ErrLeaseLost, store.ErrNodeDead, store.ErrUnavailable,
	store.ErrReadOnly, store.ErrFull, store.ErrSchema, store.ErrDatabaseGone, store.ErrClosed, context.Canceled, context.DeadlineExceeded,
}

// classify gives an error its class and says which operation failed.
//
//	busy, locked, protocol, I/O, memory   ErrUnavailable
//	read-only, no permission              ErrReadOnly
//	full                                  ErrFull
//	no such table or column               ErrSchema
//	damaged, not a database, the rest     ErrInvalid: repeating it does not help
func classify(op string, err error) error {
	if err == nil {
		return nil
	}
	for _, class := range sentinels {
		if errors.Is(err, class) {
			return fmt.Errorf("sqlite: %s: %w", op, err)
		}
	}
	class, hint := store.ErrInvalid, ""
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultBusy, sqlite.ResultLocked, sqlite.ResultProtocol, sqlite.ResultIOErr, sqlite.ResultNoMem,
		sqlite.ResultInterrupt, sqlite.ResultCantOpen:
		class = store.ErrUnavailable
	case sqlite.ResultReadOnly, sqlite.ResultPerm, sqlite.ResultAuth:
		class = store.ErrReadOnly
	case sqlite.ResultFull:
		class = store.ErrFull
	case sqlite.ResultCorrupt:
		hint = "the database file is damaged: "
	case sqlite.ResultNotADB:
		hint = "the file is not an SQLite database: "
	default:
		class = classByText(err)
	}
	return fmt.Errorf("sqlite: %s: %w: %s%w", op, class, hint, err)
}

// classByText looks at the words of an error. SQLite gives a missing table the same code as a syntax error, and the drivers of
// callers' transactions have codes of their own.
func classByText(err error) error {
	if errors.Is(err, driver.ErrBadConn) {
		return store.ErrUnavailable
	}
	if errors.Is(err, sql.ErrTxDone) {
		return store.ErrInvalid
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
