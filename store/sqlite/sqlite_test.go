package sqlite_test

import (
	"testing"

	"github.com/holdfastdev/holdfast/internal/sqlitetest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
	"github.com/holdfastdev/holdfast/store/storetest"
)

func TestConformance(t *testing.T) { conform(t, 0, storetest.Races()...) }

// TestRaces is the part of the suite that runs under the race detector.
func TestRaces(t *testing.T) { conform(t, 0, storetest.Steps()...) }

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
