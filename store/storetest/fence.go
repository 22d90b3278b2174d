package storetest

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
)

var fenceTests = []test{
	{"OneOwner_a_second_outcome_changes_nothing", fenceDouble},
	{"OneOwner_of_two_outcomes_in_a_batch_the_first_wins", fenceDoubleInBatch},
	{"OneOwner_a_forged_lease_changes_nothing", fenceForged},
	{"OneOwner_a_node_that_left_writes_nothing", fenceAfterLeave},
	{"OneOwner_a_node_that_was_declared_dead_writes_nothing", fenceAfterRescue},
	{"OneOwner_a_lease_is_dead_once_the_job_runs_again", fenceNextRun},
	{"FinishedIsFinal_nothing_but_a_person_moves_a_finished_job", finishedIsFinal},
}

// wantLost checks that neither a checkpoint nor any outcome is accepted under a lease, and that the job stays as it is.
func (e *env) wantLost(run store.Claimed) {
	e.Helper()
	before, beforeErr := e.store.Get(e.ctx, run.Job.ID)
	for _, state := range endStates {
		c := &store.CheckpointWrite{Lease: run.Lease, Checkpoint: store.Checkpoint{Message: "stale"}}
		o := outcome(run, state)
		e.apply(&store.Batch{Checkpoints: []*store.CheckpointWrite{c}, Outcomes: []*store.Outcome{o}})
		e.wantErr("stale checkpoint", c.Err, store.ErrLeaseLost)
		e.wantErr("stale outcome "+state.String(), o.Err, store.ErrLeaseLost)
	}
	after, afterErr := e.store.Get(e.ctx, run.Job.ID)
	if (beforeErr == nil) != (afterErr == nil) {
		e.Fatalf("Get before: %v, after: %v", beforeErr, afterErr)
	}
	e.equal("job after stale writes", after, before)
}

func fenceDouble(e *env) {
	for _, state := range endStates {
		run := e.claim(e.join(), 1)
		if len(run) == 0 {
			e.add()
			run = e.claim(e.join(), 1)
		}
		e.end(run[0], state)
		e.wantLost(run[0])
		if state == store.Available {
			e.cancel(run[0].Job.ID)
		}
	}
}

func fenceDoubleInBatch(e *env) {
	run, neighbour := e.started(), e.started()
	first, second, third := outcome(run, store.Retryable), outcome(run, store.Completed), outcome(run, store.Retryable)
	other := outcome(neighbour, store.Completed)
	e.apply(&store.Batch{Outcomes: []*store.Outcome{first, second, other, third}})
	if first.Err != nil || first.Final != store.Retryable || other.Err != nil {
		e.Fatalf("first: %v, %v; other: %v", first.Final, first.Err, other.Err)
	}
	e.wantErr("second", second.Err, store.ErrLeaseLost)
	e.wantErr("third", third.Err, store.ErrLeaseLost)
	e.wantState(run.Job.ID, store.Retryable)
	if n := len(e.get(run.Job.ID).Attempts); n != 1 {
		e.Fatalf("%d attempts are recorded", n)
	}
}

