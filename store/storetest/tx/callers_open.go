package tx

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// A transaction that has cancelled, retried or finished a job and stays open keeps that job, and
// holds up nothing else.
var callersOpenTests = tests{
	"one_that_is_open_holds_up_nothing_but_its_jobs":                           openBeside,
	"claims_pass_over_jobs_that_it_keeps":                                      openClaims,
	"OneOwner_a_claim_that_a_limit_per_key_turns_back_passes_over_them_once":   openGated,
	"OneOwner_what_needs_its_job_is_busy_and_the_job_stays_where_it_is":        openTouched,
	"CancelArrives_a_cancel_that_meets_it_is_applied_later":                    openCancelled,
	"a_pause_that_meets_it_is_applied_later":                                   openPaused,
	"two_on_the_same_jobs_do_not_wait_for_each_other":                          openCrosswise,
	"CancelArrives_a_run_that_one_asks_to_end_goes_on_until_it_is_told":        openRunning,
	"Order_a_turn_is_handed_on_when_it_commits":                                openTurn,
	"UniqueIsUnique_a_key_is_given_back_when_it_commits":                       openKey,
	"UniqueIsUnique_a_retry_does_not_wait_for_a_key_that_is_being_taken":       openRetryKey,
	"NoLoss_other_children_answer_the_parent_of_its_job":                       openParent,
	"EveryDueThingHappens_other_children_are_closed_and_its_own_when_it_ended": openClose,
	"Retained_jobs_are_removed_beside_it":                                      openRetain,
}

// grip is what a transaction does to a job.
type grip struct {
	name string
	make func(e *txEnv, node int64) store.ID
	do   func(e *txEnv, tx store.Tx, id store.ID) store.Result
	want store.State // once it is committed
}

// heldRun makes a job out of the way of others, and a run of it.
func (e *txEnv) heldRun(node int64, change ...func(*store.Enqueue)) store.Claimed {
	e.Helper()
	q := e.Enqueue(e.Job(append(change, env.Queue(heldQueue), env.Attempts(9), env.Priority(1))...))[0]
	e.Promote()
	params := e.Demand(node, 1)
	params.Queues = []store.QueueDemand{{Name: heldQueue, Limit: 1}}
	runs := e.ClaimWith(params)
	e.WantIDs("claimed", env.ClaimedIDs(runs), q.Job.ID)
	return runs[0]
}

func gripOf(name string, want store.State, do func(e *txEnv, tx store.Tx, id store.ID) store.Result) func(
	state string, bring func(e *txEnv, node int64) store.ID) grip {
	return func(state string, bring func(e *txEnv, node int64) store.ID) grip {
		return grip{name + " of a job that is " + state, bring, do, want}
	}
}

// grips are all sorts of it, but for jobs that run.
func grips() []grip {
	cancels := func(e *txEnv, tx store.Tx, id store.ID) store.Result { return e.cancelTx(tx, id)[0] }
	cancel, ask := gripOf("a cancel", store.Cancelled, cancels), gripOf("a cancel", store.Available, cancels)
	retry := gripOf("a retry", store.Available, func(e *txEnv, tx store.Tx, id store.ID) store.Result { return e.retryTx(tx, id)[0] })
	finish := gripOf("a finish", store.Completed, func(e *txEnv, tx store.Tx, id store.ID) store.Result {
		return e.finishTx(tx, env.CompletedBy(id))[0]
	})
	fail := gripOf("a failure", store.Available, func(e *txEnv, tx store.Tx, id store.ID) store.Result {
		return e.finishTx(tx, env.FailedBy(id))[0]
	})
	ended := func(state store.State) func(e *txEnv, node int64) store.ID {
		return func(e *txEnv, node int64) store.ID {
			run := e.heldRun(node)
			e.End(run, state)
			return run.Job.ID
		}
	}
	parked := func(wait store.Wait) func(e *txEnv, node int64) store.ID {
		return func(e *txEnv, node int64) store.ID {
			run := e.heldRun(node)
			e.Write(&run, env.Step(1))
			e.Park(run, &wait)
			return run.Job.ID
		}
	}
	scheduled := func(e *txEnv, _ int64) store.ID { return e.Add(env.Queue(heldQueue), env.Delay(time.Minute)) }
	return []grip{
		cancel("available", func(e *txEnv, _ int64) store.ID { return e.Add(env.Queue(heldQueue)) }),
		cancel("scheduled", scheduled), cancel("retryable", ended(store.Retryable)),
		ask("parked", parked(*env.ForSignals())),
		retry("failed", ended(store.Failed)), retry("cancelled", ended(store.Cancelled)), retry("scheduled", scheduled),
		finish("handed over", parked(store.Wait{HandedOver: true})),
		finish("handed over for a time", parked(store.Wait{HandedOver: true, Until: env.Start.Add(time.Minute)})),
		fail("handed over", parked(store.Wait{HandedOver: true, Compensates: true})),
	}
}

