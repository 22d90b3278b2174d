package tx

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// Jobs that come after others, in transactions of callers and beside them.
var dependTests = tests{
	"a_job_that_waits_for_others_is_there_when_it_commits":        dependBoth,
	"NoLoss_a_predecessor_that_ends_before_it_commits_is_noticed": dependEnded,
	"AtomicTransitions_follow_ups_are_there_when_it_commits":      dependFollowed,
	"it_keeps_no_predecessor":                                     dependFree,
	"a_job_that_it_keeps_is_told_when_it_has_ended":               dependKept,
	"NoLoss_the_end_of_a_job_that_it_keeps_is_told":               dependKeptFirst,
}

// dependBoth: both jobs in one transaction, in two calls, and one that is refused.
func dependBoth(e *txEnv) {
	node := e.Join()
	var first, then, lost *store.Enqueue
	e.both(func(tx store.Tx) {
		first, then = e.Job(), e.Job()
		then.After = env.Dependencies(store.CancelIfFailed, first.Job.ID)
		lost = e.Job(env.After(first.Job.ID, e.IDs.Next()))
		e.enqueueTx(tx, first)
		e.enqueueTx(tx, lost, then)
		e.NoError("the first", first.Err)
		e.NoError("the second", then.Err)
		e.WantErr("one after one that is not there", lost.Err, store.ErrNotFound)
		if then.Result.State != store.Waiting {
			e.Fatalf("the second is %v", then.Result.State)
		}
	}, func(committed bool) {
		e.WantUnknown(lost.Job.ID)
		if !committed {
			e.WantUnknown(then.Job.ID)
			return
		}
		e.WantAwaits(then.Job.ID, first.Job.ID)
		e.End(e.ClaimOne(node, first.Job.ID), store.Completed)
		e.CloseChildren(10)
		e.End(e.ClaimOne(node, then.Job.ID), store.Completed)
	})
}

// dependFollowed: a job and its follow-ups come with the transaction, or none of them does.
func dependFollowed(e *txEnv) {
	node := e.Join()
	var first, then, lost *store.Enqueue
	e.both(func(tx store.Tx) {
		first, then = e.Job(), e.Job()
		then.After = env.Dependencies(store.OnlyIfFailed, first.Job.ID)
		first.FollowUps = []*store.Enqueue{then}
		lost = e.Job(env.After(first.Job.ID))
		again := e.Job(func(q *store.Enqueue) { q.Job.ID, q.KnownID, q.FollowUps = first.Job.ID, true, []*store.Enqueue{lost} })
		e.enqueueTx(tx, first)
		e.enqueueTx(tx, again)
		e.NoError("the first", first.Err)
		if then.Result.State != store.Waiting || !again.Result.Existing || lost.Result.State != 0 {
			e.Fatalf("the follow-ups: %+v, %+v of %+v", then.Result, lost.Result, again.Result)
		}
	}, func(committed bool) {
		e.WantUnknown(lost.Job.ID)
		if !committed {
			e.WantUnknown(first.Job.ID)
			e.WantUnknown(then.Job.ID)
			return
		}
		e.WantAwaits(then.Job.ID, first.Job.ID)
		e.End(e.ClaimOne(node, first.Job.ID), store.Failed)
		e.CloseChildren(10)
		e.End(e.ClaimOne(node, then.Job.ID), store.Completed)
	})
}

// dependEnded: the predecessor has not finished when the job is written, and has when it is there.
func dependEnded(e *txEnv) {
	e.needsWriters()
	node := e.Join()
	for _, state := range []store.State{store.Completed, store.Failed} {
		on := e.Add()
		q := e.Job(env.AfterOr(store.CancelIfFailed, on))
		tx := e.begin(e.T)
		e.enqueueTx(tx.Tx, q)
		run := e.ClaimOne(node, on)
		e.End(run, state)
		e.Clock.Advance(time.Hour)
		e.WantIDs("ended", e.CloseChildren(10))
		e.finish(tx, true)
		e.CloseChildren(10)
		want := store.Available
		if state == store.Failed {
			want = store.Cancelled
		}
		e.WantState(q.Job.ID, want)
		if want == store.Available {
			e.End(e.ClaimOne(node, q.Job.ID), store.Completed)
		}
	}
}

// dependFree: what happens to a predecessor, and to other jobs after it, waits for no transaction
// that has written a job after it.
func dependFree(e *txEnv) {
	e.needsWriters()
	node := e.Join()
	on := e.Add()
	tx := e.begin(e.T)
	q := e.Job(env.After(on))
	e.enqueueTx(tx.Tx, q)
	beside := e.Job(env.After(on))
	e.applySoon(&store.Batch{Enqueues: []*store.Enqueue{beside}})
	e.NoError("another one after it", beside.Err)
	later := e.Add()
	e.Depend(later, store.RunIfFailed, store.Waiting, on)
	e.PauseJob(on, store.Waiting)
	e.GoOn(on)
	run := e.ClaimOne(node, on)
	e.End(run, store.Retryable)
	e.Retry(on)
	run = e.ClaimOne(node, on)
	o := env.Outcome(run, store.Completed)
	e.applySoon(&store.Batch{Outcomes: []*store.Outcome{o}})
	e.NoError("its end", o.Err)
	e.CloseChildren(10)
	e.WantState(beside.Job.ID, store.Available)
	e.WantState(later, store.Available)
	e.finish(tx, true)
	e.CloseChildren(10)
	e.WantState(q.Job.ID, store.Available)
}

// dependKept: a transaction has sent something to a job that waits for another one.
func dependKept(e *txEnv) {
	e.needsWriters()
	node := e.Join()
	run := e.ClaimOne(node, e.Add())
	kept, lost, free := e.Add(env.After(run.Job.ID)), e.Add(env.After(run.Job.ID)), e.Add(env.AfterOr(store.RunIfFailed, run.Job.ID))
	tx := e.begin(e.T)
	e.sendTx(tx.Tx, kept)
	e.applySoon(&store.Batch{Outcomes: []*store.Outcome{env.Outcome(run, store.Failed)}})
	e.WantSameIDs("ended", e.CloseChildren(10), lost)
	e.WantState(free, store.Available)
	e.WantAwaits(kept, run.Job.ID)
	e.finish(tx, true)
	e.WantSameIDs("ended", e.CloseChildren(10), kept)
}

// dependKeptFirst: a transaction has cancelled a job, and others come after it meanwhile.
func dependKeptFirst(e *txEnv) {
	e.needsWriters()
	on := e.Add(env.Delay(time.Hour))
	tx := e.begin(e.T)
	e.cancelTx(tx.Tx, on)
	q := e.Job(env.After(on))
	e.applySoon(&store.Batch{Enqueues: []*store.Enqueue{q}})
	e.NoError("a job after it", q.Err)
	e.WantIDs("ended", e.CloseChildren(10))
	e.finish(tx, true)
	e.WantSameIDs("ended", e.CloseChildren(10), q.Job.ID)
}
