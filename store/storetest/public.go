package storetest

import (
	"testing"

	"github.com/holdfastdev/holdfast/store/storetest/copies"
	"github.com/holdfastdev/holdfast/store/storetest/env"
	"github.com/holdfastdev/holdfast/store/storetest/tx"
)

type (
	// Factory opens a fresh, empty store that reads its time from the clock. It registers its own
	// cleanup with t, and fails the test if it cannot open one. It is called by many tests at once.
	Factory = env.Factory

	// Clock is a virtual clock, which moves only when a test says so.
	Clock = env.Clock
)

// NewClock returns a clock that stands at Start.
func NewClock() *Clock { return env.NewClock() }

// Start is where a new clock stands.
var Start = env.Start

type (
	// TxFactory opens a store as a Factory does, and tells how a caller begins a transaction of its
	// own on its database.
	TxFactory = tx.Factory

	// Tx is a transaction of a caller, which ends with Commit or Rollback.
	Tx = tx.Tx
)

// RunTx checks what the store writes into transactions of callers, and what it does while they are
// open. A store runs it for each kind of transaction that it takes.
func RunTx(t *testing.T, open TxFactory) { tx.Run(t, open) }

// RunCopies checks that jobs move as wholes from one kind of store to another.
func RunCopies(t *testing.T, from, to Factory) { copies.Run(t, from, to) }
