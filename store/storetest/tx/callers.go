package tx

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// What callers do to jobs in their transactions. What happens while those are open is in
// callers_open.go.
var callersTests = tests{
	"a_cancel_does_in_a_transaction_what_it_does_without_one":              callersCancel,
	"a_retry_does_in_a_transaction_what_it_does_without_one":               callersRetry,
	"a_finish_does_in_a_transaction_what_it_does_without_one":              callersFinish,
	"nothing_is_left_of_a_cancel_retry_or_finish_that_is_rolled_back":      callersRollback,
	"one_transaction_sees_what_it_has_done_itself":                         callersSequence,
	"many_jobs_are_cancelled_in_one_transaction_and_answered_for_in_order": callersMany,
	"a_retry_keeps_of_a_journal_what_the_caller_says":                      callersKeep,
	"NoLoss_the_parent_of_a_job_that_a_transaction_has_ended_is_told_once": callersParent,
	"NoLoss_a_parent_is_not_told_of_an_end_that_was_taken_back":            callersTakenBack,
	"what_cannot_be_done_in_a_transaction_is_refused":                      callersRefused,
}

// cancelTx cancels jobs in a transaction.
func (e *txEnv) cancelTx(tx store.Tx, ids ...store.ID) []store.Result {
	e.Helper()
	results, err := e.Store.CancelTx(e.Ctx, tx, store.CancelParams{Jobs: ids, Reason: "not needed", Actor: "ada"})
	return e.answered("CancelTx", results, err, ids)
}

// retryTx lets jobs run again in a transaction.
func (e *txEnv) retryTx(tx store.Tx, ids ...store.ID) []store.Result {
	e.Helper()
	results, err := e.Store.RetryTx(e.Ctx, tx, store.RetryParams{Jobs: ids, Reason: "once more", Actor: "ada"})
	return e.answered("RetryTx", results, err, ids)
}

// finishTx ends jobs from outside in a transaction.
func (e *txEnv) finishTx(tx store.Tx, ends ...store.End) []store.Result {
	e.Helper()
	var ids []store.ID
	for _, end := range ends {
		ids = append(ids, end.Job)
	}
	results, err := e.Store.FinishTx(e.Ctx, tx, store.FinishParams{Ends: ends, Actor: "ada"})
	return e.answered("FinishTx", results, err, ids)
}

func (e *txEnv) answered(what string, results []store.Result, err error, ids []store.ID) []store.Result {
	e.Helper()
	if err != nil || len(results) != len(ids) {
		e.Fatalf("%s: %d results about %d jobs, %v", what, len(results), len(ids), err)
	}
	for i, r := range results {
		if r.Job != ids[i] {
			e.Fatalf("answer %d of %s is about %v, want %v", i, what, r.Job, ids[i])
		}
	}
	return results
}

// done checks that all of it was done.
func (e *txEnv) done(results []store.Result, want store.State) {
	e.Helper()
	for _, r := range results {
		if r.Err != nil || r.State != want {
			e.Fatalf("%+v, want %v", r, want)
		}
	}
}

