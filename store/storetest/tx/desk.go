package tx

import (
	"context"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// Tx is a transaction of a caller, who ends it with Commit or Rollback.
type Tx struct {
	store.Tx

	Commit, Rollback func() error
}

// tests are tests of what is written into transactions of callers, by their names.
type tests map[string]func(*txEnv)

type txEnv struct {
	*env.Env

	begin func(t *testing.T) Tx
}

// both runs a test with a transaction that is rolled back, and then with one that is committed.
func (e *txEnv) both(test func(tx store.Tx), check func(committed bool)) {
	e.Helper()
	for _, commit := range []bool{false, true} {
		tx := e.begin(e.T)
		test(tx.Tx)
		e.finish(tx, commit)
		check(commit)
	}
}

// enqueueTx writes enqueues into a transaction.
func (e *txEnv) enqueueTx(tx store.Tx, enqueues ...*store.Enqueue) {
	e.Helper()
	e.NoError("EnqueueTx", e.Store.EnqueueTx(e.Ctx, tx, enqueues))
}

// soon is long for a store that does not wait, and glimpse is short for one that waits. They are
// real time: a transaction that is open on a server is waited for there.
const (
	soon    = 2 * time.Minute
	glimpse = 50 * time.Millisecond
)

// appendTx writes an entry into a transaction.
func (e *txEnv) appendTx(tx store.Tx, run store.Claimed, entry store.Entry) {
	e.Helper()
	a := &store.Append{Lease: run.Lease, Entries: []store.Entry{entry}}
	if err := e.Store.AppendTx(e.Ctx, tx, a); err != nil || a.Err != nil {
		e.Fatalf("AppendTx: %v, %v", err, a.Err)
	}
}

// sendTx sends a signal in a transaction.
func (e *txEnv) sendTx(tx store.Tx, job store.ID) {
	e.Helper()
	q := &store.Send{Job: job, Message: env.Signal("in the transaction")}
	if err := e.Store.SendTx(e.Ctx, tx, []*store.Send{q}); err != nil || q.Err != nil {
		e.Fatalf("SendTx: %v, %v", err, q.Err)
	}
}

// needsWriters skips what is about stores in which one writer does not keep all others waiting.
func (e *txEnv) needsWriters() {
	e.Helper()
	if !e.Store.Traits().Concurrent {
		e.Skip("there is one writer, for whom all wait")
	}
}

// applySoon commits a batch, which must not take long.
func (e *txEnv) applySoon(batch *store.Batch) {
	e.Helper()
	ctx, cancel := context.WithTimeout(e.Ctx, soon)
	defer cancel()
	e.NoError("Apply", store.ApplyEach(ctx, e.Store, batch))
}

// finish ends a transaction.
func (e *txEnv) finish(tx Tx, commit bool) {
	e.Helper()
	end := tx.Rollback
	if commit {
		end = tx.Commit
	}
	e.NoError("the end of the transaction", end())
}