// eachGrip runs a test with each of them, in a transaction that is rolled back and in one that is
// committed. end ends the transaction, and checks what became of the job.
func (e *txEnv) eachGrip(test func(g grip, id store.ID, commit bool, end func())) {
	e.Helper()
	e.needsWriters()
	for _, g := range grips() {
		for _, commit := range []bool{false, true} {
			node := e.Join()
			id := g.make(e, node)
			before := e.Get(id)
			tx := e.begin(e.T)
			if r := g.do(e, tx.Tx, id); r.Err != nil || r.State != g.want {
				e.Fatalf("%s: %+v, want %v", g.name, r, g.want)
			}
			e.WantState(id, before.State)
			test(g, id, commit, func() {
				e.Helper()
				e.finish(tx, commit)
				want := before.State
				if commit {
					want = g.want
				}
				if got := e.Get(id).State; got != want {
					e.Fatalf("%s, committed %v: the job is %v, want %v", g.name, commit, got, want)
				}
			})
			e.Terminate(id)
		}
	}
}

// soonCtx is a context for what must not take long.
func (e *txEnv) soonCtx() context.Context {
	e.Helper()
	ctx, cancel := context.WithTimeout(e.Ctx, soon)
	e.Cleanup(cancel)
	return ctx
}

func openBeside(e *txEnv) {
	leader := e.Join()
	by := e.bystanders()
	e.eachGrip(func(g grip, _ store.ID, _ bool, end func()) {
		batch := &store.Batch{}
		check := by.join(batch)
		e.applySoon(batch)
		check()
		ctx := e.soonCtx()
		ids := []store.ID{e.Add(env.Delay(time.Hour)), e.Add(env.Delay(time.Hour)), e.HandedOver().Job.ID, e.Add(env.Delay(time.Hour))}
		// Nodes beat, die, and are rescued from; people go on.
		dead := e.Join()
		runs := []store.Claimed{e.ClaimOne(dead, e.Add()), e.ClaimOne(dead, e.Add())}
		if beat := e.Lead(leader); !beat.Leader {
			e.Fatal("the leader does not lead")
		}
		e.WantSameIDs(g.name+": rescued beside it", env.RescuedIDs(e.rescueSoon(e.LastBeat(dead))), env.ClaimedIDs(runs)...)
		results, _, err := e.Store.Cancel(ctx, store.CancelParams{Jobs: append(ids[:1:1], env.ClaimedIDs(runs)...), Actor: "ada"})
		e.done(e.answered("Cancel", results, err, append(ids[:1:1], env.ClaimedIDs(runs)...)), store.Cancelled)
		results, _, err = e.Store.Retry(ctx, store.RetryParams{Jobs: ids[1:2], Actor: "ada"})
		e.done(e.answered("Retry", results, err, ids[1:2]), store.Available)
		e.Finish(env.CompletedBy(ids[2]))
		e.PauseJob(ids[3], store.Waiting)
		e.Resume(env.Resumption(ids[3]), store.Scheduled)
		e.Sweep()
		e.CloseChildren(100)
		e.Promote()
		times := store.Retention{Completed: 48 * time.Hour, Failed: time.Hour, Cancelled: time.Hour, Limit: 100}
		if _, err := e.Store.Retain(ctx, times); err != nil {
			e.Fatalf("%s: Retain beside it: %v", g.name, err)
		}
		other := e.begin(e.T)
		e.done(e.cancelTx(other.Tx, ids[1], ids[3]), store.Cancelled)
		e.finish(other, true)
		end()
	})
}