// everyState makes a job of each sort that a caller may meet, under the name of the sort, in a
// queue of their own.
func (e *txEnv) everyState() map[string]store.ID {
	e.Helper()
	node := e.Join()
	queue := env.Queue(fmt.Sprint("every", node))
	started := func(change ...func(*store.Enqueue)) store.Claimed {
		e.Helper()
		q := e.Enqueue(e.Job(append(change, queue)...))[0]
		e.Promote()
		params := e.Demand(node, 1)
		params.Queues = []store.QueueDemand{{Name: q.Job.Queue, Limit: 1}}
		runs := e.ClaimWith(params)
		e.WantIDs("claimed", env.ClaimedIDs(runs), q.Job.ID)
		return runs[0]
	}
	jobs := map[string]store.ID{"unknown": e.IDs.Next()}
	for _, state := range []store.State{store.Retryable, store.Completed, store.Failed, store.Cancelled} {
		run := started(env.Unique(fmt.Sprint(state, node)))
		e.End(run, state)
		jobs[state.String()] = run.Job.ID
	}
	durable := func(o *store.Outcome) { o.Durable = true }
	for name, wait := range map[string]*store.Wait{
		"parked": env.ForSignals(), "held": {Held: true}, "handed over, compensates": {HandedOver: true, Compensates: true},
	} {
		run := started()
		e.Write(&run, env.Steps(1, 2)...)
		e.Park(run, wait, durable)
		jobs[name] = run.Job.ID
	}
	handed := started(env.Unique(fmt.Sprint("handed", node)))
	e.HandOver(handed, &store.Wait{})
	jobs["handed over"] = handed.Job.ID
	remembers := started()
	e.Write(&remembers, env.Step(1))
	jobs["running, durable"], jobs["running"], jobs["with the turn"] = remembers.Job.ID, started().Job.ID, started(env.Ordered("turn")).Job.ID
	jobs["paused"] = e.Add(queue, env.Delay(time.Hour))
	e.PauseJob(jobs["paused"], store.Waiting)
	jobs["scheduled"], jobs["available"], jobs["in line"] = e.Add(queue, env.Delay(time.Hour)), e.Add(queue), e.Add(queue, env.Ordered("turn"))
	return jobs
}

// sameAs checks that jobs that were done to in a transaction are what those are to which the same
// was done without one.
func (e *txEnv) sameAs(outside func(ids []store.ID) []store.Result, inside func(tx store.Tx, ids []store.ID) []store.Result) {
	e.Helper()
	a, b := e.everyState(), e.everyState()
	names := slices.Sorted(maps.Keys(a))
	of := func(jobs map[string]store.ID) (ids []store.ID) {
		for _, name := range names {
			ids = append(ids, jobs[name])
		}
		return ids
	}
	before := e.records(of(b))
	tx := e.begin(e.T)
	got := inside(tx.Tx, of(b))
	e.Equal("what others see before the commit", e.records(of(b)), before)
	e.finish(tx, true)
	want := outside(of(a))
	for i, name := range names {
		if got[i].State != want[i].State || (got[i].Err == nil) != (want[i].Err == nil) {
			e.Fatalf("a job that is %s: in a transaction %+v, without one %+v", name, got[i], want[i])
		}
		if want[i].Err != nil {
			for _, class := range []error{store.ErrConflict, store.ErrNotFound, store.ErrBusy} {
				if errors.Is(want[i].Err, class) != errors.Is(got[i].Err, class) {
					e.Fatalf("a job that is %s: in a transaction %v, without one %v", name, got[i].Err, want[i].Err)
				}
			}
		}
	}
	e.CloseChildren(100)
	for _, name := range names {
		if name == "unknown" {
			continue
		}
		e.Equal("a job that was "+name, e.Get(b[name]), e.Get(a[name]),
			cmpopts.IgnoreFields(store.Job{}, "ID", "UniqueKey", "Queue", "CreatedAt"), cmpopts.IgnoreFields(store.Record{}, "Lease"),
			cmpopts.IgnoreFields(store.Attempt{}, "Node"))
		e.Equal("the journal of a job that was "+name, e.Journal(b[name]), e.Journal(a[name]), cmpopts.IgnoreFields(store.Journal{}, "Job"))
	}
}

// records are all that is known of jobs, those that are there.
func (e *txEnv) records(ids []store.ID) map[store.ID]any {
	e.Helper()
	all := map[store.ID]any{}
	for _, id := range ids {
		if record, err := e.Store.Get(e.Ctx, "", id); err == nil {
			all[id] = []any{record, e.Journal(id), e.Messages(id)}
		}
	}
	return all
}

func callersCancel(e *txEnv) {
	e.sameAs(func(ids []store.ID) []store.Result {
		results, _, err := e.Store.Cancel(e.Ctx, store.CancelParams{Jobs: ids, Reason: "not needed", Actor: "ada"})
		return e.answered("Cancel", results, err, ids)
	}, func(tx store.Tx, ids []store.ID) []store.Result { return e.cancelTx(tx, ids...) })
}

