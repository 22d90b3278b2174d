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
	if e.Get(runs[1].Job.ID).CancelRequested {
		e.Fatal("a job that nobody asked to cancel says so")
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
		if beat := e.Beat(other); len(beat.Cancels) != 0 {
			e.Fatalf("another node is told: %+v", beat.Cancels)
		}
	}
	want(runs[0].Job.ID, runs[2].Job.ID)
	want(runs[0].Job.ID, runs[2].Job.ID)
	e.End(runs[0], store.Cancelled)
	want(runs[2].Job.ID)
	e.End(runs[2], store.Completed)
	want()
}

// cancelRequestEnds: the request was for the run that failed. A person who lets the job run again does not want it
// cancelled by what was asked before.
func cancelRequestEnds(e *env.Env) {
	run := e.Started()
	e.Cancel(run.Job.ID)
	e.End(run, store.Failed)
	e.Retry(run.Job.ID)
	if n := e.Sweep(); n != 0 {
		e.Fatalf("the sweep applied %d requests", n)
	}
	e.WantState(run.Job.ID, store.Available)
	again := e.ClaimOne(run.Lease.Node, run.Job.ID)
	if again.CancelRequested || e.Get(run.Job.ID).CancelRequested || len(e.Beat(run.Lease.Node).Cancels) != 0 {
		e.Fatal("the retried job is asked to stop")
	}
	e.EndAs(store.Retryable, again, store.Retryable)
}

func cancelAnswers(e *env.Env) {
	running := e.Started()
	done := e.Started()
	e.End(done, store.Completed)
	waiting, unknown := e.Add(), e.IDs.Next()
	ids := []store.ID{unknown, waiting, running.Job.ID, done.Job.ID, waiting}
	results, err := e.Store.Cancel(e.Ctx, store.CancelParams{Jobs: ids, Reason: "r", Actor: "a"})
	if err != nil || len(results) != len(ids) {
		e.Fatalf("%d results, %v", len(results), err)
	}
	want := []store.State{0, store.Cancelled, store.Running, store.Completed, store.Cancelled}
	for i, r := range results {
		if r.Job != ids[i] || r.State != want[i] {
			e.Fatalf("answer %d is %+v, want %v to be %v", i, r, ids[i], want[i])
		}
		if i == 0 {
			e.WantErr("cancel of an unknown job", r.Err, store.ErrNotFound)
		} else if r.Err != nil {
			e.Fatalf("answer %d is %v", i, r.Err)
		}
	}
	if results, err := e.Store.Cancel(e.Ctx, store.CancelParams{}); err != nil || len(results) != 0 {
		e.Fatalf("cancel of nothing: %v, %v", results, err)
	}
}