// openGated: a claim that looks several times, as a limit per key lets less through than it took,
// meets the lanes of others in each of these looks.
func openGated(e *txEnv) {
	e.needsWriters()
	e.SaveLimit(env.Limit("tenant", 1, func(l *store.Limit) { l.PerKey = true }))
	node := e.Join()
	e.ClaimOne(node, e.Add(env.LimitKey("tenant", "a")))
	e.Many(2, env.Priority(1), env.LimitKey("tenant", "a"))
	held := env.IDsOf(e.Many(4, env.Priority(2)))
	free := env.IDsOf(e.Many(2, env.Priority(3)))
	tx := e.begin(e.T)
	e.done(e.cancelTx(tx.Tx, held...), store.Cancelled)
	var got []store.ID
	for range 3 {
		got = append(got, env.ClaimedIDs(e.Claim(node, 4))...)
	}
	e.finish(tx, true)
	e.WantIDs("claimed", got, free...)
}

// openClaims: the jobs that are kept would all come first, and there is room for one only.
func openClaims(e *txEnv) {
	e.needsWriters()
	var kept []store.ID
	for i := range 5 {
		for priority := range 2 {
			kept = append(kept, e.Add(env.Queue(fmt.Sprint("kept", i)), env.Priority(1+priority)))
		}
	}
	mixed := e.Add(env.Queue("mixed"))
	e.Clock.Advance(time.Second)
	free := []store.ID{e.Add(env.Queue("mixed")), e.Add(env.Priority(4))}
	tx := e.begin(e.T)
	e.done(e.cancelTx(tx.Tx, append(slices.Clip(kept), mixed)...), store.Cancelled)
	node := e.Join()
	for _, id := range free {
		e.ClaimOne(node, id)
	}
	e.WantNothing(node)
	e.finish(tx, false)
	for range append(kept, mixed) {
		if n := len(e.Claim(node, 1)); n != 1 {
			e.Fatalf("%d jobs were claimed after the rollback", n)
		}
	}
	e.WantNothing(node)
}

// openTouched: whatever would move the job does not, and says so.
func openTouched(e *txEnv) {
	e.eachGrip(func(g grip, id store.ID, _ bool, end func()) {
		ctx := e.soonCtx()
		before := e.Get(id)
		busy := func(what string, err error) {
			e.Helper()
			if !errors.Is(err, store.ErrBusy) {
				e.Fatalf("%s beside %s: %v, want %v", what, g.name, err, store.ErrBusy)
			}
		}
		send := &store.Batch{Sends: []*store.Send{{Job: id, Message: env.Signal("s")}}}
		e.applySoon(send)
		busy("a send", send.Sends[0].Err)
		results, _, err := e.Store.Cancel(ctx, store.CancelParams{Jobs: []store.ID{id}, Terminate: true, Actor: "ada"})
		busy("terminating", e.answered("Cancel", results, err, []store.ID{id})[0].Err)
		results, _, err = e.Store.Retry(ctx, store.RetryParams{Jobs: []store.ID{id}, Actor: "ada"})
		busy("a retry", e.answered("Retry", results, err, []store.ID{id})[0].Err)
		_, _, err = e.Store.Resume(ctx, env.Resumption(id))
		busy("a resume", err)
		busy("a finish", e.TryFinish(env.CompletedBy(id))[0].Err)
		other := e.begin(e.T)
		busy("a cancel in a transaction", e.cancelTx(other.Tx, id)[0].Err)
		busy("a retry in a transaction", e.retryTx(other.Tx, id)[0].Err)
		busy("a finish in a transaction", e.finishTx(other.Tx, env.CompletedBy(id))[0].Err)
		free := e.Add(env.Delay(time.Hour))
		e.done(e.cancelTx(other.Tx, free), store.Cancelled) // it is usable
		e.finish(other, true)
		e.WantState(free, store.Cancelled)
		e.Clock.Advance(2 * time.Minute)
		e.Promote()
		e.WantNothing(e.Join())
		e.Equal("the job meanwhile, beside "+g.name, e.Get(id), before)
		e.Clock.Advance(-2 * time.Minute)
		end()
	})
}

