package jobs

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var orderTests = env.Tests{
	"Order_by_priority_then_run_time_then_enqueue": orderWithinQueue,
	"Order_across_queues_and_kinds":                orderAcrossQueues,
	"Order_aging_makes_a_waiting_job_more_urgent":  orderAging,
	"Order_aging_ends_at_the_most_urgent_priority": orderAgingEnds,
}

// claimAll claims in several steps, so that the order must hold across claims and not only within
// one.
func claimAll(e *env.Env, node int64, aging time.Duration, steps ...int) []store.ID {
	e.Helper()
	var ids []store.ID
	for _, n := range append(steps, 100) {
		params := e.Demand(node, n)
		params.Aging = aging
		ids = append(ids, env.ClaimedIDs(e.ClaimWith(params))...)
	}
	return ids
}

func orderWithinQueue(e *env.Env) {
	now := e.Clock.Now()
	ago := func(d time.Duration) func(*store.Enqueue) { return env.RunAt(now.Add(-d)) }
	fifth := e.Add(env.Priority(3), ago(time.Hour))
	third := e.Add(env.Priority(2))
	second := e.Add(env.Priority(2), ago(time.Microsecond))
	fourth := e.Add(env.Priority(2))
	first := e.Add(env.Priority(1))
	sixth := e.Add(env.Priority(4), ago(2*time.Hour))
	e.WantIDs("claimed", claimAll(e, e.Join(), 0, 1, 3), first, second, third, fourth, fifth, sixth)
}

func orderAcrossQueues(e *env.Env) {
	now := e.Clock.Now()
	var jobs []*store.Enqueue
	// Enqueued in one batch, from the last to the first by run time.
	for i := range 24 {
		jobs = append(jobs, e.Job(env.Queue([]string{"a", "b", "c"}[i%3]), env.Kind([]string{"send", "push"}[i%2]),
			env.Priority(1+i/12), env.RunAt(now.Add(-time.Duration(i%12)*time.Second))))
	}
	e.Enqueue(jobs...)
	var want []store.ID
	for p := range 2 {
		for i := range 12 {
			want = append(want, jobs[12*p+11-i].Job.ID)
		}
	}
	e.WantIDs("claimed", claimAll(e, e.Join(), 0, 5, 7, 1), want...)
}

// orderAging: after a wait of one aging a job counts as one priority more urgent, and the older of
// two equally urgent ones goes first.
func orderAging(e *env.Env) {
	const aging = time.Minute
	old := e.Add(env.Priority(3))
	node := e.Join()
	claims := func(younger int, want store.ID) {
		e.Helper()
		other := e.Add(env.Priority(younger))
		params := e.Demand(node, 1)
		params.Aging = aging
		claimed := e.ClaimWith(params)
		if want == (store.ID{}) {
			want = other
		}
		e.WantIDs("claimed", env.ClaimedIDs(claimed), want)
		e.End(claimed[0], store.Available)
		e.Cancel(other)
	}
	var theOther store.ID
	e.Clock.Advance(aging - time.Microsecond)
	claims(2, theOther)
	e.Clock.Advance(2 * time.Microsecond)
	// It is now as urgent as the younger one, and older.
	claims(2, old)
	// The release made it due now, so its wait begins again.
	claims(2, theOther)
	e.Clock.Advance(aging + time.Microsecond)
	claims(1, theOther)
	e.Clock.Advance(aging + time.Microsecond)
	claims(1, old)
}

func orderAgingEnds(e *env.Env) {
	oldest := e.Add(env.Priority(4))
	e.Clock.Advance(time.Minute)
	older := e.Add(env.Priority(1))
	e.Clock.Advance(time.Hour)
	young := e.Add(env.Priority(1))
	e.WantIDs("claimed", claimAll(e, e.Join(), time.Minute, 1), oldest, older, young)
}
