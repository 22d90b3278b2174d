package postgres_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/internal/seed"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/lists"
	"github.com/holdfastdev/holdfast/store/storetest"
)

func TestMain(m *testing.M) {
	lists.Dense = 0 // lists go by buckets where they can: what tests have is in no large history
	if os.Getenv(seed.Env) == "" {
		_ = flag.Set("rapid.checks", "1") // SQLite has more of the same sequences for each commit, and the soak has others
	}
	code := pgtest.Main(m)
	if err := errors.Join(closeShelf(), goleak.Find()); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func TestConformance(t *testing.T) {
	t.Parallel()
	conform(t, storetest.Races()...)
}

// TestRaces is the part of the suite that runs under the race detector.
func TestRaces(t *testing.T) {
	t.Parallel()
	conform(t, storetest.Steps()...)
}

func conform(t *testing.T, without ...string) {
	t.Helper()
	storetest.Run(t, func(t *testing.T, clock *storetest.Clock) store.Store { return reopened(t, clock.Now) }, without...)
}
