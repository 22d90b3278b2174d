//go:build soak

package remote_test

import (
	"testing"

	"github.com/holdfastdev/holdfast/internal/pgtest/ready"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/storetest"
)

// unlike are the concerns that are left out: lists of very many jobs, which are those of the
// database; and how errors read, of which those of contexts name the method here, as no request was
// made that a database has words for; and calls whose context ends in their middle, which a server
// may still carry out when they have returned.
var unlike = []string{"Large", "RaceContext", "Words"}

// TestConformance: a store behind a server is one like any other.
func TestConformance(t *testing.T) { conform(t, unlike...) }

// TestConformanceOnPostgres is a selection: what differs behind a server is the way, not the
// database.
func TestConformanceOnPostgres(t *testing.T) {
	storetest.Run(t, func(t *testing.T, clock *storetest.Clock) store.Store {
		source := postgres.URL(ready.Database(t))
		source.Clock = clock.Now
		return open(t, serve(t, source), clock)
	}, storetest.AllBut("Fire", "Rate", "Start", "Unit")...)
}
