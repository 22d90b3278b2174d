package storetest

import (
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Reading: a free ordering key is handed on by Promote at the latest; a store may do it earlier. The tests promote
// before each claim (env.claim), so both kinds of store look the same.
var orderingKeyTests = []test{
	{"Order_one_at_a_time_within_an_ordering_key", keyOneAtATime},
	{"Order_within_a_key_by_priority_then_run_time_then_enqueue", keyOrder},
	{"Order_a_job_keeps_the_turn_of_its_key_while_it_is_unfinished", keyTurnIsKept},
	{"Order_every_end_of_a_job_frees_its_key", keyIsFreed},
	{"Order_a_job_that_waits_for_its_time_does_not_take_the_turn", keyDeferredTakesNoTurn},
	{"Order_of_a_key_survives_a_batch_that_ends_and_enqueues", keyEndAndEnqueue},
	{"a_key_belongs_to_its_queue", keyBelongsToQueue},
	{"a_key_does_not_hold_up_other_jobs", keyDoesNotBlockOthers},
	{"a_cancelled_job_that_waited_for_its_turn_is_out_of_the_line", keyCancelWaiting},
	{"an_operators_retry_waits_for_its_turn", keyRetryWaits},
	{"a_rescue_keeps_the_turn_unless_it_ends_the_job", keyRescue},
	{"a_replaced_job_stays_in_line", keyReplace},
	{"a_blocked_job_says_so", keyBlocked},
}

func keyOneAtATime(e *env) {
	var jobs []*store.Enqueue
	for range 8 {
		jobs = append(jobs, e.job(ordered("k")))
	}
	e.enqueue(jobs...)
	nodes := []int64{e.join(), e.join()}
	for i, q := range jobs {
		runs := e.claim(nodes[i%2], 100)
		e.wantIDs("claimed", claimedIDs(runs), q.Job.ID)
		e.wantNothing(nodes[(i+1)%2])
		e.end(runs[0], store.Completed)
	}
	e.wantNothing(nodes[0])
}

func keyOrder(e *env) {
	now := e.clock.Now()
	// The first one has the turn, so that the others wait and are then taken by their order, not by their arrival.
	first := e.add(ordered("k"), priority(4))
	node := e.join()
	run := e.claimOne(node, first)
	sixth := e.add(ordered("k"), priority(3))
	fifth := e.add(ordered("k"), priority(3), runAt(now.Add(-time.Hour)))
	second := e.add(ordered("k"), priority(1))
	third := e.add(ordered("k"), priority(2), kind("push"))
	fourth := e.add(ordered("k"), priority(2))
	for _, id := range []store.ID{second, third, fourth, fifth, sixth} {
		e.end(run, store.Completed)
		run = e.claimOne(node, id)
	}
}

// keyTurnIsKept: the order within a key is strict, so an attempt that failed holds up those behind it.
func keyTurnIsKept(e *env) {
	node := e.join()
	id := e.add(ordered("k"), attempts(10))
	run := e.claimOne(node, id)
	e.add(ordered("k"), priority(1))
	for _, state := range []store.State{store.Retryable, store.Scheduled, store.Available} {
		e.end(run, state)
		if state != store.Available {
			e.wantNothing(node)
			e.clock.Advance(time.Minute)
		}
		run = e.claimOne(node, id)
	}
	e.leave(node)
	run = e.claimOne(e.join(), id)
	e.end(run, store.Retryable)
	e.retry(id)
	e.claimOne(e.join(), id)
}

func keyIsFreed(e *env) {
	node := e.join()
	for _, state := range []store.State{store.Completed, store.Failed, store.Cancelled} {
		run := e.claimOne(node, e.add(ordered("k")))
		next := e.add(ordered("k"))
		e.wantNothing(node)
		e.end(run, state)
		e.end(e.claimOne(node, next), store.Completed)
	}
	// Cancelled with the turn in hand, available and deferred.
	for _, state := range []store.State{store.Available, store.Retryable, store.Scheduled} {
		run := e.claimOne(node, e.add(ordered("k")))
		next := e.add(ordered("k"))
		e.end(run, state)
		e.cancel(run.Job.ID)
		e.end(e.claimOne(node, next), store.Completed)
	}
	// Asked to stop while it runs.
	run := e.claimOne(node, e.add(ordered("k")))
	next := e.add(ordered("k"))
	e.cancel(run.Job.ID)
	e.wantNothing(node)
	e.end(run, store.Retryable)
	e.end(e.claimOne(node, next), store.Completed)
}

func keyDeferredTakesNoTurn(e *env) {
	node := e.join()
	later := e.add(ordered("k"), priority(1), delay(time.Minute))
	first := e.add(ordered("k"), priority(3))
	e.end(e.claimOne(node, first), store.Completed)
	run := e.claimOne(node, e.add(ordered("k"), priority(3)))
	e.clock.Advance(time.Hour)
	e.wantNothing(node)
	waiting := e.add(ordered("k"), priority(2))
	e.end(run, store.Completed)
	e.end(e.claimOne(node, later), store.Completed)
	e.claimOne(node, waiting)
}

// keyEndAndEnqueue: the end of a job and the enqueue of the next of its key meet in one transaction.
func keyEndAndEnqueue(e *env) {
	node := e.join()
	run := e.claimOne(node, e.add(ordered("k")))
	for range 5 {
		next := e.job(ordered("k"))
		e.apply(&store.Batch{Outcomes: []*store.Outcome{outcome(run, store.Completed)}, Enqueues: []*store.Enqueue{next}})
		run = e.claimOne(node, next.Job.ID)
	}
}

func keyBelongsToQueue(e *env) {
	inOther := func(q *store.Enqueue) { q.Job.Namespace = "other" }
	a, b := e.add(ordered("k"), queue("a")), e.add(ordered("k"), queue("b"))
	c, d := e.add(ordered("K"), queue("a")), e.add(ordered("k"), queue("a"), inOther)
	node := e.join()
	e.wantIDs("claimed", claimedIDs(e.claim(node, 10)), a, b, c)
	params := e.demand(node, 1)
	params.Namespace = "other"
	e.wantIDs("claimed", claimedIDs(e.claimWith(params)), d)
}

func keyDoesNotBlockOthers(e *env) {
	node := e.join()
	var first, rest []*store.Enqueue
	for i := range 60 {
		q := e.job(ordered(fmt.Sprintf("k%d", i%3)), priority(1))
		if i < 3 {
			first = append(first, q)
		} else {
			rest = append(rest, q)
		}
	}
	e.enqueue(append(first, rest...)...)
	plain := e.add(priority(4))
	e.wantIDs("claimed", claimedIDs(e.claim(node, 10)), append(idsOf(first), plain)...)
}

func keyCancelWaiting(e *env) {
	node := e.join()
	run := e.claimOne(node, e.add(ordered("k")))
	second, third := e.add(ordered("k")), e.add(ordered("k"))
	e.cancel(second)
	e.wantNothing(node)
	e.end(run, store.Completed)
	e.claimOne(node, third)
	e.wantState(second, store.Cancelled)
}

func keyRetryWaits(e *env) {
	node := e.join()
	first := e.add(ordered("k"))
	e.end(e.claimOne(node, first), store.Failed)
	run := e.claimOne(node, e.add(ordered("k")))
	third := e.add(ordered("k"), priority(1))
	e.retry(first)
	e.wantNothing(node)
	if !e.get(first).Blocked {
		e.Fatal("the retried job does not wait for its turn")
	}
	e.end(run, store.Completed)
	e.end(e.claimOne(node, third), store.Completed)
	e.end(e.claimOne(node, first), store.Completed)
}

func keyRescue(e *env) {
	id := e.add(ordered("k"), attempts(3))
	next := e.add(ordered("k"))
	e.lose(e.claimOne(e.join(), id))
	e.lose(e.claimOne(e.join(), id))
	e.wantState(id, store.Retryable)
	node := e.join()
	e.wantNothing(node)
	e.clock.Advance(rescueBackoff)
	e.claimOne(node, id)
	e.clock.Advance(deadAfter + time.Second)
	e.rescue()
	e.wantState(id, store.Failed)
	e.claimOne(e.join(), next)
}

// keyReplace: a job that was replaced while it waited for its turn is still in line, once.
func keyReplace(e *env) {
	node := e.join()
	run := e.claimOne(node, e.add(ordered("k")))
	waiting := e.add(ordered("k"), unique("u"))
	other := e.add(ordered("k"))
	replace := func(change func(*store.Enqueue)) {
		e.Helper()
		if q := e.try(unique("u"), onConflict(store.Replace), change); !q.Result.Replaced {
			e.Fatalf("replace: %+v, %v", q.Result, q.Err)
		}
	}
	replace(runAt(e.clock.Now().Add(-time.Hour)))
	e.wantNothing(node)
	replace(delay(time.Hour))
	e.end(run, store.Completed)
	run = e.claimOne(node, other)
	replace(delay(0))
	e.wantNothing(node)
	e.end(run, store.Completed)
	e.end(e.claimOne(node, waiting), store.Completed)
	e.wantNothing(node)
}

// keyBlocked: Blocked tells why an available job does not run.
func keyBlocked(e *env) {
	first, second := e.add(ordered("k")), e.add(ordered("k"))
	other := e.add()
	e.promote()
	blocked := func(want ...bool) {
		e.Helper()
		for i, id := range []store.ID{first, second, other} {
			record := e.get(id)
			if record.Blocked != want[i] {
				e.Fatalf("job %d, %v, says blocked %v, want %v", i, record.State, record.Blocked, want[i])
			}
		}
	}
	blocked(false, true, false)
	if q := e.queue("mail"); q.Counts[store.Available].N != 3 {
		e.Fatalf("the queue counts %v", q.Counts)
	}
	node := e.join()
	runs := e.claim(node, 10)
	blocked(false, true, false)
	e.end(runs[0], store.Completed)
	e.promote()
	blocked(false, false, false)
}
