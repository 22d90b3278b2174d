package jobs

import (
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// Reading: a free ordering key is handed on by Promote at the latest; a store may do it earlier.
// The tests promote before each claim (env.claim), so both kinds of store look the same.
var orderingKeyTests = env.Tests{
	"Order_one_at_a_time_within_an_ordering_key":                   keyOneAtATime,
	"Order_within_a_key_by_priority_then_run_time_then_enqueue":    keyOrder,
	"Order_a_job_keeps_the_turn_of_its_key_while_it_is_unfinished": keyTurnIsKept,
	"Order_every_end_of_a_job_hands_on_its_key":                    keyIsFreed,
	"Order_who_leaves_the_line_and_comes_back_waits_for_its_turn":  keyBackInLine,
	"a_key_belongs_to_its_queue":                                   keyBelongsToQueue,
	"a_key_does_not_hold_up_other_jobs":                            keyDoesNotBlockOthers,
	"a_blocked_job_says_so":                                        keyBlocked,
}

func keyOneAtATime(e *env.Env) {
	jobs := e.Many(8, env.Ordered("k"))
	nodes := []int64{e.Join(), e.Join()}
	for i, q := range jobs {
		runs := e.Claim(nodes[i%2], 100)
		e.WantIDs("claimed", env.ClaimedIDs(runs), q.Job.ID)
		e.WantNothing(nodes[(i+1)%2])
		e.End(runs[0], store.Completed)
	}
	e.WantNothing(nodes[0])
}

func keyOrder(e *env.Env) {
	now := e.Clock.Now()
	// The first one has the turn, so that the others wait and are then taken by their order, not by
	// their arrival.
	first := e.Add(env.Ordered("k"), env.Priority(4))
	node := e.Join()
	run := e.ClaimOne(node, first)
	sixth := e.Add(env.Ordered("k"), env.Priority(3))
	fifth := e.Add(env.Ordered("k"), env.Priority(3), env.RunAt(now.Add(-time.Hour)))
	second := e.Add(env.Ordered("k"), env.Priority(1))
	third := e.Add(env.Ordered("k"), env.Priority(2), env.Kind("push"))
	fourth := e.Add(env.Ordered("k"), env.Priority(2))
	for _, id := range []store.ID{second, third, fourth, fifth, sixth} {
		e.End(run, store.Completed)
		run = e.ClaimOne(node, id)
	}
}

// keyTurnIsKept: the order within a key is strict, so an attempt that failed holds up those behind
// it.
func keyTurnIsKept(e *env.Env) {
	node := e.Join()
	id := e.Add(env.Ordered("k"), env.Attempts(10))
	run := e.ClaimOne(node, id)
	e.Add(env.Ordered("k"), env.Priority(1))
	for _, state := range []store.State{store.Retryable, store.Scheduled, store.Available} {
		e.End(run, state)
		if state != store.Available {
			e.WantNothing(node)
			e.Clock.Advance(time.Minute)
		}
		run = e.ClaimOne(node, id)
	}
	e.Leave(node)
	run = e.ClaimOne(e.Join(), id)
	e.End(run, store.Retryable)
	e.Retry(id)
	e.ClaimOne(e.Join(), id)
}

// keyIsFreed: of a run, and of a job that has the turn and does not run. Its unique key is free
// too.
func keyIsFreed(e *env.Env) {
	node := e.Join()
	for what, end := range map[string]func(store.Claimed){
		"completed":           func(run store.Claimed) { e.End(run, store.Completed) },
		"failed":              func(run store.Claimed) { e.End(run, store.Failed) },
		"cancelled":           func(run store.Claimed) { e.End(run, store.Cancelled) },
		"asked to stop":       func(run store.Claimed) { e.Cancel(run.Job.ID); e.WantNothing(node); e.End(run, store.Retryable) },
		"terminated":          func(run store.Claimed) { e.Terminate(run.Job.ID) },
		"cancelled retryable": func(run store.Claimed) { e.End(run, store.Retryable); e.Cancel(run.Job.ID) },
		"cancelled scheduled": func(run store.Claimed) { e.End(run, store.Scheduled); e.Cancel(run.Job.ID) },
		"cancelled available": func(run store.Claimed) { e.End(run, store.Available); e.Cancel(run.Job.ID) },
		"terminated while held": func(run store.Claimed) {
			e.End(run, store.Available)
			e.PauseJob(run.Job.ID, store.Waiting)
			e.Terminate(run.Job.ID)
		},
		"given up for good": func(run store.Claimed) { e.GiveUp(run) },
	} {
		run := e.ClaimOne(node, e.Add(env.Ordered("k"), env.Unique(what), env.Attempts(1)))
		next := e.Add(env.Ordered("k"))
		e.WantNothing(node)
		e.WantTaken(what, run.Job.ID)
		end(run)
		e.WantFree(what)
		e.End(e.ClaimOne(node, next), store.Completed)
	}
}

// keyBackInLine: jobs that are cancelled, paused or put off while they wait for their turn are out
// of the line. When they come back they wait again.
func keyBackInLine(e *env.Env) {
	node := e.Join()
	run := e.ClaimOne(node, e.Add(env.Ordered("k")))
	cancelled, paused := e.Add(env.Ordered("k")), e.Add(env.Ordered("k"))
	replaced := e.Add(env.Ordered("k"), env.Unique("u"))
	last := e.Add(env.Ordered("k"), env.Priority(4))
	replace := func(change func(*store.Enqueue)) {
		e.Helper()
		if q := e.Try(env.Unique("u"), env.OnConflict(store.Replace), change); !q.Result.Replaced {
			e.Fatalf("replace: %+v, %v", q.Result, q.Err)
		}
	}
	e.Cancel(cancelled)
	e.PauseJob(paused, store.Waiting)
	replace(env.Delay(time.Hour))
	e.WantNothing(node)
	e.End(run, store.Completed)
	run = e.ClaimOne(node, last)
	for _, back := range []func(){
		func() { e.Retry(cancelled) },
		func() { e.Resume(env.Resumption(paused), store.Available) },
		func() { replace(env.Delay(0)) },
	} {
		e.Clock.Advance(time.Second)
		back()
		e.WantNothing(node)
	}
	for _, id := range []store.ID{cancelled, paused, replaced} {
		if !e.Get(id).Blocked {
			e.Fatal("a job that came back does not wait for its turn")
		}
		e.End(run, store.Completed)
		run = e.ClaimOne(node, id)
	}
}

func keyBelongsToQueue(e *env.Env) {
	inOther := env.In("other")
	a, b := e.Add(env.Ordered("k"), env.Queue("a")), e.Add(env.Ordered("k"), env.Queue("b"))
	c, d := e.Add(env.Ordered("K"), env.Queue("a")), e.Add(env.Ordered("k"), env.Queue("a"), inOther)
	node := e.Join()
	e.WantIDs("claimed", env.ClaimedIDs(e.Claim(node, 10)), a, b, c)
	params := e.Demand(node, 1)
	params.Namespace = "other"
	e.WantIDs("claimed", env.ClaimedIDs(e.ClaimWith(params)), d)
}

func keyDoesNotBlockOthers(e *env.Env) {
	node := e.Join()
	var first, rest []*store.Enqueue
	for i := range 60 {
		q := e.Job(env.Ordered(fmt.Sprintf("k%d", i%3)), env.Priority(1))
		if i < 3 {
			first = append(first, q)
		} else {
			rest = append(rest, q)
		}
	}
	e.Enqueue(append(first, rest...)...)
	plain := e.Add(env.Priority(4))
	e.WantIDs("claimed", env.ClaimedIDs(e.Claim(node, 10)), append(env.IDsOf(first), plain)...)
}

// keyBlocked: Blocked tells why an available job does not run.
func keyBlocked(e *env.Env) {
	first, second := e.Add(env.Ordered("k")), e.Add(env.Ordered("k"))
	other := e.Add()
	e.Promote()
	blocked := func(want ...bool) {
		e.Helper()
		for i, id := range []store.ID{first, second, other} {
			record := e.Get(id)
			if record.Blocked != want[i] {
				e.Fatalf("job %d, %v, says blocked %v, want %v", i, record.State, record.Blocked, want[i])
			}
		}
	}
	blocked(false, true, false)
	if q := e.Queue("mail"); q.Counts[store.Available].N != 3 {
		e.Fatalf("the queue counts %v", q.Counts)
	}
	node := e.Join()
	runs := e.Claim(node, 10)
	blocked(false, true, false)
	e.End(runs[0], store.Completed)
	e.Promote()
	blocked(false, false, false)
}
