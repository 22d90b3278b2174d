//go:build soak

package simulate_test

import (
	"testing"

	"github.com/holdfastdev/holdfast/internal/seed"
)

// TestLong takes a million steps and more, from seeds that are other ones in each round of a soak.
func TestLong(t *testing.T) {
	first := seed.Of(t)
	hunt(t, onModel, first, 1_000_000, 500)
	hunt(t, onSQLite, first, 80_000, 2500)
	hunt(t, onTwo, first, 30_000, 2500)
	hunt(t, scheduled(onModel), first, 100_000, 500)
	hunt(t, scheduled(onSQLite), first, 10_000, 1000)
	hunt(t, scheduled(onTwo), first, 5_000, 1000)
}
