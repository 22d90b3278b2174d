package storetest

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
)

var orderTests = []test{
	{"Order_by_priority_then_run_time_then_enqueue", orderWithinQueue},
	{"Order_across_queues_and_kinds", orderAcrossQueues},
	{"Order_of_a_job_that_comes_back_is_by_its_new_run_time", orderAfterRetry},
	{"Order_of_promoted_jobs_is_by_run_time", orderPromoted},
	{"Order_aging_makes_a_waiting_job_more_urgent", orderAging},
	{"Order_aging_ends_at_the_most_urgent_priority", orderAgingEnds},
}

// claimAll claims in several steps, so that the order must hold across claims and not only within one.
func (e *env) claimAll(node int64, aging time.Duration, steps ...int) []store.ID {
	e.Helper()
	var ids []store.ID
	for _, n := range append(steps, 100) {
		params := e.demand(node, n)
		params.Aging = aging
		ids = append(ids, claimedIDs(e.claimWith(params))...)
	}
	return ids
}

func orderWithinQueue(e *env) {
	now := e.clock.Now()
	ago := func(d time.Duration) func(*store.Enqueue) { return runAt(now.Add(-d)) }
	fifth := e.add(priority(3), ago(time.Hour))
	third := e.add(priority(2))
	second := e.add(priority(2), ago(time.Microsecond))
	fourth := e.add(priority(2))
	first := e.add(priority(1))
	sixth := e.add(priority(4), ago(2*time.Hour))
	e.wantIDs("claimed", e.claimAll(e.join(), 0, 1, 3), first, second, third, fourth, fifth, sixth)
}

func orderAcrossQueues(e *env) {
	now := e.clock.Now()
	var jobs []*store.Enqueue
	// Enqueued in one batch, from the last to the first by run time.
	for i := range 24 {
		jobs = append(jobs, e.job(queue([]string{"a", "b", "c"}[i%3]), kind([]string{"send", "push"}[i%2]),
			priority(1+i/12), runAt(now.Add(-time.Duration(i%12)*time.Second))))
	}
	e.enqueue(jobs...)
	var want []store.ID
	for p := range 2 {
		for i := range 12 {
			want = append(want, jobs[12*p+11-i].Job.ID)
		}
	}
	e.wantIDs("claimed", e.claimAll(e.join(), 0, 5, 7, 1), want...)
}

func orderAfterRetry(e *env) {
	node := e.join()
	first := e.add()
	run := e.claimOne(node, first)
	e.clock.Advance(time.Second)
	second := e.add()
	e.clock.Advance(time.Second)
	e.end(run, store.Retryable, func(o *store.Outcome) { o.Delay = time.Second })
	third := e.add()
	e.clock.Advance(time.Minute)
	e.promote()
	e.wantIDs("claimed", e.claimAll(node, 0, 1), second, third, first)
}

func orderPromoted(e *env) {
	late, early, middle := e.add(delay(3*time.Second)), e.add(delay(time.Second)), e.add(delay(2*time.Second))
	e.clock.Advance(time.Minute)
	now := e.add()
	e.promote()
	e.wantIDs("claimed", e.claimAll(e.join(), 0, 2), early, middle, late, now)
}

// orderAging: after a wait of one aging a job counts as one priority more urgent, and the older of two equally urgent
// ones goes first.
func orderAging(e *env) {
	const aging = time.Minute
	old := e.add(priority(3))
	node := e.join()
	claims := func(younger int, want store.ID) {
		e.Helper()
		other := e.add(priority(younger))
		params := e.demand(node, 1)
		params.Aging = aging
		claimed := e.claimWith(params)
		if want == (store.ID{}) {
			want = other
		}
		e.wantIDs("claimed", claimedIDs(claimed), want)
		e.end(claimed[0], store.Available)
		e.cancel(other)
	}
	var theOther store.ID
	e.clock.Advance(aging - time.Microsecond)
	claims(2, theOther)
	e.clock.Advance(2 * time.Microsecond)
	// As urgent as the younger one now, and older.
	claims(2, old)
	// A release made it due anew, so it waits from now.
	claims(2, theOther)
	e.clock.Advance(aging + time.Microsecond)
	claims(1, theOther)
	e.clock.Advance(aging + time.Microsecond)
	claims(1, old)
}

func orderAgingEnds(e *env) {
	oldest := e.add(priority(4))
	e.clock.Advance(time.Minute)
	older := e.add(priority(1))
	e.clock.Advance(time.Hour)
	young := e.add(priority(1))
	e.wantIDs("claimed", e.claimAll(e.join(), time.Minute, 1), oldest, older, young)
}
