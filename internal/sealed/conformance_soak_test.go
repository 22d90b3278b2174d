//go:build soak

package sealed_test

import (
	"testing"

	"github.com/holdfastdev/holdfast/internal/sealed"
	"github.com/holdfastdev/holdfast/internal/sqlitetest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
	"github.com/holdfastdev/holdfast/store/storetest"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

// unlike are the concerns that are left out: those in which jobs are found by their args, and lists
// of very many jobs, which a codec does not touch.
var unlike = []string{"Large", "Match", "Property"}

// TestConformance: whoever stands on a sealed store sees what he would see without a codec, but
// that jobs are not found by their args.
func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T, clock *storetest.Clock) store.Store {
		s := model.New(clock.Now)
		t.Cleanup(func() { _ = s.Close() })
		return sealed.Wrap(s, aesOf(t, "k1"))
	}, unlike...)
}

// TestConformanceOnSQLite is the same on a database.
func TestConformanceOnSQLite(t *testing.T) {
	storetest.Run(t, func(t *testing.T, clock *storetest.Clock) store.Store {
		source := sqlite.File(sqlitetest.File(t))
		source.Clock, source.Synchronous = clock.Now, sqlite.Normal
		s, err := source.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return sealed.Wrap(s, aesOf(t, "k1"))
	}, unlike...)
}
