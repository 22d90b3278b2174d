package postgres

import (
	"database/sql"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/store"
)

// storeName is what Traits and transactions call this store.
const storeName = "postgres"

// Tx wraps a caller's pgx transaction for EnqueueTx, SendTx and AppendTx.
func Tx(tx pgx.Tx) store.Tx { return callersTx{pgx: tx} }

// SQLTx wraps a caller's transaction of database/sql for the same. It must be of pgx's driver
// (pgx/v5/stdlib).
func SQLTx(tx *sql.Tx) store.Tx { return callersTx{sql: tx} }

type callersTx struct {
	pgx pgx.Tx
	sql *sql.Tx
}

// StoreName implements store.Tx.
func (callersTx) StoreName() string { return storeName }
