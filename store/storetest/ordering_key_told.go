package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// A batch tells of the turns that it handed on, or that are to be handed on because of it, so that
// nobody has to look for them.
var turnToldTests = []test{
	{"EveryDueThingHappens_a_batch_that_ends_a_job_tells_of_the_next_one_of_its_key", turnToldEnd},
	{"EveryDueThingHappens_a_batch_that_ends_many_jobs_tells_of_each_key", turnToldMany},
	{"EveryDueThingHappens_a_batch_that_enqueues_into_a_free_key_tells_if_it_is_left_to_others", turnToldEnqueue},
	{"EveryDueThingHappens_a_batch_that_makes_a_job_due_by_replacing_it_tells_of_its_turn", turnToldReplace},
	{"a_batch_that_hands_on_no_turn_tells_of_none", turnNotTold},
}

// isDueNow tells whether a batch says that there is something to promote.
func (e *env) isDueNow(batch *store.Batch) bool {
	return slices.ContainsFunc(batch.Woken, func(w store.Wake) bool {
		return w.Kind == store.WakeDeferred && !w.Due.IsZero() && !w.Due.After(e.clock.Now())
	})
}

func wakes(batch *store.Batch, queue string) bool {
	return slices.ContainsFunc(batch.Woken, func(w store.Wake) bool {
		return w.Kind == store.WakeReady && w.Namespace == namespace && w.Queue == queue
	})
}

// wantTurns checks that the jobs have their turns, which nobody had to guess: either they can be
// claimed, and the batch tells of their queues, or the batch says that there is something to
// promote, and then they can. It returns their runs.
func (e *env) wantTurns(what string, node int64, batch *store.Batch, ids ...store.ID) []store.Claimed {
	e.Helper()
	claimed := e.claimWith(e.demand(node, 100))
	for _, run := range claimed {
		if !wakes(batch, run.Job.Queue) {
			e.Fatalf("%s: a job of %s had its turn, and the batch tells of %+v", what, run.Job.Queue, batch.Woken)
		}
	}
	if len(claimed) < len(ids) {
		if !e.isDueNow(batch) {
			e.Fatalf("%s: of %d jobs %d have their turn, and the batch tells of %+v", what, len(ids), len(claimed), batch.Woken)
		}
		claimed = append(claimed, e.claim(node, 100)...)
	}
	e.wantSameIDs(what, claimedIDs(claimed), ids...)
	return claimed
}

func turnToldEnd(e *env) {
	node := e.join()
	withDeadline := func(q *store.Enqueue) { q.Job.Options.Deadline = e.clock.Now().Add(time.Minute) }
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
		run := e.claimOne(node, e.add(ordered("k"), queue(name), withDeadline))
		next, last := e.add(ordered("k"), queue(name)), e.add(ordered("k"), queue(name))
		e.wantNothing(node)
		if c.asked {
			e.cancel(run.Job.ID)
		}
		batch := &store.Batch{Outcomes: []*store.Outcome{outcome(run, c.state)}}
		e.apply(batch)
		if o := batch.Outcomes[0]; o.Err != nil || !o.Final.Finished() {
			e.Fatalf("%s: %v, %v", c.what, o.Final, o.Err)
		}
		run = e.wantTurns(c.what, node, batch, next)[0]
		e.end(run, store.Completed)
		e.end(e.claimOne(node, last), store.Completed)
	}
}

func turnToldMany(e *env) {
	const keys = 30
	node := e.join()
	var runs []store.Claimed
	for i := range keys {
		e.add(ordered(fmt.Sprint("key", i)), queue(fmt.Sprint("q", i%7)))
	}
	runs = e.claim(node, keys)
	var next []store.ID
	for i := range keys {
		if id := e.add(ordered(fmt.Sprint("key", i)), queue(fmt.Sprint("q", i%7)), kind([]string{"send", "push"}[i%2])); i%3 != 0 {
			next = append(next, id)
		}
	}
	batch := &store.Batch{}
	for i, run := range runs {
		state := store.Completed
		if i%3 == 0 {
			state = store.Retryable // which keeps the turn
		}
		batch.Outcomes = append(batch.Outcomes, outcome(run, state))
	}
	// Neither what is enqueued beside it, nor into the same line, is the next one.
	batch.Enqueues = []*store.Enqueue{e.job(ordered("key1"), queue("q1"), delay(time.Hour)), e.job(ordered("key2"), queue("q2"), priority(4))}
	e.apply(batch)
	e.wantTurns("the next ones", node, batch, next...)
}

// turnToldEnqueue: who enqueued the job looks for it, if it can be claimed.
func turnToldEnqueue(e *env) {
	node := e.join()
	for range 2 {
		q := e.job(ordered("k"))
		batch := &store.Batch{Enqueues: []*store.Enqueue{q, e.job(delay(time.Hour))}}
		e.apply(batch)
		claimed := e.claimWith(e.demand(node, 10))
		if len(claimed) == 0 {
			if !e.isDueNow(batch) {
				e.Fatalf("a job has not got its turn, and the batch tells of %+v", batch.Woken)
			}
			claimed = e.claim(node, 10)
		}
		e.wantIDs("claimed", claimedIDs(claimed), q.Job.ID)
		e.end(claimed[0], store.Completed)
	}
}

// turnToldReplace: the job keeps its ordering key, of which the enqueue that replaces it knows nothing.
func turnToldReplace(e *env) {
	node := e.join()
	later := e.add(ordered("k"), unique("u"), delay(time.Hour))
	batch := &store.Batch{Enqueues: []*store.Enqueue{e.job(unique("u"), onConflict(store.Replace))}}
	e.apply(batch)
	if result := batch.Enqueues[0].Result; !result.Replaced {
		e.Fatalf("replace: %+v", result)
	}
	e.wantTurns("replaced", node, batch, later)
}

func turnNotTold(e *env) {
	node := e.join()
	run := e.claimOne(node, e.add(ordered("k"), attempts(9)))
	e.add(ordered("k"))
	plain := e.claimOne(node, e.add())
	e.wantNothing(node)
	for _, state := range []store.State{store.Retryable, store.Scheduled, store.Available} {
		batch := &store.Batch{Outcomes: []*store.Outcome{outcome(run, state), outcome(plain, store.Available)}}
		e.apply(batch)
		if len(batch.Woken) != 0 {
			e.Fatalf("a job that is %v keeps its turn, and the batch tells of %+v", state, batch.Woken)
		}
		e.later(node, time.Minute)
		runs := e.claimRuns(node)
		run, plain = runs[run.Job.ID], runs[plain.Job.ID]
		if len(runs) != 2 {
			e.Fatalf("claimed %d jobs, want the two that were put back", len(runs))
		}
	}
}
