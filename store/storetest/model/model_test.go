package model_test

import (
	"testing"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

// many is a Store that says of itself that writers need not wait for each other: nothing in it
// waits for an open transaction.
type many struct{ *model.Store }

func (s many) Traits() store.Traits {
	traits := s.Store.Traits()
	traits.Concurrent = true
	return traits
}

func TestCallersTransactions(t *testing.T) {
	storetest.RunTx(t, func(t *testing.T, clock *storetest.Clock) (store.Store, func(*testing.T) storetest.Tx) {
		s := model.New(clock.Now)
		t.Cleanup(func() { _ = s.Close() })
		return many{s}, func(*testing.T) storetest.Tx {
			tx := s.Begin()
			return storetest.Tx{Tx: tx, Commit: tx.Commit, Rollback: tx.Rollback}
		}
	})
}