func callersRetry(e *txEnv) {
	e.sameAs(func(ids []store.ID) []store.Result {
		results, _, err := e.Store.Retry(e.Ctx, store.RetryParams{Jobs: ids, Reason: "once more", Actor: "ada"})
		return e.answered("Retry", results, err, ids)
	}, func(tx store.Tx, ids []store.ID) []store.Result { return e.retryTx(tx, ids...) })
}

func callersFinish(e *txEnv) {
	for _, end := range []func(store.ID) store.End{env.CompletedBy, env.FailedBy} {
		all := func(ids []store.ID) (ends []store.End) {
			for _, id := range ids {
				ends = append(ends, end(id))
			}
			return ends
		}
		e.sameAs(func(ids []store.ID) []store.Result { return e.TryFinish(all(ids)...) },
			func(tx store.Tx, ids []store.ID) []store.Result { return e.finishTx(tx, all(ids)...) })
	}
}

// callersRollback: what can be read of jobs, queues and keys is as before. The tables are compared
// where there are some.
func callersRollback(e *txEnv) {
	jobs := e.everyState()
	var ids []store.ID
	for _, id := range jobs {
		ids = append(ids, id)
	}
	before, queues := e.records(ids), e.QueueNames()
	for _, do := range []func(tx store.Tx){
		func(tx store.Tx) { e.cancelTx(tx, ids...) },
		func(tx store.Tx) { e.retryTx(tx, ids...) },
		func(tx store.Tx) {
			e.finishTx(tx, env.CompletedBy(jobs["handed over"]), env.FailedBy(jobs["handed over, compensates"]))
		},
	} {
		tx := e.begin(e.T)
		do(tx.Tx)
		e.finish(tx, false)
		e.Equal("jobs after the rollback", e.records(ids), before)
		e.Equal("queues", e.QueueNames(), queues)
		if e.Sweep() != 0 || len(e.CloseChildren(10)) != 0 {
			e.Fatal("something was left to do by a transaction that was rolled back")
		}
		e.Promote()
		e.Equal("jobs after a promotion", e.records(ids), before)
	}
}

func callersSequence(e *txEnv) {
	fresh := e.Job(env.Unique("k"))
	waiting := e.Add(env.Delay(time.Hour), env.Unique("w"))
	handed := e.HandedOver().Job.ID
	tx := e.begin(e.T)
	e.enqueueTx(tx.Tx, fresh)
	e.done(e.cancelTx(tx.Tx, fresh.Job.ID, waiting), store.Cancelled)
	again := e.Job(env.Unique("w"))
	e.enqueueTx(tx.Tx, again)
	if again.Err != nil || again.Result.Existing {
		e.Fatalf("an enqueue with a key that the transaction has given back: %+v, %v", again.Result, again.Err)
	}
	e.WantErr("a retry of a job whose key the transaction has given away", e.retryTx(tx.Tx, waiting)[0].Err, store.ErrConflict)
	e.done(e.retryTx(tx.Tx, fresh.Job.ID), store.Available)
	e.done(e.finishTx(tx.Tx, env.FailedBy(handed)), store.Failed)
	e.WantErr("a second end", e.finishTx(tx.Tx, env.CompletedBy(handed))[0].Err, store.ErrConflict)
	e.done(e.retryTx(tx.Tx, handed), store.Available)
	e.done(e.cancelTx(tx.Tx, handed), store.Cancelled)
	e.finish(tx, true)
	e.WantState(waiting, store.Cancelled)
	e.WantState(handed, store.Cancelled)
	e.WantState(again.Job.ID, store.Available)
	e.ClaimOne(e.Join(), fresh.Job.ID)
}

