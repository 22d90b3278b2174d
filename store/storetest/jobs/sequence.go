package jobs

import (
	"errors"
	"fmt"
	"slices"
	"sync"
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
	"a_job_that_is_deleted_tells_of_the_next_one":        deleteTells,
	"a_person_skips_no_other":                            sequenceOnlySkipped,
	"NoLoss_a_job_that_keeps_its_turn_is_not_removed":    sequenceRetained,
	"Order_a_job_that_is_retried_is_before_those_behind": sequenceRetried,
	"keys_whose_turn_a_failed_job_keeps_are_listed":      stuckListed,
	"stuck_keys_are_listed_in_parts":                     stuckInParts,
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
	wantTurn(e, first, true)
	wantTurn(e, second, false)
	e.WantState(first, store.Failed)
}

// wantTurn checks what a job says of the turn of its key.
func wantTurn(e *env.Env, id store.ID, has bool) {
	e.Helper()
	o, err := e.Store.Obstacles(e.Ctx, env.Namespace, id)
	e.NoError("Obstacles", err)
	if o.HasTurn != has {
		e.Fatalf("job %v has the turn: %v, want %v", id, o.HasTurn, has)
	}
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
		wantTurn(e, first, false)
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

// sequenceContested: people retry, skip and cancel each of some jobs at once that keep their turns,
// and every other time delete it. Of no key two jobs run together, and the jobs behind run in the
// end.
func sequenceContested(e *env.Env) {
	node := e.Join()
	for n := range contests {
		firsts, seconds := manyStuck(e, node)
		var acts []func() error
		for _, id := range firsts {
			acts = append(acts, onStuck(e, id)[n%2:]...)
		}
		together(e, acts)
		endInTurn(e, node)
		_, _, err := e.Store.Cancel(e.Ctx, store.CancelParams{Jobs: firsts}) // all others may have found them busy
		e.NoError("Cancel", err)
		endInTurn(e, node)
		for _, id := range seconds {
			e.WantState(id, store.Completed)
		}
	}
}

// contests is how often people act on jobs at once: it depends on luck whether they meet.
const contests = 10

// deleteTells: who deletes a job that keeps its turn is told where to look for the next one.
func deleteTells(e *env.Env) {
	node := e.Join()
	key := func(q *store.Enqueue) { q.Job.OrderingKey, q.Job.Options.KeepTurn = "k", true }
	first, second := e.Add(key), e.Add(key)
	e.EndAll(e.Claim(node, 10), store.Failed)
	results, wakes, err := e.Store.Delete(e.Ctx, store.DeleteParams{Jobs: []store.ID{first}})
	e.NoError("Delete", err)
	e.NoError("the answer", results[0].Err)
	if !slices.ContainsFunc(wakes, func(w store.Wake) bool {
		return w.Kind == store.WakeAll || w.Kind == store.WakeReady && w.Queue == "mail"
	}) {
		e.Errorf("Delete tells of %+v, and the turn of the next job has come", wakes)
	}
	e.WantIDs("claimed", env.ClaimedIDs(e.Claim(node, 10)), second)
}

// onStuck are what people do to a job that keeps its turn; the first is to delete it.
func onStuck(e *env.Env, id store.ID) []func() error {
	jobs := []store.ID{id}
	return []func() error{
		func() error { _, _, err := e.Store.Delete(e.Ctx, store.DeleteParams{Jobs: jobs}); return err },
		func() error {
			_, _, err := e.Store.Cancel(e.Ctx, store.CancelParams{Jobs: jobs, Skip: true})
			return err
		},
		func() error { _, _, err := e.Store.Retry(e.Ctx, store.RetryParams{Jobs: jobs}); return err },
		func() error { _, _, err := e.Store.Cancel(e.Ctx, store.CancelParams{Jobs: jobs}); return err },
	}
}

// manyStuck returns jobs of several keys that have failed and keep their turns, and one behind
// each.
func manyStuck(e *env.Env, node int64) (firsts, seconds []store.ID) {
	e.Helper()
	for i := range 20 {
		key := func(q *store.Enqueue) { q.Job.OrderingKey, q.Job.Options.KeepTurn = fmt.Sprint("k", i), true }
		firsts, seconds = append(firsts, e.Add(key)), append(seconds, e.Add(key))
	}
	runs := e.Claim(node, 100)
	e.WantIDs("claimed", env.ClaimedIDs(runs), firsts...)
	e.EndAll(runs, store.Failed)
	return firsts, seconds
}

// together does all at once.
func together(e *env.Env, acts []func() error) {
	e.Helper()
	e.Competes()
	errs, start := make([]error, len(acts)), make(chan struct{})
	var all sync.WaitGroup
	for i := range acts {
		all.Go(func() {
			<-start
			errs[i] = acts[i]()
		})
	}
	close(start)
	all.Wait()
	e.NoError("what people do", errors.Join(errs...))
}

// endInTurn completes all jobs that may run, of which no two have one key.
func endInTurn(e *env.Env, node int64) {
	e.Helper()
	for runs := e.Claim(node, 100); len(runs) > 0; runs = e.Claim(node, 100) {
		of := map[string]store.ID{}
		for _, run := range runs {
			key := run.Job.OrderingKey
			if other, two := of[key]; two {
				e.Fatalf("%v and %v of the key %s run at once", other, run.Job.ID, key)
			}
			of[key] = run.Job.ID
		}
		e.EndAll(runs, store.Completed)
	}
}
