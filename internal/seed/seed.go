// Package seed gives tests that draw what they do at random the number that they draw from. It is
// the same in each run of scripts/test, so that a commit does not fail by chance, and another one
// in each round of scripts/soak.
package seed

import (
	"hash/fnv"
	"os"
	"strconv"
	"testing"
)

// Env is the variable of the environment that names the seed. A test that failed under one is
// repeated by setting it.
const Env = "HOLDFAST_SEED"

// Of returns the seed of a test, and logs it. Without the variable it follows from the test's name.
func Of(tb testing.TB) uint64 {
	tb.Helper()
	name := fnv.New64a()
	_, _ = name.Write([]byte(tb.Name())) // never fails
	seed := name.Sum64()
	if text := os.Getenv(Env); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			tb.Fatalf("%s: %v", Env, err)
		}
		seed ^= n
		tb.Logf("%s=%d", Env, n)
	}
	return seed
}