// openCancelled: a person cancels the job while the transaction is open.
func openCancelled(e *txEnv) {
	e.eachGrip(func(g grip, id store.ID, commit bool, end func()) {
		before := e.Get(id).State
		results, _, err := e.Store.Cancel(e.soonCtx(), store.CancelParams{Jobs: []store.ID{id}, Reason: "meanwhile", Actor: "bob"})
		r := e.answered("Cancel", results, err, []store.ID{id})[0]
		if r.Err != nil && !errors.Is(r.Err, store.ErrBusy) || r.Err == nil && r.State != before {
			e.Fatalf("Cancel beside %s: %+v", g.name, r)
		}
		end()
		e.Sweep()
		got := e.Get(id)
		switch durable := len(e.Journal(id).Entries) > 0; {
		case r.Err != nil, got.Closing, before.Finished(): // it may have come before or after
		case got.State == store.Completed && commit && g.want == store.Completed:
		case got.State == store.Cancelled, durable && got.State == store.Available && got.CancelRequested:
		default:
			e.Fatalf("%s, committed %v, met a cancel: the job is %v", g.name, commit, got.State)
		}
		for range 3 {
			e.Sweep()
		}
		if e.Get(id).State.Finished() && e.Lead(e.leader()).Work.SweepCancels {
			e.Fatalf("%s, committed %v: a request is left over", g.name, commit)
		}
	})
}

// leader is the node that leads.
func (e *txEnv) leader() int64 {
	e.Helper()
	for id, n := range e.Nodes() {
		if n.Leader {
			return id
		}
	}
	return e.Join()
}

func openPaused(e *txEnv) {
	e.eachGrip(func(g grip, id store.ID, commit bool, end func()) {
		results, _, err := e.Store.PauseJobs(e.soonCtx(), store.PauseJobsParams{Jobs: []store.ID{id}, Reason: "meanwhile", Actor: "bob"})
		before := e.Get(id).State
		r := e.answered("PauseJobs", results, err, []store.ID{id})[0]
		if r.State != store.Running && !before.Finished() || before.Finished() && r.Err == nil && r.State != store.Running {
			e.Fatalf("PauseJobs beside %s: %+v", g.name, r)
		}
		end()
		for range 3 {
			e.Sweep()
		}
		if got := e.Get(id); !got.State.Finished() && e.Store.Traits().Name == "postgres" && got.State != store.Waiting {
			e.Fatalf("%s, committed %v, met a pause: the job is %v", g.name, commit, got.State)
		}
	})
}

