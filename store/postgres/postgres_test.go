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
	"github.com/holdfastdev/holdfast/store/storetest"
)

func TestMain(m *testing.M) {
	lists.Dense = 0 // lists go by buckets where they can: what tests have is in no large history
	pgtest.Always()
	code := pgtest.Main(m)
	if err := errors.Join(closeShelf(), goleak.Find()); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// TestConformance lets goroutines compete under the race detector. What is told step by step runs
// under it on SQLite. With -short it tells those stories alone that send each statement, most of
// them three times.
func TestConformance(t *testing.T) {
	t.Parallel()
	open := func(t *testing.T, clock *storetest.Clock) store.Store { return reopened(t, clock.Now) }
	if testing.Short() {
		told, _ := stories(t)
		storetest.RunStories(t, open, told...)
		return
	}
	var without []string
	switch {
	case racing.Less():
		without = storetest.Steps()
	case racing.Rest():
		without = storetest.Races()
	}
	storetest.Run(t, open, without...)
}
