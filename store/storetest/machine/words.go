package machine

import (
	"bytes"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfastdev/holdfast/store"
)

// The operations of a machine. Each draws its parameters, does the same on both sides, and compares
// the answers.

// machineTTL is such that a lease does not end in the very microsecond in which the test looks.
const machineTTL = 15*time.Second + 3*time.Microsecond

// cancelReason is the same for all requests: whether the first or the last of two is kept is not
// promised.
const cancelReason = "not needed"

// The names that jobs have.
var (
	machineQueues = []string{"q1", "q2"}
	machineKinds  = []string{"k1", "k2", "k3"}
)

func pick[T any](t *rapid.T, what string, from ...T) T { return rapid.SampledFrom(from).Draw(t, what) }

// one draws one of a list whose elements say too much to be printed: a failing check shows the
// index.
func one[T any](t *rapid.T, what string, from []T) T {
	return from[rapid.IntRange(0, len(from)-1).Draw(t, what)]
}

func chance(t *rapid.T, what string, percent int) bool {
	return rapid.IntRange(0, 99).Draw(t, what) >= 100-percent
}

func sortedIDs(ids []store.ID) []store.ID {
	return slices.SortedFunc(slices.Values(ids), func(a, b store.ID) int { return bytes.Compare(a[:], b[:]) })
}

// copyPlain returns enqueues without their results.
func copyPlain(enqueues []*store.Enqueue) []*store.Enqueue {
	var plain []*store.Enqueue
	for _, q := range enqueues {
		plain = append(plain, &store.Enqueue{Job: q.Job, Delay: q.Delay})
	}
	return plain
}
