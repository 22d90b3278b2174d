package pg

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfastdev/holdfast/store"
)

// Classify gives an error its class, after the table below, and says what was to be done. The class
// comes first; what has one already says all there is to say. The operations have the same names in
// every store.
func Classify(ctx context.Context, operation string, err error) error {
	if err == nil {
		return nil
	}
	for _, class := range sentinels {
		if errors.Is(err, class) {
			return store.Failure(class, operation, err)
		}
	}
	if ctxErr := ctx.Err(); ctxErr != nil {
		return store.Failure(nil, operation, ctxErr)
	}
	if failed, ok := connecting(err); ok {
		err = failed
	}
	hint, class := classOf(err)
	if hint != "" {
		err = fmt.Errorf("%w (%s)", err, hint)
	}
	return store.Failure(class, operation, err)
}

// sentinels are the classes of store that an error may already belong to.
var sentinels = []error{
	store.ErrPermission, store.ErrInvalid, store.ErrNotFound, store.ErrConflict, store.ErrLeaseLost, store.ErrNodeDead, store.ErrUnavailable,
	store.ErrRefused, store.ErrReadOnly, store.ErrFull, store.ErrSchema, store.ErrClosed,
}

// classOf is the table from PostgreSQL's errors to classes. What is not listed, such as a broken
// connection, makes the database unavailable: it may have happened or not, and may be tried again.
func classOf(err error) (hint string, class error) {
	pgErr, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		if strings.Contains(err.Error(), "closed pool") || strings.Contains(err.Error(), "database is closed") {
			return "", store.ErrClosed
		}
		if _, ok := errors.AsType[*pgconn.ParseConfigError](err); ok {
			return "", store.ErrInvalid
		}
		return "", store.ErrUnavailable
	}
	if IsCollision(err) {
		return "", store.ErrUnavailable
	}
	switch code := pgErr.Code; {
	case code == "53100", code == "58030" && strings.Contains(pgErr.Message, "No space left"):
		return "", store.ErrFull
	case code == "25006":
		return "is it a standby?", store.ErrReadOnly
	case code == codeUndefined, code == "3F000", code == "42703", code == "42883":
		return "run holdfast migrate up", store.ErrSchema
	case code == CodeDenied:
		return "", store.ErrPermission
	case code == codeReserved:
		return "choose another name for the schema", store.ErrInvalid
	case code == "3D000", strings.HasPrefix(code, "28"):
		return "", store.ErrInvalid
	case code == "26000", code == "42P05":
		return "this looks like a pooler in transaction mode; set session=off (Config.NoSession)", store.ErrInvalid
	case code == codeProtocol && strings.Contains(pgErr.Message, "startup parameter"):
		return "this looks like a pooler; set session=off (Config.NoSession)", store.ErrInvalid
	case code == CodeLockTimeout:
		return "another transaction holds a lock that this one needs", store.ErrUnavailable
	case IsData(err), strings.HasPrefix(code, "0A"), strings.HasPrefix(code, "42"):
		return "", store.ErrInvalid
	}
	return "", store.ErrUnavailable
}
