//go:build soak

package copier_test

import (
	"testing"

	"github.com/holdfastdev/holdfast/store/storetest"
)

// TestFromOneDatabaseToAnother: what the conformance suite tests from one store to another of the
// same kind holds between the two kinds.
func TestFromOneDatabaseToAnother(t *testing.T) {
	t.Parallel()
	t.Run("SQLite to PostgreSQL", func(t *testing.T) {
		t.Parallel()
		storetest.RunCopies(t, onSQLite, onPostgres)
	})
	t.Run("PostgreSQL to SQLite", func(t *testing.T) {
		t.Parallel()
		storetest.RunCopies(t, onPostgres, onSQLite)
	})
}