// openCrosswise: two transactions want the jobs of each other, in both orders; neither waits.
func openCrosswise(e *txEnv) {
	e.needsWriters()
	all := grips()
	for i, g := range all {
		other := all[(i+3)%len(all)]
		for _, commit := range []bool{true, false} {
			node := e.Join()
			a, b := g.make(e, node), other.make(e, node)
			first, second := e.begin(e.T), e.begin(e.T)
			if r := g.do(e, first.Tx, a); r.Err != nil {
				e.Fatalf("%s: %+v", g.name, r)
			}
			if r := other.do(e, second.Tx, b); r.Err != nil {
				e.Fatalf("%s: %+v", other.name, r)
			}
			e.WantErr(other.name+" that another transaction has", other.do(e, first.Tx, b).Err, store.ErrBusy)
			e.WantErr(g.name+" that another transaction has", g.do(e, second.Tx, a).Err, store.ErrBusy)
			e.finish(second, commit)
			r := other.do(e, first.Tx, b) // which may have it now
			if !commit && (r.Err != nil || r.State != other.want) || errors.Is(r.Err, store.ErrBusy) {
				e.Fatalf("%s, once it is free: %+v", other.name, r)
			}
			e.finish(first, true)
			if got := e.Get(a).State; got != g.want {
				e.Fatalf("%s: the job is %v", g.name, got)
			}
			if got := e.Get(b).State; got != other.want {
				e.Fatalf("%s: the job is %v", other.name, got)
			}
			e.Terminate(a, b)
		}
	}
}

// openRunning: the run of a job that is asked to end writes its journal and its checkpoints, and is
// lost with its node; where its job goes then is decided when the transaction has ended.
func openRunning(e *txEnv) {
	e.needsWriters()
	for _, state := range append(slices.Clip(env.EndStates), store.Waiting) {
		for _, commit := range []bool{true, false} {
			run := e.heldRun(e.Join())
			beside := e.ClaimOne(run.Lease.Node, e.Add())
			e.Write(&run, env.Step(1))
			tx := e.begin(e.T)
			e.done(e.cancelTx(tx.Tx, run.Job.ID), store.Running)
			if n := len(e.Beat(run.Lease.Node).Cancels); n != 0 {
				e.Fatal("a node is told of a request that may not be made")
			}
			e.Write(&run, env.Step(2))
			e.Save(run, store.Checkpoint{Percent: 50})
			e.End(beside, store.Completed)
			o := env.Outcome(run, state)
			if state == store.Waiting {
				o.Wait = env.ForSignals()
			}
			e.applySoon(&store.Batch{Outcomes: []*store.Outcome{o}})
			if o.Err != nil && !errors.Is(o.Err, store.ErrBusy) || o.Err == nil && !state.Finished() {
				e.Fatalf("%v beside it: %v", state, o.Err)
			}
			e.finish(tx, commit)
			if o.Err != nil {
				if n := len(e.Beat(run.Lease.Node).Cancels); (n == 1) != commit {
					e.Fatalf("committed %v: the node is told of %d cancels", commit, n)
				}
				o.Err = nil
				e.applySoon(&store.Batch{Outcomes: []*store.Outcome{o}})
			}
			want := state
			if commit && !state.Finished() {
				want = store.Available // to end itself
			}
			if o.Err != nil || o.Final != want {
				e.Fatalf("%v, committed %v: became %v, %v; want %v", state, commit, o.Final, o.Err, want)
			}
			for range 3 {
				e.Sweep()
			}
			if got := e.Get(run.Job.ID); got.CancelRequested != (commit && !state.Finished()) {
				e.Fatalf("%v, committed %v: %+v", state, commit, got)
			}
			e.Terminate(run.Job.ID)
		}
	}
	run := e.heldRun(e.Join())
	lost := e.ClaimOne(run.Lease.Node, e.Add())
	tx := e.begin(e.T)
	e.done(e.cancelTx(tx.Tx, run.Job.ID), store.Running)
	e.WantSameIDs("rescued beside it", env.RescuedIDs(e.rescueSoon(e.LastBeat(run.Lease.Node))), lost.Job.ID)
	e.finish(tx, true)
	e.WantSameIDs("rescued at last", env.RescuedIDs(e.rescueSoon()), run.Job.ID)
	e.WantState(run.Job.ID, store.Cancelled)
}

