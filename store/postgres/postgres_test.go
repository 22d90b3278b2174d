package postgres_test

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/internal/racing"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/lists"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/storetest"
)

func TestMain(m *testing.M) {
	lists.Dense = 0 // lists go by buckets where they can: what tests have is in no large history
	code := pgtest.Main(m)
	if err := errors.Join(closeShelf(), goleak.Find()); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// TestConformance lets goroutines compete under the race detector. What is told step by step runs
// under it on SQLite.
func TestConformance(t *testing.T) {
	t.Parallel()
	var without []string
	switch {
	case racing.Less():
		without = storetest.Steps()
	case racing.Rest():
		without = storetest.Races()
	}
	storetest.Run(t, func(t *testing.T, clock *storetest.Clock) store.Store {
		return reopened(t, clock.Now)
	}, without...)
}

// TestConformanceBehindPooler has a pool that keeps nothing of a session from one use of a
// connection to the next, as a pooler in transaction mode would. The statements are the same, so it
// leaves out concerns that send none but those of the others, random sequences of operations,
// races, what happens over days, and what is the same with many rows; and without notifications no
// process is told of anything.
func TestConformanceBehindPooler(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it is the same suite once more")
	}
	racing.Off(t) // it is the same suite once more
	without := []string{
		"Cancel", "Continue", "Earlier", "Ending", "Fence", "Held", "Hold", "Invalid", "Large", "Nodes", "Obstacles", "Order", "Outcome",
		"Property", "Queues", "Repeat", "Rescue", "Resume", "Retain", "RetainQueues", "Retry", "Slots", "Sort", "Told", "Transitions",
		"Unique", "Unit", "Wait", "Words",
	}
	storetest.Run(t, func(t *testing.T, clock *storetest.Clock) store.Store {
		config := used(t, clock.Now)
		pool := forgetfulPool(t, config)
		return open(t, postgres.Config{Pool: pool, SchemaName: config.SchemaName, NoSession: true, Clock: clock.Now})
	}, append(without, storetest.Races()...)...)
}
