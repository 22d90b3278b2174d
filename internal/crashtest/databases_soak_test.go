//go:build soak

package crashtest

import (
	"testing"

	"github.com/holdfastdev/holdfast/internal/pgtest/ready"
)

// onEach runs a test on both databases at the same time, each of its own.
func onEach(t *testing.T, test func(t *testing.T, database string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, newSQLite(t))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, newPostgres(t))
	})
}

func newPostgres(t *testing.T) string {
	t.Helper()
	return ready.Database(t)
}
