// Package copies tests that jobs move as wholes from one store to another: what is there
// afterwards, how it goes on, and what is refused.
package copies

import (
	"testing"

	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// Groups are the tests of this package, by what they are about. They copy from one store to another
// of the same kind.
var Groups = env.Groups{"Copies": alike()}

func alike() env.Tests {
	tests := env.Tests{}
	for name, test := range copyTests {
		tests[name] = func(e *env.Env) { test(pairOf(e, e.Open)) }
	}
	return tests
}

// Run checks copies from one kind of store to another.
func Run(t *testing.T, from, to env.Factory) {
	for name, test := range copyTests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(pairOf(env.New(t, from), to))
		})
	}
}

// pairOf opens a target. Both make ids from one counter.
func pairOf(from *env.Env, open env.Factory) *pair {
	to := env.On(from.T, open(from.T, from.Clock), from.Clock)
	to.IDs = from.IDs
	return &pair{from, to}
}
