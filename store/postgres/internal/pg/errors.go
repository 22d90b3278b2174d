package pg

import (
	"database/sql"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/refusal"
)

// ErrClosed is returned by everything after Close.
var ErrClosed = store.ErrClosed

// Codes of PostgreSQL's errors, and one of our own.
const (
	CodeRefused       = "HF001" // by the schema's function refuse
	CodeUnique        = "23505"
	CodeForeignKey    = "23503"
	CodeDeadlock      = "40P01"
	CodeLockTimeout   = "55P03" // lock_not_available
	codeCancelled     = "57014"
	codeSerialization = "40001"
	codeUndefined     = "42P01"
	codeProtocol      = "08P01"
	codeFeature       = "0A000"
	CodeDenied        = "42501" // insufficient_privilege
	codeReserved      = "42939" // reserved_name
	codeAborted       = "25P02" // in_failed_sql_transaction
)

// CodeOf returns the SQLSTATE of an error, or "".
func CodeOf(err error) string {
	if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pgErr.Code
	}
	return ""
}

// ofCallers is an error of a statement in a caller's transaction: an ErrInvalid if that can have no
// other statement.
func ofCallers(err error) error {
	switch {
	case err == nil:
		return nil
	case CodeOf(err) == codeAborted:
		return refusal.TxIsOver("aborted", err)
	case errors.Is(err, pgx.ErrTxClosed), errors.Is(err, sql.ErrTxDone):
		return refusal.TxIsOver("closed", err)
	}
	return err
}

// IsLockTimeout reports whether a statement has waited for a lock for longer than it may. A timeout
// in the moment in which the lock is had, or another wait begins, is what PostgreSQL takes for a
// user's request to cancel the statement. One that a person does cancel is repeated like the
// others.
func IsLockTimeout(err error) bool {
	code := CodeOf(err)
	return code == CodeLockTimeout || code == codeCancelled
}

// IsCollision reports whether a transaction was ended because of another one: it may be repeated as
// it is. So may a statement that was prepared before the schema changed, which pgx then prepares
// again.
func IsCollision(err error) bool {
	pgErr, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return false
	}
	return pgErr.Code == CodeDeadlock || pgErr.Code == codeSerialization ||
		pgErr.Code == codeFeature && strings.Contains(pgErr.Message, "cached plan")
}

// IsData reports whether a statement failed because of what it was given: a part of a batch may do
// well without the rest.
func IsData(err error) bool {
	code := CodeOf(err)
	return strings.HasPrefix(code, "22") || strings.HasPrefix(code, "23") || strings.HasPrefix(code, "54") || code == "21000"
}

// IsOfJournal reports whether an entry with the same number was in the way.
func IsOfJournal(err error) bool {
	pgErr, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pgErr.Code == CodeUnique && strings.HasPrefix(pgErr.TableName, "journal")
}
