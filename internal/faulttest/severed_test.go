package faulttest

import (
	"sync/atomic"
	"testing"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/faults"
)

// severed is a node that can be cut off from its database: to the others it is dead.
type severed struct {
	*node

	store *faults.Store
	off   atomic.Bool
}

// workSevered opens a client of the database whose calls can be cut off, lets the function
// register its handlers, and makes it a node.
func (db *database) workSevered(t *testing.T, handlers func(hf *holdfast.Client), opts ...holdfast.Option) *severed {
	t.Helper()
	s := &severed{}
	own := db.wrapped(func(st store.Store) store.Store {
		s.store = faults.Wrap(st, nil)
		return s.store
	})
	hf := own.open(t, opts...)
	handlers(hf)
	s.node = work(t, hf)
	t.Cleanup(func() { s.off.Store(false) }) // so that it can leave
	s.heed()
	return s
}

// heed makes the calls listen to whether they are cut off, and counts them again.
func (s *severed) heed() {
	s.store.Plan(func(faults.Call) faults.Fault {
		if s.off.Load() {
			return faults.Fault{Kind: faults.FailBefore}
		}
		return faults.Fault{}
	})
}

// cutOff lets none of its calls reach the database any more.
func (s *severed) cutOff() { s.off.Store(true) }

// beats waits until each of the nodes has beaten so many times from now on.
func beats(t *testing.T, n int, nodes ...*severed) {
	t.Helper()
	for _, s := range nodes {
		s.heed()
	}
	for _, s := range nodes {
		eventually(t, "each node beats", func() bool { return s.store.Calls("Beat") >= n })
	}
}
