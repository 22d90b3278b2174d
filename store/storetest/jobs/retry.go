package jobs

import (
	"errors"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var retryTests = env.Tests{
	"FinishedIsFinal_a_failed_or_cancelled_job_runs_again_from_the_first_attempt": retryFinished,
	"a_job_that_waits_for_its_time_runs_at_once":                                  retryDeferred,
	"UniqueIsUnique_the_first_job_of_a_retry_gets_their_key":                      retryFirstGetsKey,
	"UniqueIsUnique_a_retry_that_kept_its_key_needs_no_other":                     retryKeptKey,
	"retry_answers_in_the_order_asked":                                            retryAnswers,
}

func retryFinished(e *env.Env) {
	node := e.Join()
	for _, state := range []store.State{store.Failed, store.Cancelled} {
		id := e.Add(env.Attempts(2))
		run := e.ClaimOne(node, id)
		o := e.End(run, store.Retryable)
		first := env.AttemptOf(run, o, e.Clock.Now())
		e.Clock.Advance(time.Minute)
		e.Beat(node)
		run = e.ClaimOne(node, id)
		o = e.End(run, state)
		second := env.AttemptOf(run, o, e.Clock.Now())
		e.Clock.Advance(time.Second)
		e.Retry(id)
		record := e.Get(id)
		if record.State != store.Available || record.Attempt != 0 || record.LeaseNumber != 2 || record.Reason != "" ||
			!record.FinishedAt.IsZero() || !record.RunAt.Equal(e.Clock.Now()) || record.MaxAttempts != 2 {
			e.Fatalf("retried job: %+v", record)
		}
		// The record still tells of the earlier attempts.
		e.Equal("attempts", record.Attempts, []store.Attempt{first, second})
		if ended := e.Ended(id); len(ended) != 0 {
			e.Fatalf("a retried job has ended: %+v", ended)
		}
		run = e.ClaimOne(node, id)
		if run.Job.Attempt != 1 || run.Lease.Number != 3 {
			e.Fatalf("run after the retry: attempt %d, lease %d", run.Job.Attempt, run.Lease.Number)
		}
		e.End(run, store.Completed)
		if record := e.Get(id); record.State != store.Completed || record.Attempt != 1 {
			e.Fatalf("record: %+v", record)
		}
	}
}

// retryDeferred: Reading: the attempts of a job that has not finished stay counted (RetryParams),
// although Operators.Retry says "from the first attempt" of all.
func retryDeferred(e *env.Env) {
	scheduled := e.Add(env.Delay(time.Hour))
	retryable := e.Started()
	e.End(retryable, store.Retryable)
	e.Retry(scheduled)
	e.Retry(retryable.Job.ID)
	for _, id := range []store.ID{scheduled, retryable.Job.ID} {
		if record := e.Get(id); record.State != store.Available || !record.RunAt.Equal(e.Clock.Now()) {
			e.Fatalf("retried job: %+v", record)
		}
	}
	node := e.Join()
	runs := e.Claim(node, 5)
	e.WantIDs("claimed", env.ClaimedIDs(runs), scheduled, retryable.Job.ID)
	if runs[0].Job.Attempt != 1 || runs[1].Job.Attempt != 2 {
		e.Fatalf("attempts are %d and %d", runs[0].Job.Attempt, runs[1].Job.Attempt)
	}
	e.End(runs[0], store.Completed)
	e.End(runs[1], store.Completed)
	e.Clock.Advance(2 * time.Hour)
	e.WantNothing(node)
}

// retryFirstGetsKey: of the jobs of one call that want one key the first that is named gets it.
func retryFirstGetsKey(e *env.Env) {
	node := e.Join()
	var failed []store.ID
	for range 3 {
		id := e.Add(env.Unique("k"))
		e.End(e.ClaimOne(node, id), store.Failed)
		failed = append(failed, id)
	}
	order := []store.ID{failed[1], failed[2], failed[1], failed[0]}
	results, _, err := e.Store.Retry(e.Ctx, store.RetryParams{Jobs: order, Actor: "test"})
	if err != nil {
		e.Fatalf("Retry: %v", err)
	}
	for i, r := range results {
		var taken *store.UniqueError
		switch {
		case order[i] == failed[1]:
			if r.Err != nil || r.State != store.Available {
				e.Errorf("the first one: %+v", r)
			}
		case !errors.As(r.Err, &taken) || taken.Holder != failed[1]:
			e.Errorf("result %d: %+v, want that job %v holds the key", i, r, failed[1])
		}
	}
	e.WantTaken("k", failed[1])
}

func retryKeptKey(e *env.Env) {
	run := e.Started(env.Unique("k", store.States...))
	e.End(run, store.Failed)
	e.WantTaken("k", run.Job.ID)
	e.Retry(run.Job.ID)
	e.WantTaken("k", run.Job.ID)
	e.ClaimOne(run.Lease.Node, run.Job.ID)
}

func retryAnswers(e *env.Env) {
	node := e.Join()
	a, b := e.Add(), e.Add()
	for _, run := range e.Claim(node, 2) {
		e.End(run, store.Failed)
	}
	unknown, waiting, running := e.IDs.Next(), e.Add(env.Delay(time.Hour)), e.Started()
	ids := []store.ID{b, unknown, running.Job.ID, a, waiting, b}
	results, _, err := e.Store.Retry(e.Ctx, store.RetryParams{Jobs: ids, Actor: "ada"})
	available := store.Result{State: store.Available}
	e.WantAnswers(results, err, ids, available, store.Result{Err: store.ErrNotFound},
		store.Result{State: store.Running, Err: store.ErrConflict}, available, available, available)
	if claimed := e.Claim(node, 10); len(claimed) != 3 {
		e.Fatalf("claimed %d jobs, want 3", len(claimed))
	}
	results, _, err = e.Store.Retry(e.Ctx, store.RetryParams{})
	e.WantAnswers(results, err, nil)
}
