package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
	"github.com/holdfastdev/holdfast/store/storetest"
)

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T, clock *storetest.Clock) store.Store {
		// The suite opens hundreds of stores; what a sync adds is not its subject.
		source := sqlite.File(filepath.Join(t.TempDir(), "holdfast.db"))
		source.Clock, source.Synchronous = clock.Now, sqlite.Normal
		s, err := source.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return s
	})
}
