package durable

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var terminateTests = env.Tests{
	"a_terminated_job_is_over_in_every_state":  terminateStates,
	"OneOwner_a_terminated_run_writes_nothing": terminateFenced,
}

func terminateStates(e *env.Env) {
	node := e.Join()
	wantOver := func(what string, id store.ID) {
		e.Helper()
		before := e.Get(id)
		e.Clock.Advance(time.Second)
		if states := e.Terminate(id); states[0] != store.Cancelled {
			e.Fatalf("%s: the answer is %v", what, states[0])
		}
		record := e.Get(id)
		if record.State != store.Cancelled || record.Reason != store.ReasonTerminated || record.Error != "enough" ||
			!record.FinishedAt.Equal(e.Clock.Now()) || record.CancelRequested || record.Wait != nil || record.Attempt != before.Attempt {
			e.Fatalf("%s: %+v", what, record)
		}
		// No run ended, so none is recorded.
		e.Equal("attempts", record.Attempts, before.Attempts)
		e.Equal("ended", e.Ended(id), []store.Ended{{ID: id, State: store.Cancelled, Reason: store.ReasonTerminated, Error: "enough"}})
		if n := e.Sweep(); n != 0 {
			e.Fatalf("%s: the sweep applied %d requests", what, n)
		}
		e.WantErr("send to a terminated job", e.TrySend(id, env.Signal("s"), "").Err, store.ErrConflict)
		e.WantNothing(node)
	}
	for what, rest := range rests {
		run := begun(e, node)
		rest(e, run)
		wantOver(what, run.Job.ID)
	}
	asked := e.Parked(env.ForSignals()).Job.ID
	e.Cancel(asked)
	wantOver("asked to end", asked)
	wantOver("new", e.Add())
	wantOver("new and scheduled", e.Add(env.Delay(time.Hour)))
}

func terminateFenced(e *env.Env) {
	for _, durable := range []bool{false, true} {
		run, neighbour := e.Started(), e.Started()
		if durable {
			e.Write(&run, env.Step(1))
			e.Cancel(run.Job.ID)
			e.PauseJob(run.Job.ID, store.Running)
		}
		if states := e.Terminate(run.Job.ID); states[0] != store.Cancelled {
			e.Fatalf("the answer is %v", states[0])
		}
		record := e.Get(run.Job.ID)
		if record.State != store.Cancelled || record.Reason != store.ReasonTerminated || record.Error != "enough" ||
			!record.FinishedAt.Equal(e.Clock.Now()) || record.CancelRequested || record.PauseRequested || record.Attempt != 1 {
			e.Fatalf("record: %+v", record)
		}
		// The store records the end of the run, which did not report it.
		if len(record.Attempts) != 1 || record.Attempts[0].Outcome != store.Cancelled || record.Attempts[0].LeaseNumber != 1 ||
			record.Attempts[0].Reason != store.ReasonTerminated || !record.Attempts[0].StartedAt.IsZero() {
			e.Fatalf("attempts: %+v", record.Attempts)
		}
		beat := e.Beat(run.Lease.Node)
		if len(beat.Cancels) != 0 || len(beat.Pauses) != 0 {
			e.Fatalf("the beat brings %+v", beat)
		}
		e.WantTakenAway(run)
		// The other runs of the claim record go on.
		e.End(neighbour, store.Completed)
		e.Clock.Advance(env.DeadAfter + time.Second)
		if rescued := e.Rescue(); len(rescued) != 0 {
			e.Fatalf("rescued: %+v", rescued)
		}
		e.Equal("record", e.Get(run.Job.ID), record)
	}
	terminateAmong(e)
}

// terminateAmong ends one job of a claim record, whose others go on.
func terminateAmong(e *env.Env) {
	e.Enqueue(e.Job(), e.Job(), e.Job())
	node := e.Join()
	params := e.Demand(node, 3)
	runs := e.ClaimWith(params)
	e.Terminate(runs[1].Job.ID)
	params.Repeat = true
	e.WantIDs("repeated claim", env.ClaimedIDs(e.ClaimWith(params)), runs[0].Job.ID, runs[2].Job.ID)
	e.End(runs[2], store.Completed)
	e.Leave(node)
	e.WantState(runs[0].Job.ID, store.Available)
	e.WantState(runs[1].Job.ID, store.Cancelled)
}
