package remote_test

import (
	"testing"

	"github.com/holdfastdev/holdfast/internal/pgtest/ready"
	"github.com/holdfastdev/holdfast/internal/racing"
	"github.com/holdfastdev/holdfast/internal/sqlitetest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/sqlite"
	"github.com/holdfastdev/holdfast/store/storetest"
)

// unlike are the concerns that are left out: lists of very many jobs, which are those of the
// database; and how errors read, of which those of contexts name the method here, as no request was
// made that a database has words for; and calls whose context ends in their middle, which a server
// may still carry out when they have returned.
var unlike = []string{"Large", "RaceContext", "Words"}

// TestConformance: a store behind a server is one like any other.
func TestConformance(t *testing.T) {
	without := unlike
	switch {
	case testing.Short(): // a selection, as on PostgreSQL
		without = storetest.AllBut("Claim", "Enqueue", "Fence", "Fire", "Journal", "Leader", "Limit",
			"Namespace", "Outcome", "Read", "Requests", "Wait")
	case racing.Less():
		without = append(storetest.Steps(), "RaceContext") // the race detector is for what competes
	case racing.Rest():
		without = append(storetest.Races(), unlike...)
	}
	storetest.Run(t, func(t *testing.T, clock *storetest.Clock) store.Store {
		source := sqlite.File(sqlitetest.File(t))
		source.Clock, source.Synchronous = clock.Now, sqlite.Normal
		return open(t, serve(t, source), clock)
	}, without...)
}

// TestConformanceOnPostgres is a selection: what differs behind a server is the way, not the
// database.
func TestConformanceOnPostgres(t *testing.T) {
	if testing.Short() {
		t.Skip("it is a part of the same suite once more")
	}
	racing.Off(t) // it is a part of the same suite once more
	storetest.Run(t, func(t *testing.T, clock *storetest.Clock) store.Store {
		source := postgres.URL(ready.Database(t))
		source.Clock = clock.Now
		return open(t, serve(t, source), clock)
	}, storetest.AllBut("Fire", "Rate", "Start", "Unit")...)
}
