package sealed_test

import (
	"testing"

	"github.com/holdfastdev/holdfast/codec"
	"github.com/holdfastdev/holdfast/internal/racing"
	"github.com/holdfastdev/holdfast/internal/sealed"
	"github.com/holdfastdev/holdfast/internal/sqlitetest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
	"github.com/holdfastdev/holdfast/store/storetest"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

// aesOf is a codec with new keys of those names.
func aesOf(tb testing.TB, ids ...string) store.Codec {
	tb.Helper()
	var keys []codec.Key
	for _, id := range ids {
		k, err := codec.NewKey(id)
		if err != nil {
			tb.Fatal(err)
		}
		keys = append(keys, k)
	}
	c, err := codec.AES(keys...)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// unlike are the concerns that are left out: those in which jobs are found by their args, and lists
// of very many jobs, which a codec does not touch.
var unlike = []string{"Large", "Match", "Property"}

// TestConformance: whoever stands on a sealed store sees what he would see without a codec, but
// that jobs are not found by their args.
func TestConformance(t *testing.T) {
	without := unlike
	switch {
	case racing.Less():
		without = storetest.Steps() // it has no goroutines of its own, and others may compete for it
	case racing.Rest():
		without = append(storetest.Races(), unlike...)
	}
	storetest.Run(t, func(t *testing.T, clock *storetest.Clock) store.Store {
		s := model.New(clock.Now)
		t.Cleanup(func() { _ = s.Close() })
		return sealed.Wrap(s, aesOf(t, "k1"))
	}, without...)
}

// TestConformanceOnSQLite is the same on a database.
func TestConformanceOnSQLite(t *testing.T) {
	if testing.Short() {
		t.Skip("TestConformance is the same on the model")
	}
	racing.Off(t) // TestConformance lets goroutines compete
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
