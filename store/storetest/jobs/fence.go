package jobs

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var fenceTests = env.Tests{
	"OneOwner_of_two_outcomes_in_a_batch_the_first_wins":        fenceDoubleInBatch,
	"OneOwner_a_forged_lease_changes_nothing":                   fenceForged,
	"OneOwner_a_run_that_was_taken_away_writes_nothing":         fenceTaken,
	"FinishedIsFinal_nothing_but_a_person_moves_a_finished_job": finishedIsFinal,
}

func fenceDoubleInBatch(e *env.Env) {
	run, neighbour := e.Started(), e.Started()
	first, second, third := env.Outcome(run, store.Retryable), env.Outcome(run, store.Completed), env.Outcome(run, store.Retryable)
	other := env.Outcome(neighbour, store.Completed)
	e.Apply(&store.Batch{Outcomes: []*store.Outcome{first, second, other, third}})
	if first.Err != nil || first.Final != store.Retryable || other.Err != nil {
		e.Fatalf("first: %v, %v; other: %v", first.Final, first.Err, other.Err)
	}
	e.WantErr("second", second.Err, store.ErrLeaseLost)
	e.WantErr("third", third.Err, store.ErrLeaseLost)
	e.WantState(run.Job.ID, store.Retryable)
	if n := len(e.Get(run.Job.ID).Attempts); n != 1 {
		e.Fatalf("%d attempts are recorded", n)
	}
}

// fenceTaken: a run that was taken away writes nothing: not while its job waits, not while another
// run is under way, and not after the job's end.
func fenceTaken(e *env.Env) {
	for what, take := range map[string]func(store.Claimed){
		"its node left": func(run store.Claimed) { e.Leave(run.Lease.Node) },
		"its node died": func(store.Claimed) { e.Clock.Advance(env.DeadAfter + time.Second); e.Rescue() },
		"given up":      func(run store.Claimed) { e.GiveUp(run) },
		"terminated":    func(run store.Claimed) { e.Terminate(run.Job.ID); e.Retry(run.Job.ID) },
	} {
		for _, entries := range []int64{0, 1} {
			run := e.Started()
			if entries > 0 {
				e.Write(&run, env.Steps(1, entries)...)
			}
			take(run)
			if state := e.Get(run.Job.ID).State; state == store.Running {
				e.Fatalf("a run is still there, although it was taken away: %s", what)
			}
			e.WantTakenAway(run)
			e.Clock.Advance(env.RescueBackoff)
			again := e.ClaimOne(e.Join(), run.Job.ID)
			e.WantTakenAway(run)
			e.End(again, store.Completed)
			e.WantTakenAway(run)
		}
	}
}

// fenceForged: every part of the lease counts.
func fenceForged(e *env.Env) {
	runs := e.Running(2)
	e.Add()
	elsewhere := e.Claim(e.Join(), 1)[0]
	for _, forge := range []func(*store.Lease){
		func(l *store.Lease) { l.Number-- },
		func(l *store.Lease) { l.Number++ },
		func(l *store.Lease) { l.Node = elsewhere.Lease.Node },
		func(l *store.Lease) { l.Node += 1000 },
		func(l *store.Lease) { l.Claim += 1000 },
		func(l *store.Lease) { l.Slot = store.MaxClaimSlots - 1 },
		func(l *store.Lease) { l.Slot = runs[1].Lease.Slot },
		func(l *store.Lease) { l.Job = runs[1].Job.ID },
		func(l *store.Lease) { l.Job = e.IDs.Next() },
		func(l *store.Lease) { *l = elsewhere.Lease; l.Job = runs[0].Job.ID },
		func(l *store.Lease) { *l = store.Lease{Job: l.Job} },
	} {
		forged := runs[0]
		forge(&forged.Lease)
		c := &store.CheckpointWrite{Lease: forged.Lease, Checkpoint: store.Checkpoint{Message: "forged"}}
		o := env.Outcome(forged, store.Completed)
		e.Apply(&store.Batch{Checkpoints: []*store.CheckpointWrite{c}, Outcomes: []*store.Outcome{o}})
		if o.Err == nil || c.Err == nil {
			e.Fatalf("lease %+v was accepted in place of %+v: %v, %v", forged.Lease, runs[0].Lease, c.Err, o.Err)
		}
		e.WantErr("outcome", o.Err, store.ErrLeaseLost)
		e.WantErr("checkpoint", c.Err, store.ErrLeaseLost)
	}
	for _, run := range append(runs, elsewhere) {
		if record := e.Get(run.Job.ID); record.State != store.Running || record.Checkpoint != nil {
			e.Fatalf("record: %+v", record)
		}
		e.End(run, store.Completed)
	}
}

// finishedIsFinal: no operation but an operator's retry takes a finished job back.
func finishedIsFinal(e *env.Env) {
	node := e.Join()
	for _, state := range []store.State{store.Completed, store.Failed, store.Cancelled} {
		q := e.Enqueue(e.Job(env.Unique(state.String(), store.States...), env.Ordered("o")))[0]
		run := e.ClaimOne(node, q.Job.ID)
		e.End(run, state)
		before := e.Get(q.Job.ID)

		again := *q
		e.Enqueue(&again)
		e.WantLost(run)
		e.Try(env.Unique(state.String()), env.OnConflict(store.Replace))
		e.Clock.Advance(time.Hour)
		e.Beat(node)
		e.Promote()
		e.Rescue()
		if got := e.Cancel(q.Job.ID)[0]; got != state {
			e.Fatalf("Cancel of a %v job says %v", state, got)
		}
		if got := e.Terminate(q.Job.ID)[0]; got != state {
			e.Fatalf("the termination of a %v job says %v", state, got)
		}
		e.Sweep()
		e.WantNothing(node)
		e.Equal("record of the finished job", e.Get(q.Job.ID), before)
	}
	// The end of its node does not take it back either.
	e.Leave(node)
	e.Clock.Advance(time.Hour)
	e.Rescue()
	e.WantNothing(e.Join())
}
