package model_test

import (
	"testing"

	"github.com/holdfastdev/holdfast/internal/racing"
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

// The model passes the suite that it helps to define. It is also how the suite itself is tested. It
// has a lock, which the race detector sees where goroutines compete.
func TestConformance(t *testing.T) {
	var without []string
	switch {
	case racing.Less():
		without = storetest.Steps()
	case racing.Rest():
		without = storetest.Races()
	}
	storetest.Run(t, func(t *testing.T, clock *storetest.Clock) store.Store {
		s := model.New(clock.Now)
		t.Cleanup(func() { _ = s.Close() })
		return s
	}, without...)
}
