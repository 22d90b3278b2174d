package crashtest

import (
	"math/rand/v2"
	"testing"

	"github.com/holdfastdev/holdfast/internal/seed"
)

// newRandom returns what makes sources of random numbers of the test's seed. What depends on the
// moment has a source of its own, so that the plan does not.
func newRandom(t *testing.T) func() *rand.Rand {
	t.Helper()
	first, sources := seed.Of(t), uint64(0)
	return func() *rand.Rand {
		sources++
		return rand.New(rand.NewPCG(first, sources))
	}
}
