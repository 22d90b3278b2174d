package env

import (
	"maps"
	"testing"

	"github.com/holdfastdev/holdfast/store"
)

// Factory opens a fresh, empty store that reads its time from clock. It registers its own cleanup
// with t, and fails the test if it cannot open one. It is called by many tests at once.
type Factory func(t *testing.T, clock *Clock) store.Store

// Tests are conformance tests by their names; each gets a store of its own.
type Tests map[string]func(*Env)

// Race begins the names of groups in which goroutines compete.
const Race = "Race"

// Groups are tests by what they are about.
type Groups map[string]Tests

// Merged is all that the maps have.
func Merged[M ~map[K]V, K comparable, V any](all ...M) M {
	together := M{}
	for _, some := range all {
		maps.Copy(together, some)
	}
	return together
}
