package jobs

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// Jobs that keep the turn of their ordering key when they fail.
var sequenceTests = env.Tests{
	"Order_a_job_that_fails_keeps_its_turn":              sequenceKept,
	"Order_however_it_fails":                             sequenceFailures,
	"other_ends_give_the_turn_back":                      sequenceOtherEnds,
	"a_job_that_is_deleted_gives_the_turn_back":          sequenceDeleted,
	"a_job_that_is_cancelled_later_gives_the_turn_back":  sequenceSkipped,
	"a_person_skips_no_other":                            sequenceOnlySkipped,
	"NoLoss_a_job_that_keeps_its_turn_is_not_removed":    sequenceRetained,
	"Order_a_job_that_is_retried_is_before_those_behind": sequenceRetried,
}

// inSequence are enqueues of jobs with one key that keep their turns.
func inSequence(q *store.Enqueue) { q.Job.OrderingKey, q.Job.Options.KeepTurn = "k", true }

// stuck returns a job that has failed and keeps its turn, and one behind it.
func stuck(e *env.Env, node int64) (first, second store.ID) {
	e.Helper()
	first, second = e.Add(inSequence), e.Add(inSequence)
	e.Promote()
	e.End(e.ClaimOne(node, first), store.Failed)
	wantStuck(e, node, first, second)
	return first, second
}

func wantStuck(e *env.Env, node int64, first, second store.ID) {
	e.Helper()
	e.Promote()
	e.WantNothing(node)
	o, err := e.Store.Obstacles(e.Ctx, env.Namespace, second)
	e.NoError("Obstacles", err)
	if o.Turn != first || !e.Get(second).Blocked {
		e.Fatalf("the job behind waits for %v, want %v", o.Turn, first)
	}
	e.WantState(first, store.Failed)
}

// wantNext checks that the job behind follows.
func wantNext(e *env.Env, node int64, second store.ID) {
	e.Helper()
	e.Promote()
	e.End(e.ClaimOne(node, second), store.Completed)
}

func sequenceKept(e *env.Env) {
	node := e.Join()
	first, second := stuck(e, node)
	other := e.Add(func(q *store.Enqueue) { q.Job.OrderingKey = "other" })
	e.Promote()
	e.End(e.ClaimOne(node, other), store.Completed)
	third := e.Add(inSequence)
	wantStuck(e, node, first, second)
	wantStuck(e, node, first, third)
	e.Retry(first)
	e.WantState(first, store.Available)
	e.End(e.ClaimOne(node, first), store.Completed)
	wantNext(e, node, second)
	wantNext(e, node, third)
}

func sequenceFailures(e *env.Env) {
	node := e.Join()
	for what, fail := range map[string]func(run store.Claimed){
		"handed over": func(run store.Claimed) {
			e.HandOver(run, &store.Wait{})
			e.Finish(env.FailedBy(run.Job.ID))
		},
		"too late": func(run store.Claimed) {
			e.EndAs(store.Failed, run, store.Retryable, func(o *store.Outcome) { o.Delay = 2 * time.Hour })
		},
		"lost with its node": func(run store.Claimed) {
			e.End(run, store.Available)
			e.ClaimOne(e.Join(), run.Job.ID)
			e.Clock.Advance(env.DeadAfter + time.Second)
			e.Rescue()
			node = e.Join()
		},
	} {
		first := e.Add(inSequence, env.Attempts(1), func(q *store.Enqueue) { q.Job.Options.Deadline = e.Clock.Now().Add(time.Hour) })
		second := e.Add(inSequence)
		e.Promote()
		fail(e.ClaimOne(node, first))
		if got := e.Get(first).State; got != store.Failed {
			e.Fatalf("%s: the job is %v", what, got)
		}
		wantStuck(e, node, first, second)
		e.Cancel(first)
		wantNext(e, node, second)
	}
}

func sequenceOtherEnds(e *env.Env) {
	node := e.Join()
	for _, state := range []store.State{store.Completed, store.Cancelled} {
		first, second := e.Add(inSequence), e.Add(inSequence)
		e.Promote()
		e.End(e.ClaimOne(node, first), state)
		wantNext(e, node, second)
	}
	first, second := e.Add(env.Ordered("k")), e.Add(inSequence) // without the option
	e.Promote()
	e.End(e.ClaimOne(node, first), store.Failed)
	wantNext(e, node, second)
}

func sequenceDeleted(e *env.Env) {
	node := e.Join()
	first, second := stuck(e, node)
	e.Delete(first)
	wantNext(e, node, second)
}

func sequenceSkipped(e *env.Env) {
	node := e.Join()
	for _, terminate := range []bool{false, true} {
		first, second := stuck(e, node)
		_, _, err := e.Store.Cancel(e.Ctx, store.CancelParams{Jobs: []store.ID{first}, Unrecorded: true})
		e.NoError("Cancel", err)
		wantStuck(e, node, first, second)
		for range 2 {
			results, _, err := e.Store.Cancel(e.Ctx, store.CancelParams{Jobs: []store.ID{first}, Actor: "ada", Reason: "lost", Terminate: terminate})
			e.NoError("Cancel", err)
			e.Equal("results", results, []store.Result{{Job: first, State: store.Failed}})
		}
		if r := e.Get(first); len(r.Actions) != 1 || r.Actions[0].Actor != "ada" || r.Actions[0].Reason != "lost" {
			e.Fatalf("what was recorded: %+v", r.Actions)
		}
		wantNext(e, node, second)
		e.Retry(first) // it comes when it is its turn again
		wantNext(e, node, first)
	}
}

func sequenceOnlySkipped(e *env.Env) {
	node := e.Join()
	first, second := stuck(e, node)
	missing := e.IDs.Next()
	results, _, err := e.Store.Cancel(e.Ctx, store.CancelParams{Jobs: []store.ID{second, first, first, missing}, Actor: "ada", Skip: true})
	e.NoError("Cancel", err)
	if results[1] != (store.Result{Job: first, State: store.Failed}) || results[0].State != store.Available {
		e.Fatalf("what became of them: %+v", results)
	}
	e.WantErr("one that waits", results[0].Err, store.ErrConflict)
	e.WantErr("one that was skipped", results[2].Err, store.ErrConflict)
	e.WantErr("one that is not there", results[3].Err, store.ErrNotFound)
	if r := e.Get(first); len(r.Actions) != 1 || r.Actions[0].Kind != store.ActionSkip {
		e.Fatalf("what was recorded: %+v", r.Actions)
	}
	wantNext(e, node, second)
}

func sequenceRetained(e *env.Env) {
	node := e.Join()
	first, second := stuck(e, node)
	e.Clock.Advance(400 * 24 * time.Hour)
	node = e.Join()
	all := store.Retention{Completed: time.Hour, Failed: time.Hour, Cancelled: time.Hour}
	_, err := e.Store.Retain(e.Ctx, all)
	e.NoError("Retain", err)
	wantStuck(e, node, first, second)
	e.Cancel(first)
	_, err = e.Store.Retain(e.Ctx, all)
	e.NoError("Retain", err)
	e.WantUnknown(first)
	wantNext(e, node, second)
}

func sequenceRetried(e *env.Env) {
	node := e.Join()
	first, second := stuck(e, node)
	e.Clock.Advance(time.Second)
	e.Retry(first)
	e.End(e.ClaimOne(node, first), store.Failed)
	wantStuck(e, node, first, second)
	e.Retry(first)
	e.Cancel(first)
	wantNext(e, node, second)
}
