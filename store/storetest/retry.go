package storetest

import (
	"errors"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

var retryTests = []test{
	{"FinishedIsFinal_a_failed_or_cancelled_job_runs_again_from_the_first_attempt", retryFinished},
	{"a_cancelled_job_that_never_ran_runs", retryNeverRan},
	{"a_job_that_waits_for_its_time_runs_at_once", retryDeferred},
	{"an_available_job_is_left_as_it_is", retryAvailable},
	{"a_job_that_runs_or_has_completed_is_a_conflict", retryConflict},
	{"UniqueIsUnique_a_retry_needs_its_key", retryUnique},
	{"UniqueIsUnique_a_retry_that_kept_its_key_needs_no_other", retryKeptKey},
	{"retry_answers_in_the_order_asked", retryAnswers},
}

func retryFinished(e *env) {
	node := e.join()
	for _, state := range []store.State{store.Failed, store.Cancelled} {
		id := e.add(attempts(2))
		run := e.claimOne(node, id)
		o := e.end(run, store.Retryable)
		first := attemptOf(run, o, e.clock.Now())
		e.clock.Advance(time.Minute)
		e.beat(node)
		run = e.claimOne(node, id)
		o = e.end(run, state)
		second := attemptOf(run, o, e.clock.Now())
		e.clock.Advance(time.Second)
		e.retry(id)
		record := e.get(id)
		if record.State != store.Available || record.Attempt != 0 || record.LeaseNumber != 2 || record.Reason != "" ||
			!record.FinishedAt.IsZero() || !record.RunAt.Equal(e.clock.Now()) || record.MaxAttempts != 2 {
			e.Fatalf("retried job: %+v", record)
		}
		// What happened before is still told.
		e.equal("attempts", record.Attempts, []store.Attempt{first, second})
		if ended := e.ended(id); len(ended) != 0 {
			e.Fatalf("a retried job has ended: %+v", ended)
		}
		run = e.claimOne(node, id)
		if run.Job.Attempt != 1 || run.Lease.Number != 3 {
			e.Fatalf("run after the retry: attempt %d, lease %d", run.Job.Attempt, run.Lease.Number)
		}
		e.end(run, store.Completed)
		if record := e.get(id); record.State != store.Completed || record.Attempt != 1 {
			e.Fatalf("record: %+v", record)
		}
	}
}

func retryNeverRan(e *env) {
	id := e.add(delay(time.Hour))
	e.cancel(id)
	e.retry(id)
	if run := e.claimOne(e.join(), id); run.Job.Attempt != 1 || run.Lease.Number != 1 {
		e.Fatalf("run: %+v", run)
	}
}

// retryDeferred: Reading: the attempts of a job that has not finished stay counted (RetryParams), although
// Operators.Retry says "from the first attempt" of all.
func retryDeferred(e *env) {
	scheduled := e.add(delay(time.Hour))
	retryable := e.started()
	e.end(retryable, store.Retryable)
	e.retry(scheduled)
	e.retry(retryable.Job.ID)
	for _, id := range []store.ID{scheduled, retryable.Job.ID} {
		if record := e.get(id); record.State != store.Available || !record.RunAt.Equal(e.clock.Now()) {
			e.Fatalf("retried job: %+v", record)
		}
	}
	node := e.join()
	runs := e.claim(node, 5)
	e.wantIDs("claimed", claimedIDs(runs), scheduled, retryable.Job.ID)
	if runs[0].Job.Attempt != 1 || runs[1].Job.Attempt != 2 {
		e.Fatalf("attempts are %d and %d", runs[0].Job.Attempt, runs[1].Job.Attempt)
	}
	e.end(runs[0], store.Completed)
	e.end(runs[1], store.Completed)
	e.clock.Advance(2 * time.Hour)
	e.wantNothing(node)
}

func retryAvailable(e *env) {
	id := e.add(runAt(e.clock.Now().Add(-time.Minute)))
	before := e.get(id)
	e.retry(id)
	e.equal("job", e.get(id), before)
	e.claimOne(e.join(), id)
}

func retryConflict(e *env) {
	run := e.started()
	check := func(state store.State) {
		e.Helper()
		before := e.get(run.Job.ID)
		r := e.tryRetry(run.Job.ID)
		e.wantErr("Retry", r.Err, store.ErrConflict)
		var unique *store.UniqueError
		if errors.As(r.Err, &unique) || r.State != state {
			e.Fatalf("Retry of a %v job: %+v", state, r)
		}
		e.equal("job", e.get(run.Job.ID), before)
	}
	check(store.Running)
	e.end(run, store.Completed)
	check(store.Completed)
	e.wantNothing(e.join())
}

func retryUnique(e *env) {
	node := e.join()
	first := e.add(unique("k"))
	e.end(e.claimOne(node, first), store.Failed)
	second := e.add(unique("k"))
	r := e.tryRetry(first)
	var taken *store.UniqueError
	if !errors.As(r.Err, &taken) || taken.Holder != second || r.State != store.Failed {
		e.Fatalf("Retry without its key: %+v", r)
	}
	e.wantState(first, store.Failed)
	e.end(e.claimOne(node, second), store.Completed)
	e.retry(first)
	e.wantTaken("k", first)
	e.end(e.claimOne(node, first), store.Completed)
	e.wantFree("k")
}

func retryKeptKey(e *env) {
	run := e.started(unique("k", store.States...))
	e.end(run, store.Failed)
	e.wantTaken("k", run.Job.ID)
	e.retry(run.Job.ID)
	e.wantTaken("k", run.Job.ID)
	e.claimOne(run.Lease.Node, run.Job.ID)
}

func retryAnswers(e *env) {
	node := e.join()
	a, b := e.add(), e.add()
	for _, run := range e.claim(node, 2) {
		e.end(run, store.Failed)
	}
	unknown, waiting, running := e.ids.next(), e.add(delay(time.Hour)), e.started()
	ids := []store.ID{b, unknown, running.Job.ID, a, waiting, b}
	results, err := e.store.Retry(e.ctx, store.RetryParams{Jobs: ids, Actor: "ada"})
	if err != nil || len(results) != len(ids) {
		e.Fatalf("%d results, %v", len(results), err)
	}
	want := []struct {
		state store.State
		err   error
	}{
		{store.Available, nil},
		{0, store.ErrNotFound},
		{store.Running, store.ErrConflict},
		{store.Available, nil},
		{store.Available, nil},
		{store.Available, nil},
	}
	for i, r := range results {
		if r.Job != ids[i] || r.State != want[i].state || !errors.Is(r.Err, want[i].err) {
			e.Fatalf("answer %d is %+v, want %+v", i, r, want[i])
		}
	}
	if claimed := e.claim(node, 10); len(claimed) != 3 {
		e.Fatalf("claimed %d jobs, want 3", len(claimed))
	}
	if results, err := e.store.Retry(e.ctx, store.RetryParams{}); err != nil || len(results) != 0 {
		e.Fatalf("retry of nothing: %v, %v", results, err)
	}
}
