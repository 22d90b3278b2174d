//go:build soak

package postgres_test

import (
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"
)

// TestOtherCallersTransactions is the same for the other kinds of transactions.
func TestOtherCallersTransactions(t *testing.T) {
	t.Parallel()
	for name := range callers {
		if name != "pgx" {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				callersTransactions(t, name)
			})
		}
	}
}
