package family

import (
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// What becomes of children whose parent finishes first.
var closeTests = env.Tests{
	"NoLoss_every_end_of_a_parent_closes_its_children":                                                 closeEveryEnd,
	"each_child_is_closed_as_its_policy_says":                                                          closePolicies,
	"a_child_that_has_begun_ends_itself":                                                               closeDurable,
	"children_are_closed_in_steps_and_once":                                                            closeSteps,
	"EveryDueThingHappens_all_generations_that_do_not_run_are_closed_by_who_asks_while_there_are_more": closeDeep,
	"a_parent_that_a_person_let_go_on_keeps_its_children":                                              closeResumed,
	"NoLoss_children_of_a_removed_parent_are_closed":                                                   closeRemoved,
}

func closeEveryEnd(e *env.Env) {
	node := e.Join()
	for what, end := range map[string]func(store.Claimed){
		"completed":  func(run store.Claimed) { e.End(run, store.Completed, env.WithChildren) },
		"failed":     func(run store.Claimed) { e.End(run, store.Failed, env.WithChildren) },
		"cancelled":  func(run store.Claimed) { e.End(run, store.Cancelled, env.WithChildren) },
		"terminated": func(run store.Claimed) { e.Terminate(run.Job.ID) },
		"terminated while it waited": func(run store.Claimed) {
			e.Park(run, env.ForSignals())
			e.Terminate(run.Job.ID)
		},
		"terminated before it was repeated": func(run store.Claimed) {
			e.End(run, store.Retryable, env.WithChildren)
			e.Terminate(run.Job.ID)
		},
		"a crash loop": func(run store.Claimed) {
			e.End(run, store.Available)
			e.ClaimOne(node, run.Job.ID)
			e.Clock.Advance(env.DeadAfter + time.Second)
			e.Rescue()
			node = e.Join()
		},
		"failed after a retry": func(run store.Claimed) {
			e.End(run, store.Failed, env.WithChildren)
			e.Retry(run.Job.ID)
			e.End(e.ClaimOne(node, run.Job.ID), store.Failed, env.WithChildren)
		},
	} {
		parent := e.ClaimOne(node, e.Add(env.Attempts(1), env.Queue("parents")))
		ids := e.Bear(&parent, 3, env.Delay(100*time.Hour))
		end(parent)
		if state := e.Get(parent.Job.ID).State; !state.Finished() {
			e.Fatalf("%s: the parent is %v", what, state)
		}
		e.WantSameIDs("closed children of a parent that is "+what, e.CloseChildren(100), ids...)
		for _, id := range ids {
			record := e.Get(id)
			if record.State != store.Cancelled || record.Reason != store.ReasonCancelled || !record.FinishedAt.Equal(e.Clock.Now()) {
				e.Fatalf("%s: the child is %+v", what, record)
			}
		}
		if closed := e.CloseOnce(100); len(closed.Ended)+len(closed.Running) != 0 || closed.More {
			e.Fatalf("%s: closed again: %+v", what, closed)
		}
	}
}

// closePolicies: of each policy there is a child that has finished, one that runs, and one that
// waits to be claimed.
func closePolicies(e *env.Env) {
	node := e.Join()
	parent := e.ClaimOne(node, e.Add())
	policies := []store.ClosePolicy{store.CancelChild, store.AbandonChild, store.TerminateChild, store.CancelAndWait}
	var finished, running, available []store.ID
	for i, policy := range policies {
		born := e.Bear(&parent, 2, env.OnParentClose(policy))
		finished, running = append(finished, born[0]), append(running, born[1])
		brief := e.Join() // which gives back all but the first
		e.End(e.ClaimRuns(brief)[born[0]], []store.State{store.Completed, store.Failed, store.Cancelled, store.Failed}[i])
		e.Leave(brief)
	}
	runs := e.ClaimRuns(node)
	for _, policy := range policies {
		available = append(available, e.Bear(&parent, 1, env.OnParentClose(policy))...)
	}
	var before []store.Record
	for _, id := range finished {
		before = append(before, e.Get(id))
	}
	e.End(parent, store.Completed, env.WithChildren)
	e.Clock.Advance(time.Second)
	closed := e.CloseOnce(100)
	e.WantSameIDs("ended", closed.Ended, available[0], available[2], running[2], available[3])
	e.WantSameIDs("asked", closed.Running, running[0], running[3])
	// Children that were asked once are not asked again.
	if closed := e.CloseOnce(100); len(closed.Ended)+len(closed.Running) != 0 || closed.More {
		e.Fatalf("closed again: %+v", closed)
	}
	for id, want := range map[store.ID]store.Reason{
		available[0]: store.ReasonCancelled, available[2]: store.ReasonTerminated, running[2]: store.ReasonTerminated,
		available[3]: store.ReasonCancelled,
	} {
		if record := e.Get(id); record.State != store.Cancelled || record.Reason != want {
			e.Fatalf("child: %+v, want %v", record, want)
		}
	}
	e.WantState(available[1], store.Available)
	e.WantLost(runs[running[2]])
	for i, want := range []bool{true, false} {
		if record := e.Get(running[i]); record.State != store.Running || record.CancelRequested != want {
			e.Fatalf("running child %d: %+v", i, record)
		}
	}
	for i, id := range finished {
		e.Equal("child that has finished", e.Get(id), before[i])
	}
	e.End(runs[running[1]], store.Completed)
	e.EndAs(store.Cancelled, runs[running[0]], store.Retryable)
	e.ClaimOne(node, available[1])
}

func closeDurable(e *env.Env) {
	node := e.Join()
	parent := e.ClaimOne(node, e.Add())
	ids := e.Bear(&parent, 3)
	runs := e.ClaimRuns(node)
	waits := []*store.Wait{env.ForSignals(), {Held: true}}
	for i, wait := range waits {
		run := runs[ids[i]]
		e.Write(&run, env.Step(1))
		e.Park(run, wait)
	}
	last := runs[ids[2]]
	e.Write(&last, env.Step(1))
	e.End(parent, store.Failed, env.WithChildren)
	closed := e.CloseOnce(100)
	e.WantSameIDs("asked", closed.Running, ids[2])
	if len(closed.Ended) != 0 {
		e.Fatalf("ended: %+v", closed.Ended)
	}
	e.End(last, store.Retryable)
	for id, run := range e.ClaimRuns(node) {
		if !run.CancelRequested || run.CancelReason == "" {
			e.Fatalf("the run of child %v: %+v", id, run)
		}
		e.End(run, store.Cancelled)
	}
	for _, id := range ids {
		e.WantState(id, store.Cancelled)
	}
	if n := len(e.Answers(parent.Job.ID)); n != 3 {
		e.Fatalf("%d answers", n)
	}
}

func closeSteps(e *env.Env) {
	const parents, each, limit = 3, 11, 4
	node := e.Join()
	var ids []store.ID
	for i := range parents {
		parent := e.ClaimOne(node, e.Add(env.Queue("parents")))
		ids = append(ids, e.Bear(&parent, each, env.Delay(time.Hour))...)
		e.End(parent, []store.State{store.Completed, store.Failed, store.Cancelled}[i], env.WithChildren)
	}
	seen := map[store.ID]int{}
	for calls := 0; ; calls++ {
		closed := e.CloseOnce(limit)
		if len(closed.Ended) > limit || len(closed.Running) != 0 || calls > parents*each {
			e.Fatalf("call %d closed %+v", calls, closed)
		}
		for _, id := range closed.Ended {
			seen[id]++
		}
		if !closed.More {
			break
		}
	}
	for _, id := range ids {
		if seen[id] != 1 {
			e.Fatalf("child %v was closed %d times", id, seen[id])
		}
		e.WantState(id, store.Cancelled)
	}
	if len(seen) != len(ids) {
		e.Fatalf("%d children were closed, want %d", len(seen), len(ids))
	}
	// Running children are only asked, and do not keep the others waiting.
	parent := e.ClaimOne(node, e.Add(env.Queue("parents")))
	running := e.Bear(&parent, 2*limit)
	e.ClaimRuns(node)
	waiting := e.Bear(&parent, 2, env.Delay(time.Hour))
	e.End(parent, store.Failed, env.WithChildren)
	asked := map[store.ID]bool{}
	for range 20 {
		closed := e.CloseOnce(limit)
		for _, id := range closed.Running {
			asked[id] = true
		}
		if !closed.More {
			break
		}
	}
	if len(asked) != len(running) {
		e.Fatalf("%d running children were asked, want %d", len(asked), len(running))
	}
	for _, id := range waiting {
		e.WantState(id, store.Cancelled)
	}
}

// closeDeep: a caller who asks as long as the store says More ends all generations, although each
// becomes visible only when the one before has finished.
func closeDeep(e *env.Env) {
	const depth, each = 25, 3
	for _, limit := range []int{1, 2, 100} {
		node := e.Join()
		run := e.ClaimOne(node, e.Add(env.Queue("first")))
		first := run
		var ids []store.ID
		var parked []store.Claimed
		for range depth {
			born := e.Bear(&run, each, env.OnParentClose(store.TerminateChild), env.Delay(time.Hour))
			ids = append(ids, born...)
			e.Retry(born[1])
			run = e.ClaimOne(node, born[1])
			parked = append(parked, run)
		}
		for i, run := range parked {
			if i < depth-1 { // the last one has no children, and no journal
				e.Park(run, []*store.Wait{env.ForSignals(), {Held: true}, {Until: e.Clock.Now().Add(time.Hour)}}[i%3])
			} else {
				e.End(run, store.Retryable)
			}
		}
		e.End(first, store.Failed, env.WithChildren)
		var ended []store.ID
		calls := 0
		for more := true; more; calls++ {
			closed := e.CloseOnce(limit)
			if len(closed.Running) != 0 || len(closed.Ended) > limit || calls > 2*(len(ids)+depth) {
				e.Fatalf("after %d of %d, in call %d: closed %+v", len(ended), len(ids), calls, closed)
			}
			ended = append(ended, closed.Ended...)
			more = closed.More
		}
		e.WantSameIDs(fmt.Sprint("closed with the limit ", limit), ended, ids...)
		for _, id := range ids {
			e.WantState(id, store.Cancelled)
		}
	}
}

// closeResumed: Reading: a parent that goes on has not finished, whatever it was when another
// should have looked.
func closeResumed(e *env.Env) {
	node := e.Join()
	for _, resumed := range []bool{true, false} {
		run := e.ClaimOne(node, e.Add(env.Queue("parents")))
		id := e.Bear(&run, 1, env.Delay(100*time.Hour))[0]
		e.End(run, store.Failed, env.WithChildren)
		if resumed {
			e.Resume(env.Resumption(run.Job.ID), store.Available)
		} else {
			e.Retry(run.Job.ID)
		}
		if closed := e.CloseOnce(100); len(closed.Ended)+len(closed.Running) != 0 {
			e.Fatalf("closed: %+v", closed)
		}
		e.WantState(id, store.Scheduled)
		run = e.ClaimOne(node, run.Job.ID)
		e.End(run, store.Failed, env.WithChildren)
		e.WantSameIDs("closed", e.CloseChildren(100), id)
	}
}

func closeRemoved(e *env.Env) {
	node := e.Join()
	run := e.ClaimOne(node, e.Add())
	id := e.Bear(&run, 1, env.Delay(1000*time.Hour))[0]
	e.End(run, store.Completed, env.WithChildren)
	e.Clock.Advance(time.Hour + env.Slack)
	if n := e.Retain(store.Retention{Completed: time.Hour, Limit: 100}); n != 1 {
		e.Fatalf("removed %d jobs", n)
	}
	e.WantSameIDs("closed", e.CloseChildren(100), id)
	e.WantState(id, store.Cancelled)
}
