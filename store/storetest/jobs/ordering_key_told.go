package jobs

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// A batch tells of the turns that it handed on, or that are to be handed on because of it, so that
// no poll has to look for them.
var turnToldTests = env.Tests{
	"EveryDueThingHappens_a_batch_that_ends_a_job_tells_of_the_next_one_of_its_key":            turnToldEnd,
	"EveryDueThingHappens_a_batch_that_ends_many_jobs_tells_of_each_key":                       turnToldMany,
	"EveryDueThingHappens_a_batch_that_enqueues_into_a_free_key_tells_if_it_is_left_to_others": turnToldEnqueue,
	"EveryDueThingHappens_a_batch_that_makes_a_job_due_by_replacing_it_tells_of_its_turn":      turnToldReplace,
	"a_batch_that_hands_on_no_turn_tells_of_none":                                              turnNotTold,
}

// isDueNow tells whether a batch says that there is something to promote.
func isDueNow(e *env.Env, batch *store.Batch) bool {
	return slices.ContainsFunc(batch.Woken, func(w store.Wake) bool {
		return w.Kind == store.WakeDeferred && !w.Due.IsZero() && !w.Due.After(e.Clock.Now())
	})
}

// wantTurns checks that the jobs have their turns, which no node had to guess: either they can be
// claimed, and the batch tells of their queues, or the batch says that there is something to
// promote, and then they can. It returns their runs.
func wantTurns(e *env.Env, what string, node int64, batch *store.Batch, ids ...store.ID) []store.Claimed {
	e.Helper()
	claimed := e.ClaimWith(e.Demand(node, 100))
	for _, run := range claimed {
		if !env.Wakes(batch, run.Job.Queue) {
			e.Fatalf("%s: a job of %s had its turn, and the batch tells of %+v", what, run.Job.Queue, batch.Woken)
		}
	}
	if len(claimed) < len(ids) {
		if !isDueNow(e, batch) {
			e.Fatalf("%s: of %d jobs %d have their turn, and the batch tells of %+v", what, len(ids), len(claimed), batch.Woken)
		}
		claimed = append(claimed, e.Claim(node, 100)...)
	}
	e.WantSameIDs(what, env.ClaimedIDs(claimed), ids...)
	return claimed
}

func turnToldEnd(e *env.Env) {
	node := e.Join()
	withDeadline := env.Deadline(e.Clock.Now().Add(time.Minute))
	for i, c := range []struct {
		what  string
		state store.State
		asked bool
	}{
		{"completed", store.Completed, false},
		{"failed", store.Failed, false},
		{"cancelled", store.Cancelled, false},
		{"cancelled by request", store.Retryable, true},
		{"over its deadline", store.Scheduled, false},
	} {
		name := fmt.Sprint("q", i)
		run := e.ClaimOne(node, e.Add(env.Ordered("k"), env.Queue(name), withDeadline))
		next, last := e.Add(env.Ordered("k"), env.Queue(name)), e.Add(env.Ordered("k"), env.Queue(name))
		e.WantNothing(node)
		if c.asked {
			e.Cancel(run.Job.ID)
		}
		batch := &store.Batch{Outcomes: []*store.Outcome{env.Outcome(run, c.state)}}
		e.Apply(batch)
		if o := batch.Outcomes[0]; o.Err != nil || !o.Final.Finished() {
			e.Fatalf("%s: %v, %v", c.what, o.Final, o.Err)
		}
		run = wantTurns(e, c.what, node, batch, next)[0]
		e.End(run, store.Completed)
		e.End(e.ClaimOne(node, last), store.Completed)
	}
}

func turnToldMany(e *env.Env) {
	const keys = 30
	node := e.Join()
	var runs []store.Claimed
	for i := range keys {
		e.Add(env.Ordered(fmt.Sprint("key", i)), env.Queue(fmt.Sprint("q", i%7)))
	}
	runs = e.Claim(node, keys)
	var next []store.ID
	for i := range keys {
		if id := e.Add(env.Ordered(fmt.Sprint("key", i)), env.Queue(fmt.Sprint("q", i%7)), env.Kind([]string{"send", "push"}[i%2])); i%3 != 0 {
			next = append(next, id)
		}
	}
	batch := &store.Batch{}
	for i, run := range runs {
		state := store.Completed
		if i%3 == 0 {
			state = store.Retryable // which keeps the turn
		}
		batch.Outcomes = append(batch.Outcomes, env.Outcome(run, state))
	}
	// The jobs of this batch come after those that were in line before.
	batch.Enqueues = []*store.Enqueue{
		e.Job(env.Ordered("key1"), env.Queue("q1"), env.Delay(time.Hour)), e.Job(env.Ordered("key2"), env.Queue("q2"), env.Priority(4)),
	}
	e.Apply(batch)
	wantTurns(e, "the next ones", node, batch, next...)
}

// turnToldEnqueue: if the job can be claimed at once, the one who enqueued it claims without being
// told.
func turnToldEnqueue(e *env.Env) {
	node := e.Join()
	for range 2 {
		q := e.Job(env.Ordered("k"))
		batch := &store.Batch{Enqueues: []*store.Enqueue{q, e.Job(env.Delay(time.Hour))}}
		e.Apply(batch)
		claimed := e.ClaimWith(e.Demand(node, 10))
		if len(claimed) == 0 {
			if !isDueNow(e, batch) {
				e.Fatalf("a job has not got its turn, and the batch tells of %+v", batch.Woken)
			}
			claimed = e.Claim(node, 10)
		}
		e.WantIDs("claimed", env.ClaimedIDs(claimed), q.Job.ID)
		e.End(claimed[0], store.Completed)
	}
}

// turnToldReplace: the job keeps its ordering key, of which the enqueue that replaces it knows
// nothing.
func turnToldReplace(e *env.Env) {
	node := e.Join()
	later := e.Add(env.Ordered("k"), env.Unique("u"), env.Delay(time.Hour))
	batch := &store.Batch{Enqueues: []*store.Enqueue{e.Job(env.Unique("u"), env.OnConflict(store.Replace))}}
	e.Apply(batch)
	if result := batch.Enqueues[0].Result; !result.Replaced {
		e.Fatalf("replace: %+v", result)
	}
	wantTurns(e, "replaced", node, batch, later)
}

func turnNotTold(e *env.Env) {
	node := e.Join()
	run := e.ClaimOne(node, e.Add(env.Ordered("k"), env.Attempts(9)))
	e.Add(env.Ordered("k"))
	plain := e.ClaimOne(node, e.Add())
	e.WantNothing(node)
	for _, state := range []store.State{store.Retryable, store.Scheduled, store.Available} {
		batch := &store.Batch{Outcomes: []*store.Outcome{env.Outcome(run, state), env.Outcome(plain, store.Available)}}
		e.Apply(batch)
		if len(batch.Woken) != 0 {
			e.Fatalf("a job that is %v keeps its turn, and the batch tells of %+v", state, batch.Woken)
		}
		e.Later(node, time.Minute)
		runs := e.ClaimRuns(node)
		run, plain = runs[run.Job.ID], runs[plain.Job.ID]
		if len(runs) != 2 {
			e.Fatalf("claimed %d jobs, want the two that were put back", len(runs))
		}
	}
}
