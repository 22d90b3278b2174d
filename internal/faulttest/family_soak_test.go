//go:build soak

package faulttest

import (
	"database/sql"
	"testing"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

func newHouse(t *testing.T, db *database) *house {
	t.Helper()
	return &house{t: t, db: db, hf: db.open(t), tx: db.sqlDB(t), wrap: wrapOf(db), told: map[holdfast.ID]int{}}
}

func wrapOf(db *database) func(*sql.Tx) store.Tx {
	if db.url == "" {
		return func(tx *sql.Tx) store.Tx { return sqlite.Tx(tx) }
	}
	return postgres.SQLTx
}
