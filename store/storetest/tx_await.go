package storetest

import (
	"context"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

var awaitTests = []txTest{
	{"nobody_waits_for_transactions_that_are_not_there", awaitNothing},
	{"Remembered_who_waits_sees_what_became_of_the_transaction", awaitOpen},
	{"nobody_waits_for_transactions_of_other_jobs", awaitOthers},
	{"waiting_for_a_transaction_ends_with_its_context", awaitContext},
}

// soon is long for a store that waits for nobody, and glimpse is short for one that waits. They are
// real time: a transaction that is open on a server is waited for there.
const (
	soon    = 20 * time.Second
	glimpse = 50 * time.Millisecond
)

// wantNoWait checks that nothing is waited for.
func (e *txEnv) wantNoWait(what string, job store.ID) {
	e.Helper()
	ctx, cancel := context.WithTimeout(e.ctx, soon)
	defer cancel()
	if err := e.store.AwaitTx(ctx, job); err != nil {
		e.Fatalf("%s: AwaitTx: %v", what, err)
	}
}

// wantWait checks that a transaction is waited for: its context ends first.
func (e *txEnv) wantWait(what string, job store.ID) {
	e.Helper()
	ctx, cancel := context.WithTimeout(e.ctx, glimpse)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- e.store.AwaitTx(ctx, job) }()
	select {
	case err := <-ended:
		e.wantErr(what+": AwaitTx", err, context.DeadlineExceeded)
	case <-time.After(soon):
		e.Fatalf("%s: AwaitTx does not end with its context", what)
	}
}

func awaitNothing(e *txEnv) {
	run := e.durable(1)
	e.wantNoWait("a running job", run.Job.ID)
	e.wantNoWait("an unknown job", e.ids.next())
	e.both(func(tx store.Tx) { e.appendTx(tx, run, step(2)) }, func(bool) {
		e.wantNoWait("after the end of a transaction", run.Job.ID)
	})
	parked := e.parked(forSignals())
	e.both(func(tx store.Tx) { e.sendTx(tx, parked.Job.ID) }, func(bool) {
		e.wantNoWait("after the end of a transaction", parked.Job.ID)
	})
}

// appendTx writes an entry into a transaction.
func (e *txEnv) appendTx(tx store.Tx, run store.Claimed, entry store.Entry) {
	e.Helper()
	a := &store.Append{Lease: run.Lease, Entries: []store.Entry{entry}}
	if err := e.store.AppendTx(e.ctx, tx, a); err != nil || a.Err != nil {
		e.Fatalf("AppendTx: %v, %v", err, a.Err)
	}
}

// sendTx sends a signal in a transaction.
func (e *txEnv) sendTx(tx store.Tx, job store.ID) {
	e.Helper()
	q := &store.Send{Job: job, Message: signal("in the transaction")}
	if err := e.store.SendTx(e.ctx, tx, []*store.Send{q}); err != nil || q.Err != nil {
		e.Fatalf("SendTx: %v, %v", err, q.Err)
	}
}

func awaitOpen(e *txEnv) {
	for what, c := range map[string]struct {
		write func(tx store.Tx, run store.Claimed)
		count func(journal store.Journal) int
	}{
		"an append": {
			func(tx store.Tx, run store.Claimed) { e.appendTx(tx, run, step(2)) },
			func(journal store.Journal) int { return len(journal.Entries) - 1 },
		},
		"a send": {
			func(tx store.Tx, run store.Claimed) { e.sendTx(tx, run.Job.ID) },
			func(journal store.Journal) int { return len(journal.Messages) },
		},
	} {
		for _, commit := range []bool{false, true} {
			run := e.durable(1)
			tx := e.begin(e.T)
			c.write(tx.Tx, run)
			e.wantWait(what, run.Job.ID)
			waited := make(chan int)
			for range 3 {
				go func() {
					ctx, cancel := context.WithTimeout(e.ctx, soon)
					defer cancel()
					happened := -1
					if err := e.store.AwaitTx(ctx, run.Job.ID); err != nil {
						e.Errorf("%s: AwaitTx: %v", what, err)
					} else if journals, err := e.store.Journals(ctx, []store.ID{run.Job.ID}); err != nil {
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
			if err := end(); err != nil {
				e.Fatal(err)
			}
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
	node := e.join()
	writing, sentTo, other := e.claimOne(node, e.add()), e.parked(forSignals()), e.claimOne(node, e.add())
	e.write(&other, step(1))
	waiting := e.add()
	e.both(func(tx store.Tx) {
		e.appendTx(tx, writing, step(1))
		e.sendTx(tx, sentTo.Job.ID)
		e.enqueueTx(tx, e.job(unique("k")))
		e.wantNoWait("a run of the same node", other.Job.ID)
		e.wantNoWait("a job that waits", waiting)
		e.wantNoWait("an unknown job", e.ids.next())
		e.wantWait("an append", writing.Job.ID)
		e.wantWait("a send", sentTo.Job.ID)
	}, func(bool) {})
}

func awaitContext(e *txEnv) {
	run := e.durable(1)
	e.both(func(tx store.Tx) {
		e.appendTx(tx, run, step(2))
		ctx, cancel := context.WithCancel(e.ctx)
		ended := make(chan error)
		go func() { ended <- e.store.AwaitTx(ctx, run.Job.ID) }()
		e.wantWait("an append", run.Job.ID)
		cancel()
		e.wantErr("AwaitTx that was given up", <-ended, context.Canceled)
		e.wantErr("AwaitTx of nobody", e.store.AwaitTx(ctx, run.Job.ID), context.Canceled)
		e.wantWait("an append", run.Job.ID)
	}, func(bool) {})
}
