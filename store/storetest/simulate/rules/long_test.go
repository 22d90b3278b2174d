//go:build soak

package rules_test

import (
	"testing"

	"github.com/holdfastdev/holdfast/internal/seed"
)

// TestLong takes more steps, from seeds that are other ones in each round of a soak.
func TestLong(t *testing.T) {
	first := seed.Of(t)
	huntAll(t, openModel, first, 2_400, 500_000)
	huntAll(t, openSQLite, first, 400, 40_000)
}