func openTurn(e *txEnv) {
	e.needsWriters()
	for _, commit := range []bool{true, false} {
		node := e.Join()
		holder := e.heldRun(node, env.Ordered("k"))
		e.HandOver(holder, &store.Wait{})
		next, other := e.Add(env.Queue(heldQueue), env.Ordered("k")), e.Add(env.Ordered("other"))
		tx := e.begin(e.T)
		e.done(e.finishTx(tx.Tx, env.CompletedBy(holder.Job.ID)), store.Completed)
		late := e.Add(env.Queue(heldQueue), env.Ordered("k"))
		e.Promote()
		e.End(e.ClaimOne(node, other), store.Completed)
		e.finish(tx, commit)
		e.Promote()
		if !commit {
			e.WantNothing(node)
			e.Finish(env.FailedBy(holder.Job.ID))
			e.Promote()
		}
		e.End(e.ClaimOne(node, next), store.Completed)
		e.Promote()
		e.End(e.ClaimOne(node, late), store.Completed)
	}
}

func openKey(e *txEnv) {
	e.needsWriters()
	for _, commit := range []bool{true, false} {
		holder := e.Add(env.Unique("k"), env.Delay(time.Hour))
		tx := e.begin(e.T)
		e.done(e.cancelTx(tx.Tx, holder), store.Cancelled)
		for _, rule := range []store.OnConflict{store.ReturnExisting, store.Reject, store.Replace} {
			q := e.Job(env.Unique("k"), env.OnConflict(rule))
			beside := e.Job(env.Unique("beside"), env.Delay(time.Hour))
			e.applySoon(&store.Batch{Enqueues: []*store.Enqueue{q, beside}})
			wantBusy(e, "an enqueue of a key that is being given back", q.Err)
			e.NoError("the enqueue beside it", beside.Err)
		}
		e.finish(tx, commit)
		q := e.Try(env.Unique("k"), env.Delay(time.Hour))
		if q.Err != nil || q.Result.Existing == commit {
			e.Fatalf("committed %v: %+v, %v", commit, q.Result, q.Err)
		}
		e.Cancel(q.Result.ID)
	}
}

func openRetryKey(e *txEnv) {
	e.needsWriters()
	for _, commit := range []bool{true, false} {
		failed, free := e.Started(env.Unique("k")), e.Started()
		e.End(failed, store.Failed)
		e.End(free, store.Failed)
		taking := e.Job(env.Unique("k"), env.Delay(time.Hour))
		other := e.begin(e.T)
		e.enqueueTx(other.Tx, taking)
		tx := e.begin(e.T)
		results := e.retryTx(tx.Tx, failed.Job.ID, free.Job.ID)
		wantBusy(e, "a retry of a job whose key is being taken", results[0].Err)
		e.done(results[1:], store.Available)
		e.finish(other, commit)
		r := e.retryTx(tx.Tx, failed.Job.ID)[0]
		if commit {
			e.WantErr("a retry of a job whose key is taken", r.Err, store.ErrConflict)
		} else {
			e.done([]store.Result{r}, store.Available)
		}
		e.finish(tx, true)
		e.WantState(free.Job.ID, store.Available)
		e.Terminate(free.Job.ID, failed.Job.ID)
		if commit {
			e.Terminate(taking.Job.ID)
		}
	}
}

// openParent: a transaction that has ended a child does not keep the parent.
func openParent(e *txEnv) {
	e.needsWriters()
	for _, commit := range []bool{true, false} {
		node := e.Join()
		parent := e.heldRun(node)
		held := e.Bear(&parent, 1, env.Queue(heldQueue), env.Delay(time.Hour))[0]
		other := e.ClaimOne(node, e.Bear(&parent, 1)[0])
		tx := e.begin(e.T)
		e.done(e.cancelTx(tx.Tx, held), store.Cancelled)
		batch := &store.Batch{
			Sends: []*store.Send{{Job: parent.Job.ID, Message: env.Signal("s")}},
			Outcomes: []*store.Outcome{
				env.Outcome(other, store.Failed),
				env.Outcome(parent, store.Waiting, func(o *store.Outcome) { o.Wait, o.Durable = &store.Wait{Seen: 0, Count: 3}, true }),
			},
		}
		e.applySoon(batch)
		for _, o := range batch.Outcomes {
			e.NoError("an end beside it", o.Err)
		}
		e.NoError("a send beside it", batch.Sends[0].Err)
		e.WantState(parent.Job.ID, store.Waiting)
		e.finish(tx, commit)
		// A caller that sends to the parent keeps it; then the answer waits.
		sending := e.begin(e.T)
		if commit && !e.tellsAtOnce() {
			e.sendTx(sending.Tx, parent.Job.ID)
			e.CloseOnce(100)
			e.WantState(parent.Job.ID, store.Waiting)
		}
		e.finish(sending, false)
		e.CloseChildren(100)
		want, answers := store.Waiting, 1
		if commit {
			want, answers = store.Available, 2
		}
		e.WantState(parent.Job.ID, want)
		if n := len(e.Answers(parent.Job.ID)); n != answers {
			e.Fatalf("committed %v: %d answers", commit, n)
		}
		e.Terminate(parent.Job.ID, held)
	}
}

