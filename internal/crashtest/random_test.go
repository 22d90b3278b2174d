package crashtest

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// newRandom prints a seed, which can be given, and returns what makes sources of random numbers of
// it. What depends on the moment has a source of its own, so that the plan does not.
func newRandom(t *testing.T) func() *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv("HOLDFAST_CRASHTEST_SEED"); text != "" {
		given, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seed = given
	}
	t.Logf("HOLDFAST_CRASHTEST_SEED=%d", seed)
	sources := uint64(0)
	return func() *rand.Rand {
		sources++
		return rand.New(rand.NewPCG(seed, sources))
	}
}
