package tx

import (
	"context"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var awaitTests = tests{
	"nobody_waits_for_transactions_that_are_not_there":         awaitNothing,
	"Remembered_who_waits_sees_what_became_of_the_transaction": awaitOpen,
	"nobody_waits_for_transactions_of_other_jobs":              awaitOthers,
	"waiting_for_a_transaction_ends_with_its_context":          awaitContext,
}

// wantNoWait checks that nothing is waited for.
func (e *txEnv) wantNoWait(what string, job store.ID) {
	e.Helper()
	ctx, cancel := context.WithTimeout(e.Ctx, soon)
	defer cancel()
	if err := e.Store.AwaitTx(ctx, job); err != nil {
		e.Fatalf("%s: AwaitTx: %v", what, err)
	}
}

// wantWait checks that a transaction is waited for: its context ends first.
func (e *txEnv) wantWait(what string, job store.ID) {
	e.Helper()
	ctx, cancel := context.WithTimeout(e.Ctx, glimpse)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- e.Store.AwaitTx(ctx, job) }()
	select {
	case err := <-ended:
		e.WantErr(what+": AwaitTx", err, context.DeadlineExceeded)
	case <-time.After(soon):
		e.Fatalf("%s: AwaitTx does not end with its context", what)
	}
}

func awaitNothing(e *txEnv) {
	run := e.Durable(1)
	e.wantNoWait("a running job", run.Job.ID)
	e.wantNoWait("an unknown job", e.IDs.Next())
	e.both(func(tx store.Tx) { e.appendTx(tx, run, env.Step(2)) }, func(bool) {
		e.wantNoWait("after the end of a transaction", run.Job.ID)
	})
	parked := e.Parked(env.ForSignals())
	e.both(func(tx store.Tx) { e.sendTx(tx, parked.Job.ID) }, func(bool) {
		e.wantNoWait("after the end of a transaction", parked.Job.ID)
	})
}

func awaitOpen(e *txEnv) {
	for what, c := range map[string]struct {
		write func(tx store.Tx, run store.Claimed)
		count func(journal store.Journal) int
	}{
		"an append": {
			func(tx store.Tx, run store.Claimed) { e.appendTx(tx, run, env.Step(2)) },
			func(journal store.Journal) int { return len(journal.Entries) - 1 },
		},
		"a send": {
			func(tx store.Tx, run store.Claimed) { e.sendTx(tx, run.Job.ID) },
			func(journal store.Journal) int { return len(journal.Messages) },
		},
	} {
		for _, commit := range []bool{false, true} {
			run := e.Durable(1)
			tx := e.begin(e.T)
			c.write(tx.Tx, run)
			e.wantWait(what, run.Job.ID)
			waited := make(chan int)
			for range 3 {
				go func() {
					ctx, cancel := context.WithTimeout(e.Ctx, soon)
					defer cancel()
					happened := -1
					if err := e.Store.AwaitTx(ctx, run.Job.ID); err != nil {
						e.Errorf("%s: AwaitTx: %v", what, err)
					} else if journals, err := e.Store.Journals(ctx, "", []store.ID{run.Job.ID}); err != nil {
						e.Errorf("%s: Journals: %v", what, err)
					} else {
						happened = c.count(journals[0])
					}
					waited <- happened
				}()
			}
			e.wantWait(what, run.Job.ID)
			want, end := 0, tx.Rollback
			if commit {
				want, end = 1, tx.Commit
			}
			e.NoError("the end of the transaction", end())
			for range 3 {
				if got := <-waited; got != want {
					e.Fatalf("%s, committed %v: who waited sees %d of it", what, commit, got)
				}
			}
		}
	}
}

func awaitOthers(e *txEnv) {
	e.needsWriters()
	node := e.Join()
	writing, sentTo, other := e.ClaimOne(node, e.Add()), e.Parked(env.ForSignals()), e.ClaimOne(node, e.Add())
	e.Write(&other, env.Step(1))
	waiting := e.Add()
	e.both(func(tx store.Tx) {
		e.appendTx(tx, writing, env.Step(1))
		e.sendTx(tx, sentTo.Job.ID)
		e.enqueueTx(tx, e.Job(env.Unique("k")))
		e.wantNoWait("a run of the same node", other.Job.ID)
		e.wantNoWait("a job that waits", waiting)
		e.wantNoWait("an unknown job", e.IDs.Next())
		e.wantWait("an append", writing.Job.ID)
		e.wantWait("a send", sentTo.Job.ID)
	}, func(bool) {})
}

func awaitContext(e *txEnv) {
	run := e.Durable(1)
	e.both(func(tx store.Tx) {
		e.appendTx(tx, run, env.Step(2))
		ctx, cancel := context.WithCancel(e.Ctx)
		ended := make(chan error)
		go func() { ended <- e.Store.AwaitTx(ctx, run.Job.ID) }()
		e.wantWait("an append", run.Job.ID)
		cancel()
		e.WantErr("AwaitTx that was given up", <-ended, context.Canceled)
		e.WantErr("AwaitTx of nobody", e.Store.AwaitTx(ctx, run.Job.ID), context.Canceled)
		e.wantWait("an append", run.Job.ID)
	}, func(bool) {})
}