func callersMany(e *txEnv) {
	var ids []store.ID
	for range 25 {
		ids = append(ids, env.IDsOf(e.Many(100, env.Delay(time.Hour)))...)
	}
	asked := append(slices.Clone(ids), ids[3], e.IDs.Next(), ids[7])
	tx := e.begin(e.T)
	results := e.cancelTx(tx.Tx, asked...)
	e.finish(tx, true)
	for i, r := range results {
		if i == len(ids)+1 {
			e.WantErr("an unknown job", r.Err, store.ErrNotFound)
		} else {
			e.done(results[i:i+1], store.Cancelled)
		}
	}
	if left := e.ListIDs(store.Filter{States: []store.State{store.Scheduled, store.Available}}); len(left) > 0 {
		e.Fatalf("%d jobs are left", len(left))
	}
	if n := len(e.Get(ids[3]).Actions); n != 1 {
		e.Fatalf("%d actions of a job that was named twice", n)
	}
}

func callersKeep(e *txEnv) {
	failed := func() store.ID {
		run := e.Durable(5)
		e.EndAs(store.Failed, run, store.Failed, func(o *store.Outcome) { o.Durable = true })
		return run.Job.ID
	}
	keeps, refuses, plain := failed(), failed(), e.Started()
	e.End(plain, store.Failed)
	e.both(func(tx store.Tx) {
		params := store.RetryParams{Jobs: []store.ID{keeps, refuses, plain.Job.ID}, Actor: "ada", Keep: func(j store.Journal) (int64, error) {
			if len(j.Entries) != 5 || j.Job == plain.Job.ID {
				e.Errorf("asked of %+v", j)
			}
			if j.Job == refuses {
				return 0, store.ErrConflict
			}
			return 2, nil
		}}
		results, err := e.Store.RetryTx(e.Ctx, tx, params)
		e.WantAnswers(results, err, params.Jobs, store.Result{State: store.Available},
			store.Result{State: store.Failed, Err: store.ErrConflict}, store.Result{State: store.Available})
	}, func(committed bool) {
		entries := 5
		if committed {
			entries = 2
			e.WantState(keeps, store.Available)
			e.WantState(plain.Job.ID, store.Available)
		}
		e.WantEntries(keeps, entries)
		e.WantEntries(refuses, 5)
		e.WantState(refuses, store.Failed)
	})
}

// callersParent: a parent is told at the commit or a little later, in the order in which its
// children have ended.
func callersParent(e *txEnv) {
	for _, commit := range []bool{false, true} {
		node := e.Join()
		parent := e.ClaimOne(node, e.Add(env.Queue("parents")))
		delayed := e.Bear(&parent, 2, env.Delay(time.Hour))
		handed := e.Bear(&parent, 2)
		for _, run := range e.Claim(node, 2) {
			e.HandOver(run, &store.Wait{})
		}
		e.ParkAs(store.Waiting, parent, &store.Wait{Count: 4})
		tx := e.begin(e.T)
		e.done(e.cancelTx(tx.Tx, delayed...), store.Cancelled)
		e.done(e.finishTx(tx.Tx, env.CompletedBy(handed[0])), store.Completed)
		e.done(e.finishTx(tx.Tx, env.FailedBy(handed[1])), store.Failed)
		e.WantState(parent.Job.ID, store.Waiting)
		e.finish(tx, commit)
		e.CloseChildren(1)
		e.CloseChildren(100)
		if !commit {
			e.WantState(parent.Job.ID, store.Waiting)
			if n := len(e.Answers(parent.Job.ID)); n != 0 {
				e.Fatalf("%d answers of children that were not ended", n)
			}
			e.Terminate(append(slices.Concat(delayed, handed), parent.Job.ID)...)
			continue
		}
		e.WantState(parent.Job.ID, store.Available)
		var from []store.ID
		for i, m := range e.Messages(parent.Job.ID) {
			if from = append(from, m.From); m.Seq != int64(i+1) || m.Kind != store.MessageChild {
				e.Fatalf("message %d: %+v", i, m)
			}
		}
		e.WantIDs("children that have answered", from, slices.Concat(delayed, handed)...)
		answers := e.Messages(parent.Job.ID)
		if answers[0].State != store.Cancelled || answers[0].Error != "not needed" || string(answers[2].Data) != `"from outside"` ||
			answers[3].Reason != store.ReasonTerminal || answers[3].Error != "it failed outside" {
			e.Fatalf("answers: %+v", answers)
		}
		e.CloseChildren(100)
		if n := len(e.Messages(parent.Job.ID)); n != 4 {
			e.Fatalf("%d answers at last", n)
		}
	}
}

