//go:build soak

package web_test

import (
	"testing"

	"github.com/holdfastdev/holdfast/internal/pgtest"
)

// TestPages opens all pages in windows of all sizes, and does what they offer, on SQLite. Pictures
// of the pages of a test that fails are in the folder pictures afterwards; those of all pages are
// in the folder that HOLDFAST_PICTURES names, if it is set.
func TestPages(t *testing.T) {
	t.Parallel()
	inBrowser(t, []string{"e2e/pages.test.mjs", "e2e/run.test.mjs"}, "HOLDFAST_FAILURES="+pictures(t, "sqlite"))
}

// TestPagesPostgres does the same on PostgreSQL.
func TestPagesPostgres(t *testing.T) {
	t.Parallel()
	inBrowser(t, []string{"e2e/pages.test.mjs"}, "HOLDFAST_PICTURES=",
		"HOLDFAST_DATABASE="+pgtest.Shared(t).Database(t), "HOLDFAST_FAILURES="+pictures(t, "postgres"))
}