// fenceForged: every part of the lease counts.
func fenceForged(e *env) {
	e.enqueue(e.job(), e.job())
	node := e.join()
	runs := e.claim(node, 2)
	e.add()
	elsewhere := e.claim(e.join(), 1)[0]
	for _, forge := range []func(*store.Lease){
		func(l *store.Lease) { l.Number-- },
		func(l *store.Lease) { l.Number++ },
		func(l *store.Lease) { l.Node = elsewhere.Lease.Node },
		func(l *store.Lease) { l.Node += 1000 },
		func(l *store.Lease) { l.Claim += 1000 },
		func(l *store.Lease) { l.Slot = store.MaxClaimSlots - 1 },
		func(l *store.Lease) { l.Slot = runs[1].Lease.Slot },
		func(l *store.Lease) { l.Job = runs[1].Job.ID },
		func(l *store.Lease) { l.Job = e.ids.next() },
		func(l *store.Lease) { *l = elsewhere.Lease; l.Job = runs[0].Job.ID },
		func(l *store.Lease) { *l = store.Lease{Job: l.Job} },
	} {
		forged := runs[0]
		forge(&forged.Lease)
		c := &store.CheckpointWrite{Lease: forged.Lease, Checkpoint: store.Checkpoint{Message: "forged"}}
		o := outcome(forged, store.Completed)
		e.apply(&store.Batch{Checkpoints: []*store.CheckpointWrite{c}, Outcomes: []*store.Outcome{o}})
		if o.Err == nil || c.Err == nil {
			e.Fatalf("lease %+v was accepted in place of %+v: %v, %v", forged.Lease, runs[0].Lease, c.Err, o.Err)
		}
		e.wantErr("outcome", o.Err, store.ErrLeaseLost)
		e.wantErr("checkpoint", c.Err, store.ErrLeaseLost)
	}
	for _, run := range append(runs, elsewhere) {
		if record := e.get(run.Job.ID); record.State != store.Running || record.Checkpoint != nil {
			e.Fatalf("record: %+v", record)
		}
		e.end(run, store.Completed)
	}
}

func fenceAfterLeave(e *env) {
	run := e.started()
	e.leave(run.Lease.Node)
	e.wantState(run.Job.ID, store.Available)
	e.wantLost(run)
	again := e.claimOne(e.join(), run.Job.ID)
	e.wantLost(run)
	e.end(again, store.Completed)
	e.wantLost(run)
}

func fenceAfterRescue(e *env) {
	run := e.started()
	e.clock.Advance(deadAfter + time.Second)
	other := e.join()
	e.rescue()
	e.wantState(run.Job.ID, store.Retryable)
	e.wantLost(run)
	e.clock.Advance(rescueBackoff)
	again := e.claimOne(other, run.Job.ID)
	e.wantLost(run)
	e.end(again, store.Completed)
	e.wantLost(run)
}

// fenceNextRun: attempt numbers are no fence, since a snooze and an operator's retry use them again. Here the same node
// even runs the job again under the same attempt.
func fenceNextRun(e *env) {
	for _, c := range []struct {
		ends  store.State
		retry bool
	}{{store.Scheduled, false}, {store.Available, false}, {store.Retryable, false}, {store.Failed, true}, {store.Cancelled, true}} {
		run := e.started()
		e.end(run, c.ends)
		if c.retry {
			e.retry(run.Job.ID)
		}
		e.clock.Advance(time.Hour)
		e.beat(run.Lease.Node)
		again := e.claimOne(run.Lease.Node, run.Job.ID)
		e.wantLost(run)
		e.end(again, store.Completed)
	}
}

// finishedIsFinal: no operation but an operator's retry takes a finished job back.
func finishedIsFinal(e *env) {
	node := e.join()
	for _, state := range []store.State{store.Completed, store.Failed, store.Cancelled} {
		q := e.enqueue(e.job(unique(state.String(), store.States...), ordered("o")))[0]
		run := e.claimOne(node, q.Job.ID)
		e.end(run, state)
		before := e.get(q.Job.ID)

		again := *q
		e.enqueue(&again)
		e.wantLost(run)
		e.try(unique(state.String()), onConflict(store.Replace))
		e.clock.Advance(time.Hour)
		e.beat(node)
		e.promote()
		e.rescue()
		if got := e.cancel(q.Job.ID)[0]; got != state {
			e.Fatalf("Cancel of a %v job says %v", state, got)
		}
		e.sweep()
		e.wantNothing(node)
		e.equal("record of the finished job", e.get(q.Job.ID), before)
	}
	// Also when its node leaves or dies.
	e.leave(node)
	e.clock.Advance(time.Hour)
	e.rescue()
	e.wantNothing(e.join())
}
