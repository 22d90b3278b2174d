package tx

import (
	"context"
	"errors"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// fedTests are about the feed of changes.
var fedTests = tests{
	"the_feed_tells_of_a_transaction_when_it_has_committed":      fedWhenCommitted,
	"the_feed_skips_nothing_of_a_transaction_that_ends_late":     fedLate,
	"the_feed_is_not_switched_on_in_the_middle_of_a_transaction": fedFromTheBeginning,
}

func fedWhenCommitted(e *txEnv) {
	e.Tell(true)
	waiting := e.Parked(env.ForSignals()).Job.ID
	_, at := e.Changes(store.FeedPosition{})
	child := e.Job()
	e.both(func(tx store.Tx) {
		e.enqueueTx(tx, child)
		e.sendTx(tx, waiting)
		if changes, _ := e.Changes(at); len(changes) > 0 {
			e.Fatalf("told before the commit: %+v", changes)
		}
	}, func(committed bool) {
		changes, _ := e.Changes(at)
		e.WantDense(changes, at)
		want := 0
		if committed {
			want = 2
			e.Equal("states of the new job", env.StatesOf(changes, child.Job.ID), []store.State{store.Available})
			e.Equal("states of the woken one", env.StatesOf(changes, waiting), []store.State{store.Available})
		}
		e.Equal("changes", len(changes), want)
	})
}

func fedLate(e *txEnv) {
	e.needsWriters()
	e.Tell(true)
	late, gone := e.begin(e.T), e.begin(e.T)
	first, never := e.Job(), e.Job()
	e.enqueueTx(late.Tx, first)
	e.enqueueTx(gone.Tx, never)
	var at store.FeedPosition
	var all []store.Change
	for range 5 { // each is a pass of the sequencer, which sees the transactions under way
		e.Add()
		changes, next := e.Changes(at)
		e.WantDense(changes, at)
		all, at = append(all, changes...), next
		if len(changes) != 1 {
			e.Fatalf("one job was enqueued: %+v", changes)
		}
	}
	e.finish(gone, false)
	e.enqueueTx(late.Tx, e.Job())
	e.finish(late, true)
	changes, next := e.Changes(at)
	e.WantDense(changes, at)
	e.Equal("changes of the late transaction", len(changes), 2)
	e.Equal("the first of its jobs", changes[0].Job, first.Job.ID)
	again, end := e.Changes(store.FeedPosition{})
	e.Equal("all changes", again, append(all, changes...))
	e.Equal("the end", end, next)
}

func fedFromTheBeginning(e *txEnv) {
	e.needsWriters()
	tx := e.begin(e.T)
	e.enqueueTx(tx.Tx, e.Job())
	ctx, cancel := context.WithTimeout(e.Ctx, 300*time.Millisecond)
	defer cancel()
	if _, err := e.Store.SetFeed(ctx, true, ""); err == nil || !errors.Is(err, store.ErrUnavailable) && ctx.Err() == nil {
		e.Fatalf("SetFeed while a transaction has written: %v", err)
	}
	e.Add() // SetFeed has given up its lock
	e.enqueueTx(tx.Tx, e.Job())
	e.finish(tx, true)
	e.Tell(true)
	id := e.Add()
	changes, _ := e.Changes(store.FeedPosition{})
	if len(changes) != 1 || changes[0].Job != id {
		e.Fatalf("told: %+v", changes)
	}
}
