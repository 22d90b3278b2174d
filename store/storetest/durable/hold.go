package durable

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var holdTests = env.Tests{
	"nothing_wakes_a_held_job_but_a_person":              holdNothingWakes,
	"a_job_that_does_not_run_is_held_at_once":            holdWaiting,
	"a_pause_may_be_taken_back_while_the_job_runs":       holdEnds,
	"a_message_that_has_come_does_not_go_before_a_pause": holdBeforeMessage,
	"pause_answers_in_the_order_asked":                   holdAnswers,
}

// wantStuck checks that neither a message nor time wakes a job.
func wantStuck(e *env.Env, id store.ID, node int64) {
	e.Helper()
	if result := e.Send(id, env.Signal("s")); result.Woken {
		e.Fatalf("a message woke a held job: %+v", result)
	}
	e.Later(node, 100*24*time.Hour)
	e.WantNothing(node)
	e.WantState(id, store.Waiting)
}

// wantLeft checks that a job which is held is left as it is by a pause or a retry.
func wantLeft(e *env.Env, id store.ID) {
	e.Helper()
	before := e.Get(id)
	e.Clock.Advance(time.Second)
	e.PauseJob(id, store.Waiting)
	e.WantErr("a retry of a held job", e.TryRetry(id).Err, store.ErrConflict)
	e.Equal("held job", e.Get(id), before)
}

func holdNothingWakes(e *env.Env) {
	run := e.Durable(1, env.Deadline(e.Clock.Now().Add(time.Hour)))
	wait := &store.Wait{
		Held: true, Until: e.Clock.Now().Add(time.Minute), Kinds: store.MessagesOf(store.MessageSignal), Count: 1, Failures: true,
		For: []byte(`{"path":"2.1"}`),
	}
	e.Send(run.Job.ID, env.Signal("before"))
	e.ParkAs(store.Waiting, run, wait, func(o *store.Outcome) { o.Reason, o.Error = store.ReasonNondeterminism, "step 2 is another one" })
	record := e.Get(run.Job.ID)
	e.WantNotDue(record)
	e.Equal("wait", record.Wait, &store.WaitInfo{
		Since: e.Clock.Now(), Held: true, For: wait.For, Reason: store.ReasonNondeterminism, Error: "step 2 is another one",
	})
	if record.Error != "" || len(record.Attempts) != 0 || record.Attempt != 0 {
		e.Fatalf("the held job: %+v", record)
	}
	wantLeft(e, run.Job.ID)
	promoted, err := e.Store.Promote(e.Ctx, 100)
	if err != nil || !promoted.NextDue.IsZero() {
		e.Fatalf("Promote: %+v, %v", promoted, err)
	}
	wantStuck(e, run.Job.ID, run.Lease.Node)
	e.Resume(env.Resumption(run.Job.ID), store.Available)
	next := e.ClaimOne(run.Lease.Node, run.Job.ID)
	if next.Job.Attempt != 1 || len(e.Messages(run.Job.ID)) != 2 {
		e.Fatalf("the next run: %+v", next)
	}
}

func holdWaiting(e *env.Env) {
	node := e.Join()
	retryable := e.ClaimOne(node, e.Add())
	e.End(retryable, store.Retryable)
	wait := env.ForSignals()
	wait.Until = e.Clock.Now().Add(time.Minute)
	parked := e.Parked(wait)
	scheduled, available := e.Add(env.Delay(time.Minute)), e.Add()
	for _, id := range []store.ID{scheduled, available, retryable.Job.ID, parked.Job.ID} {
		attempts := e.Get(id).Attempts
		e.Clock.Advance(time.Second)
		e.PauseJob(id, store.Waiting)
		record := e.WantHeld(id)
		e.Equal("attempts", record.Attempts, attempts)
		wantLeft(e, id)
	}
	e.Beat(node)
	e.WantNothing(node)
	for _, id := range []store.ID{scheduled, available, retryable.Job.ID, parked.Job.ID} {
		wantStuck(e, id, node)
	}
}

// holdEnds: a person takes the pause back while the job runs.
func holdEnds(e *env.Env) {
	run := e.Durable(1)
	e.PauseJob(run.Job.ID, store.Running)
	e.Resume(env.Resumption(run.Job.ID), store.Running)
	if e.Get(run.Job.ID).PauseRequested || len(e.Beat(run.Lease.Node).Pauses) != 0 {
		e.Fatal("a resumed job is asked to pause")
	}
	_, _, err := e.Store.Resume(e.Ctx, env.Resumption(run.Job.ID))
	e.WantErr("Resume of a running job that nobody asked to pause", err, store.ErrConflict)
	e.EndAs(store.Retryable, run, store.Retryable)
}

func holdBeforeMessage(e *env.Env) {
	run := e.Durable(1)
	e.Send(run.Job.ID, env.Signal("s"))
	e.PauseJob(run.Job.ID, store.Running)
	e.ParkAs(store.Waiting, run, env.ForSignals())
	e.WantHeld(run.Job.ID)
	wantStuck(e, run.Job.ID, run.Lease.Node)
}

func holdAnswers(e *env.Env) {
	running, done := e.Started(), e.Started()
	e.End(done, store.Completed)
	waiting, unknown := e.Add(), e.IDs.Next()
	ids := []store.ID{unknown, waiting, running.Job.ID, done.Job.ID, waiting}
	held := store.Result{State: store.Waiting}
	e.WantAnswers(e.TryPause(ids...), nil, ids, store.Result{Err: store.ErrNotFound}, held, store.Result{State: store.Running},
		store.Result{State: store.Completed, Err: store.ErrConflict}, held)
	e.WantAnswers(e.TryPause(), nil, nil)
}
