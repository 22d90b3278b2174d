//go:build soak

package web_test

import (
	"testing"

	"github.com/holdfastdev/holdfast/internal/pgtest"
)

// TestPagesPostgres does the same on PostgreSQL.
func TestPagesPostgres(t *testing.T) {
	t.Parallel()
	inBrowser(t, "e2e/pages.test.mjs", "HOLDFAST_PICTURES=",
		"HOLDFAST_DATABASE="+pgtest.Shared(t).Database(t), "HOLDFAST_FAILURES="+pictures(t, "postgres"))
}
