package jobs

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var cancelTests = env.Tests{
	"a_job_that_does_not_run_is_cancelled_at_once":           cancelWaiting,
	"CancelArrives_with_every_beat_until_the_run_ends":       cancelArrives,
	"FinishedIsFinal_a_request_ends_with_the_run_it_was_for": cancelRequestEnds,
	"cancel_answers_in_the_order_asked":                      cancelAnswers,
}

func cancelWaiting(e *env.Env) {
	node := e.Join()
	scheduled := e.Add(env.Delay(time.Hour))
	retryable := e.ClaimOne(node, e.Add())
	e.End(retryable, store.Retryable)
	available := e.Add()
	e.Clock.Advance(time.Second)
	ids := []store.ID{available, scheduled, retryable.Job.ID}
	e.Equal("states", e.Cancel(ids...), []store.State{store.Cancelled, store.Cancelled, store.Cancelled})
	for i, id := range ids {
		record := e.Get(id)
		if record.State != store.Cancelled || record.Reason != store.ReasonCancelled || record.Error != "not needed" ||
			!record.FinishedAt.Equal(e.Clock.Now()) || record.CancelRequested {
			e.Fatalf("cancelled job: %+v", record)
		}
		// No run ended, so none is recorded or counted.
		if want := i / 2; len(record.Attempts) != want || record.Attempt != want {
			e.Fatalf("cancelled job has attempt %d and %d records", record.Attempt, len(record.Attempts))
		}
		e.Equal("ended", e.Ended(id), []store.Ended{{ID: id, State: store.Cancelled, Reason: store.ReasonCancelled, Error: "not needed"}})
	}
	e.Clock.Advance(2 * time.Hour)
	e.Beat(node)
	e.WantNothing(node)
}

func cancelArrives(e *env.Env) {
	node, other := e.Join(), e.Join()
	e.Enqueue(e.Job(), e.Job(), e.Job())
	runs := e.Claim(node, 3)
	if beat := e.Beat(node); len(beat.Cancels) != 0 {
		e.Fatalf("beat: %+v", beat)
	}
	asked := e.Clock.Now()
	e.Equal("states", e.Cancel(runs[0].Job.ID, runs[2].Job.ID), []store.State{store.Running, store.Running})
	if record := e.Get(runs[0].Job.ID); record.State != store.Running || !record.CancelRequested {
		e.Fatalf("record: %+v", record)
	}
	want := func(ids ...store.ID) {
		e.Helper()
		e.Clock.Advance(time.Second)
		cancels := e.Beat(node).Cancels
		if len(cancels) != len(ids) {
			e.Fatalf("the beat brings %d cancels, want %d", len(cancels), len(ids))
		}
		for _, id := range ids {
			found := false
			for _, c := range cancels {
				found = found || c.Job == id && c.Reason == "not needed" && c.Actor == "ada" && c.At.Equal(asked)
			}
			if !found {
				e.Fatalf("no cancel of %v among %+v", id, cancels)
			}
		}
		if beat := e.Beat(other); len(beat.Cancels) != 0 || len(beat.Pauses) != 0 {
			e.Fatalf("another node is told: %+v", beat)
		}
		e.WantIDs("pauses", e.Beat(node).Pauses, runs[1].Job.ID)
	}
	e.PauseJob(runs[1].Job.ID, store.Running)
	e.PauseJob(runs[1].Job.ID, store.Running)
	if record := e.Get(runs[1].Job.ID); record.State != store.Running || !record.PauseRequested || record.CancelRequested {
		e.Fatalf("record: %+v", record)
	}
	want(runs[0].Job.ID, runs[2].Job.ID)
	want(runs[0].Job.ID, runs[2].Job.ID)
	e.End(runs[0], store.Cancelled)
	want(runs[2].Job.ID)
	e.End(runs[2], store.Completed)
	want()
	e.End(runs[1], store.Available)
	if beat := e.Beat(node); len(beat.Pauses) != 0 {
		e.Fatalf("the beat brings the pauses %v", beat.Pauses)
	}
}

// cancelRequestEnds: what was asked was for the run that failed. A person who lets the job run
// again does not want it cancelled or paused by that.
func cancelRequestEnds(e *env.Env) {
	for _, entries := range []int64{0, 1} {
		run := e.Started()
		if entries > 0 {
			e.Write(&run, env.Steps(1, entries)...)
		}
		e.Cancel(run.Job.ID)
		e.PauseJob(run.Job.ID, store.Running)
		e.End(run, store.Failed)
		e.Retry(run.Job.ID)
		if n := e.Sweep(); n != 0 {
			e.Fatalf("the sweep applied %d requests", n)
		}
		e.WantState(run.Job.ID, store.Available)
		again := e.ClaimOne(run.Lease.Node, run.Job.ID)
		record, beat := e.Get(run.Job.ID), e.Beat(run.Lease.Node)
		if again.CancelRequested || record.CancelRequested || record.PauseRequested || len(beat.Cancels) != 0 || len(beat.Pauses) != 0 {
			e.Fatalf("the retried job is asked to stop: %+v, and the beat brings %+v", record, beat)
		}
		e.EndAs(store.Retryable, again, store.Retryable)
		e.Terminate(run.Job.ID)
	}
}

// cancelAnswers: Reading: a cancel of a finished job is no ErrConflict, because its state says
// enough.
func cancelAnswers(e *env.Env) {
	running := e.Started()
	done := e.Started()
	e.End(done, store.Completed)
	waiting, unknown := e.Add(), e.IDs.Next()
	ids := []store.ID{unknown, waiting, running.Job.ID, done.Job.ID, waiting}
	for _, how := range []struct {
		terminate bool
		running   store.State
		ended     []bool // whether this call has finished the job
	}{
		{false, store.Running, []bool{false, true, false, false, false}},
		{true, store.Cancelled, []bool{false, false, true, false, false}},
		{false, store.Cancelled, make([]bool, 5)},
	} {
		results, _, err := e.Store.Cancel(e.Ctx, store.CancelParams{Jobs: ids, Reason: "r", Actor: "a", Terminate: how.terminate})
		e.WantAnswers(results, err, ids, store.Result{Err: store.ErrNotFound}, store.Result{State: store.Cancelled},
			store.Result{State: how.running}, store.Result{State: store.Completed}, store.Result{State: store.Cancelled})
		for i, r := range results {
			if r.Ended != how.ended[i] {
				e.Fatalf("answer %d is %+v, terminate %v", i, r, how.terminate)
			}
		}
	}
	if n := len(e.Get(running.Job.ID).Attempts); n != 1 {
		e.Fatalf("%d attempts are recorded", n)
	}
	results, _, err := e.Store.Cancel(e.Ctx, store.CancelParams{})
	e.WantAnswers(results, err, nil)
}