func openClose(e *txEnv) {
	e.needsWriters()
	for _, commit := range []bool{true, false} {
		for _, policy := range []store.ClosePolicy{store.CancelChild, store.TerminateChild} {
			run := e.heldRun(e.Join())
			ids := e.Bear(&run, 3, env.Queue(heldQueue), env.Delay(time.Hour), env.OnParentClose(policy))
			kept := ids[1]
			tx := e.begin(e.T)
			e.done(e.retryTx(tx.Tx, kept), store.Available)
			e.End(run, store.Completed, env.WithChildren)
			for range 3 {
				e.CloseOnce(100)
			}
			e.WantState(ids[0], store.Cancelled)
			e.WantState(ids[2], store.Cancelled)
			e.finish(tx, commit)
			for range 3 {
				e.CloseOnce(100)
				e.Sweep()
			}
			e.WantState(kept, store.Cancelled)
		}
	}
	// The parent itself is let run again while its children are to be closed.
	parent, other := e.heldRun(e.Join()), e.heldRun(e.Join())
	spared := e.Bear(&parent, 1, env.Queue(heldQueue), env.Delay(time.Hour))
	closed := e.Bear(&other, 1, env.Queue(heldQueue), env.Delay(time.Hour))
	e.End(parent, store.Failed, env.WithChildren, func(o *store.Outcome) { o.Durable = true })
	tx := e.begin(e.T)
	e.done(e.retryTx(tx.Tx, parent.Job.ID), store.Available)
	e.End(other, store.Failed, env.WithChildren, func(o *store.Outcome) { o.Durable = true })
	ctx := e.soonCtx()
	for range 3 {
		if _, err := e.Store.CloseChildren(ctx, 100); err != nil {
			e.Fatalf("CloseChildren beside it: %v", err)
		}
	}
	e.WantState(closed[0], store.Cancelled)
	e.finish(tx, true)
	e.CloseChildren(100)
	e.WantState(parent.Job.ID, store.Available)
	e.Terminate(spared...)
}

// openRetain: a finished job that a transaction has is removed later, and others at once.
func openRetain(e *txEnv) {
	e.needsWriters()
	node := e.Join()
	kept, gone := e.heldRun(node), e.heldRun(node)
	e.End(kept, store.Failed)
	e.End(gone, store.Failed)
	tx := e.begin(e.T)
	e.done(e.retryTx(tx.Tx, kept.Job.ID), store.Available)
	e.Clock.Advance(2 * time.Hour)
	retention := store.Retention{Completed: 48 * time.Hour, Failed: time.Hour, Cancelled: 48 * time.Hour, Limit: 100}
	_, err := e.Store.Retain(e.soonCtx(), retention)
	e.NoError("Retain", err)
	e.WantUnknown(gone.Job.ID)
	e.WantState(kept.Job.ID, store.Failed)
	e.finish(tx, false)
	_, err = e.Store.Retain(e.soonCtx(), retention)
	e.NoError("Retain", err)
	e.WantUnknown(kept.Job.ID)
}
