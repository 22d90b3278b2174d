//go:build soak

package postgres_test

import (
	"slices"
	"testing"

	"github.com/holdfastdev/holdfast/store"
)

func terminates(q *store.Enqueue) { q.Job.OnParentClose = store.TerminateChild }

func fails(o *store.Outcome) { o.State, o.Error = store.Failed, "no" }

func retriesIn(t *testing.T, s store.Store) func(tx store.Tx, ids []store.ID) ([]store.Result, error) {
	return func(tx store.Tx, ids []store.ID) ([]store.Result, error) {
		return s.RetryTx(t.Context(), tx, store.RetryParams{Jobs: ids, Actor: "ada"})
	}
}

// TestHeldFamiliesHoldUpNoOthers: the children of a parent are closed at once, although callers'
// transactions have children of others, or let the others run again.
func TestHeldFamiliesHoldUpNoOthers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		held int
		hold func(t *testing.T, f *families, url string) (rollback func() error)
	}{
		"the children of one": {1, holdChildren},
		"those of many":       {portion + 1, holdChildren},
		"some of each": {portion + 1, func(t *testing.T, f *families, url string) func() error {
			_, rollback := inCallers(t, url, []store.ID{f.children[0][1], f.children[1][0], f.children[2][1]}, cancelsIn(t, f.s))
			return rollback
		}},
		"parents that run again": {portion + 1, func(t *testing.T, f *families, url string) func() error {
			_, rollback := inCallers(t, url, f.parents, retriesIn(t, f.s))
			return rollback
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := fresh(t)
			s := open(t, config)
			f := &families{s: s, node: join(t, s), n: portion + 1}
			for range c.held {
				f.add(t, terminates, fails)
			}
			rollback := c.hold(t, f, config.URL)
			f.add(t, terminates, fails)
			closeChildren(t, s)
			for _, child := range f.children[c.held] {
				wantState(t, s, child, store.Cancelled)
			}
			notes := "SELECT count(*)::int FROM " + config.SchemaName + ".closed_parent"
			conn := connect(t, config.URL)
			if n := value[int](t, conn, notes); n != c.held {
				t.Errorf("%d parents are left, want %d", n, c.held)
			}
			if err := rollback(); err != nil {
				t.Fatal(err)
			}
			closeChildren(t, s)
			for _, child := range slices.Concat(f.children...) {
				wantState(t, s, child, store.Cancelled)
			}
			if n := value[int](t, conn, notes); n != 0 {
				t.Errorf("in the end %d parents are left", n)
			}
		})
	}
}

// holdChildren has all children in a caller's transaction.
func holdChildren(t *testing.T, f *families, url string) func() error {
	t.Helper()
	_, rollback := inCallers(t, url, slices.Concat(f.children...), cancelsIn(t, f.s))
	return rollback
}
