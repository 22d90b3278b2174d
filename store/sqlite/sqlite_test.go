package sqlite_test

import (
	"testing"

	"github.com/holdfastdev/holdfast/internal/racing"
	"github.com/holdfastdev/holdfast/internal/sqlitetest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
	"github.com/holdfastdev/holdfast/store/storetest"
)

// TestConformance leaves out under the race detector what is one call after the other many times.
func TestConformance(t *testing.T) {
	often := []string{"Large", "Property", "Slots"}
	switch {
	case racing.Less():
		conform(t, 0, often...)
	case racing.Rest():
		conform(t, 0, storetest.AllBut(often...)...)
	default:
		conform(t, 0)
	}
}

// TestConformanceInPortions removes and copies what jobs remember an entry at a time: what was
// forgotten is there for long, and forks are made in many transactions. Concerns that neither
// remove nor copy what jobs remember are left out.
func TestConformanceInPortions(t *testing.T) {
	if testing.Short() {
		t.Skip("it is the same suite once more")
	}
	racing.Off(t) // it is the same suite once more
	conform(t, 1, "Action", "After", "Checkpoint", "Claim", "ClockBack", "Closed", "Count", "Demand", "Depend", "Enqueue", "Fence",
		"Filter", "Fire", "Grant", "Held", "Hold", "Invalid", "Large", "Leader", "Limit", "Match", "Message", "Namespace", "NodeMode",
		"Nodes", "Obstacles", "Order", "OrderingKey", "Outcome", "Promote", "Queues", "Race", "RaceContext", "RaceEdit", "RaceLimit",
		"Read", "Rescue", "Rest", "RetainQueues", "Schedule", "Slots", "Sort", "Start",
		"Told", "Transitions", "TurnTold", "Unique", "Unit", "Unserved",
		"Version", "Wait", "Words")
}

func conform(t *testing.T, portion int64, without ...string) {
	storetest.Run(t, func(t *testing.T, clock *storetest.Clock) store.Store {
		// The suite opens hundreds of stores; what a sync adds is not its subject.
		source := sqlite.File(sqlitetest.File(t))
		source.Clock, source.Synchronous = clock.Now, sqlite.Normal
		s, err := source.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if portion > 0 {
			sqlite.SetPortion(s, portion)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			wantSpans(t, source.Path)
		})
		return s
	}, without...)
}
