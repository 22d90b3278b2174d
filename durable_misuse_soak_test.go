//go:build soak

package holdfast_test

import (
	"database/sql"
	"testing"

	"github.com/holdfastdev/holdfast/internal/pgtest/ready"
	"github.com/holdfastdev/holdfast/store/postgres"
)

func TestMisuseOnPostgreSQL(t *testing.T) {
	t.Parallel()
	url := ready.Database(t)
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	l := sqlLedger(t, db, postgres.BeginSQL(db), "INSERT INTO ledger VALUES ($1)")
	playMisuses(t, postgres.URL(url), inTransaction(l))
}
