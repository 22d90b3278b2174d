package sqlite

import (
	"context"
	"database/sql"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
)

// Conn is what the store needs of a caller's transaction: *sql.Tx, or a *sql.Conn on which the
// caller has begun one.
type Conn interface {
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

// Tx wraps a caller's transaction for EnqueueTx, SendTx and AppendTx. It must be on the same file
// as the store, with any SQLite driver for database/sql. Begin it as a writer (with
// modernc.org/sqlite: _txlock=immediate in the data source name): SQLite refuses the first write of
// a transaction that has read before, if another one wrote meanwhile.
//
// While the transaction is open after its first write, everybody else who writes to the file waits
// for it. Keep it short.
func Tx(c Conn) store.Tx { return core.WrapTx(c) }