// callersTakenBack: a child runs again before its parent could be told that it had ended; what it
// is told is the end that stays.
func callersTakenBack(e *txEnv) {
	node := e.Join()
	parent := e.ClaimOne(node, e.Add(env.Queue("parents")))
	child := e.Bear(&parent, 1, env.Delay(time.Hour))[0]
	e.ParkAs(store.Waiting, parent, env.ForSignals(store.MessageChild))
	tx := e.begin(e.T)
	e.done(e.cancelTx(tx.Tx, child), store.Cancelled)
	e.done(e.retryTx(tx.Tx, child), store.Available)
	e.finish(tx, true)
	e.CloseChildren(100)
	if n := len(e.Answers(parent.Job.ID)); n != 0 && !e.tellsAtOnce() {
		e.Fatalf("%d answers of a child that runs again", n)
	}
	before := len(e.Answers(parent.Job.ID))
	runs := e.Claim(node, 2) // the parent may have been told
	at := slices.IndexFunc(runs, func(run store.Claimed) bool { return run.Job.ID == child })
	e.End(runs[at], store.Completed)
	e.CloseChildren(100)
	answers := e.Answers(parent.Job.ID)
	if len(answers) != before+1 || answers[before].State != store.Completed {
		e.Fatalf("answers: %+v", answers)
	}
}

// tellsAtOnce reports whether a parent is told in the very transaction that ends its child.
func (e *txEnv) tellsAtOnce() bool { return e.Store.Traits().Name != "postgres" }

func callersRefused(e *txEnv) {
	id := e.Add()
	tx := e.begin(e.T)
	_, err := e.Store.CancelTx(e.Ctx, tx.Tx, store.CancelParams{Jobs: []store.ID{id}, Terminate: true})
	e.WantErr("CancelTx that terminates", err, store.ErrInvalid)
	results, err := e.Store.CancelTx(e.Ctx, tx.Tx, store.CancelParams{Namespace: env.OtherSpace, Jobs: []store.ID{id}})
	e.WantAnswers(results, err, []store.ID{id}, store.Result{Err: store.ErrNotFound})
	results, err = e.Store.RetryTx(e.Ctx, tx.Tx, store.RetryParams{Namespace: env.OtherSpace, Jobs: []store.ID{id}})
	e.WantAnswers(results, err, []store.ID{id}, store.Result{Err: store.ErrNotFound})
	params := store.FinishParams{Namespace: env.OtherSpace, Ends: []store.End{env.CompletedBy(id), {Job: id}}}
	results, err = e.Store.FinishTx(e.Ctx, tx.Tx, params)
	e.WantAnswers(results, err, []store.ID{id, id}, store.Result{Err: store.ErrNotFound}, store.Result{Err: store.ErrInvalid})
	for _, ids := range [][]store.ID{nil, {}} {
		e.done(e.cancelTx(tx.Tx, ids...), 0)
		e.done(e.retryTx(tx.Tx, ids...), 0)
	}
	e.done(e.finishTx(tx.Tx), 0)
	e.finish(tx, true)
	e.WantState(id, store.Available)
	for _, foreignTx := range []store.Tx{nil, foreign{}} {
		_, err1 := e.Store.CancelTx(e.Ctx, foreignTx, store.CancelParams{Jobs: []store.ID{id}})
		_, err2 := e.Store.RetryTx(e.Ctx, foreignTx, store.RetryParams{Jobs: []store.ID{id}})
		_, err3 := e.Store.FinishTx(e.Ctx, foreignTx, store.FinishParams{Ends: []store.End{env.CompletedBy(id)}})
		for _, err := range []error{err1, err2, err3} {
			e.WantErr("a transaction of another store", err, store.ErrInvalid)
		}
	}
}
