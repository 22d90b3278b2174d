package remote_test

import (
	"testing"

	"github.com/holdfastdev/holdfast/internal/sqlitetest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
	"github.com/holdfastdev/holdfast/store/storetest"
)

// TestSelection is a part of the suite, about calls of each form.
func TestSelection(t *testing.T) { conform(t, storetest.AllBut("Fire", "Journal", "Requests")...) }

func conform(t *testing.T, without ...string) {
	t.Helper()
	storetest.Run(t, func(t *testing.T, clock *storetest.Clock) store.Store {
		source := sqlite.File(sqlitetest.File(t))
		source.Clock, source.Synchronous = clock.Now, sqlite.Normal
		return open(t, serve(t, source), clock)
	}, without...)
}
