package storetest

import (
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// What becomes of children whose parent finishes first.
var closeTests = []test{
	{"NoLoss_every_end_of_a_parent_closes_its_children", closeEveryEnd},
	{"each_child_is_closed_as_its_policy_says", closePolicies},
	{"CancelArrives_at_children_that_run", closeRunning},
	{"a_child_that_has_begun_ends_itself", closeDurable},
	{"children_are_closed_in_steps_and_once", closeSteps},
	{"children_of_children_are_closed_too", closeGenerations},
	{"EveryDueThingHappens_all_generations_that_do_not_run_are_closed_by_who_asks_while_there_are_more", closeDeep},
	{"children_that_have_finished_are_left_alone", closeFinished},
	{"a_parent_that_goes_on_keeps_its_children", closeGoesOn},
	{"a_parent_that_a_person_let_go_on_keeps_its_children", closeResumed},
	{"NoLoss_children_of_a_removed_parent_are_closed", closeRemoved},
}

// closeOnce closes children once.
func (e *env) closeOnce(limit int) store.Closed {
	e.Helper()
	closed, err := e.store.CloseChildren(e.ctx, limit)
	if err != nil {
		e.Fatalf("CloseChildren: %v", err)
	}
	return closed
}

func closeEveryEnd(e *env) {
	node := e.join()
	for what, end := range map[string]func(store.Claimed){
		"completed":  func(run store.Claimed) { e.end(run, store.Completed, withChildren) },
		"failed":     func(run store.Claimed) { e.end(run, store.Failed, withChildren) },
		"cancelled":  func(run store.Claimed) { e.end(run, store.Cancelled, withChildren) },
		"terminated": func(run store.Claimed) { e.terminate(run.Job.ID) },
		"terminated while it waited": func(run store.Claimed) {
			e.park(run, forSignals())
			e.terminate(run.Job.ID)
		},
		"terminated before it was repeated": func(run store.Claimed) {
			e.end(run, store.Retryable, withChildren)
			e.terminate(run.Job.ID)
		},
		"a crash loop": func(run store.Claimed) {
			e.end(run, store.Available)
			e.claimOne(node, run.Job.ID)
			e.clock.Advance(deadAfter + time.Second)
			e.rescue()
			node = e.join()
		},
		"failed after a retry": func(run store.Claimed) {
			e.end(run, store.Failed, withChildren)
			e.retry(run.Job.ID)
			e.end(e.claimOne(node, run.Job.ID), store.Failed, withChildren)
		},
	} {
		parent := e.claimOne(node, e.add(attempts(1), queue("parents")))
		ids := e.bear(&parent, 3, delay(100*time.Hour))
		end(parent)
		if state := e.get(parent.Job.ID).State; !state.Finished() {
			e.Fatalf("%s: the parent is %v", what, state)
		}
		e.wantSameIDs("closed children of a parent that is "+what, e.closeChildren(100), ids...)
		for _, id := range ids {
			record := e.get(id)
			if record.State != store.Cancelled || record.Reason != store.ReasonCancelled || !record.FinishedAt.Equal(e.clock.Now()) {
				e.Fatalf("%s: the child is %+v", what, record)
			}
		}
		if closed := e.closeOnce(100); len(closed.Ended)+len(closed.Running) != 0 || closed.More {
			e.Fatalf("%s: closed again: %+v", what, closed)
		}
	}
}

func closePolicies(e *env) {
	node := e.join()
	parent := e.claimOne(node, e.add())
	policies := []store.ClosePolicy{store.CancelChild, store.AbandonChild, store.TerminateChild}
	var available, running []store.ID
	for _, policy := range policies {
		running = append(running, e.bear(&parent, 1, onParentClose(policy))...)
	}
	runs := e.claimRuns(node)
	for _, policy := range policies {
		available = append(available, e.bear(&parent, 1, onParentClose(policy))...)
	}
	e.end(parent, store.Completed, withChildren)
	closed := e.closeOnce(100)
	e.wantSameIDs("ended", closed.Ended, available[0], available[2], running[2])
	e.wantSameIDs("asked", closed.Running, running[0])
	for id, want := range map[store.ID]store.Reason{
		available[0]: store.ReasonCancelled, available[2]: store.ReasonTerminated, running[2]: store.ReasonTerminated,
	} {
		if record := e.get(id); record.State != store.Cancelled || record.Reason != want {
			e.Fatalf("child: %+v, want %v", record, want)
		}
	}
	e.wantState(available[1], store.Available)
	e.wantLost(runs[running[2]])
	for i, want := range []bool{true, false} {
		if record := e.get(running[i]); record.State != store.Running || record.CancelRequested != want {
			e.Fatalf("running child %d: %+v", i, record)
		}
	}
	e.end(runs[running[1]], store.Completed)
	e.claimOne(node, available[1])
}

func closeRunning(e *env) {
	node := e.join()
	parent := e.claimOne(node, e.add())
	ids := e.bear(&parent, 2)
	runs := e.claimRuns(node)
	e.end(parent, store.Failed, withChildren)
	closed := e.closeOnce(100)
	e.wantSameIDs("asked", closed.Running, ids...)
	if len(closed.Ended) != 0 {
		e.Fatalf("closed: %+v", closed)
	}
	var told []store.ID
	for _, c := range e.beat(node).Cancels {
		told = append(told, c.Job)
	}
	e.wantSameIDs("the beat tells of", told, ids...)
	// They were asked: nobody asks them again and again.
	if closed := e.closeOnce(100); len(closed.Ended)+len(closed.Running) != 0 || closed.More {
		e.Fatalf("closed again: %+v", closed)
	}
	if o := e.end(runs[ids[0]], store.Retryable); o.Final != store.Cancelled {
		e.Fatalf("a child that was asked to stop became %v", o.Final)
	}
	e.end(runs[ids[1]], store.Completed)
}

func closeDurable(e *env) {
	node := e.join()
	parent := e.claimOne(node, e.add())
	ids := e.bear(&parent, 3)
	runs := e.claimRuns(node)
	waits := []*store.Wait{forSignals(), {Held: true}}
	for i, wait := range waits {
		run := runs[ids[i]]
		e.write(&run, step(1))
		e.park(run, wait)
	}
	last := runs[ids[2]]
	e.write(&last, step(1))
	e.end(parent, store.Failed, withChildren)
	closed := e.closeOnce(100)
	e.wantSameIDs("asked", closed.Running, ids[2])
	if len(closed.Ended) != 0 {
		e.Fatalf("ended: %+v", closed.Ended)
	}
	e.end(last, store.Retryable)
	for id, run := range e.claimRuns(node) {
		if !run.CancelRequested || run.CancelReason == "" {
			e.Fatalf("the run of child %v: %+v", id, run)
		}
		e.end(run, store.Cancelled)
	}
	for _, id := range ids {
		e.wantState(id, store.Cancelled)
	}
	if n := len(e.answers(parent.Job.ID)); n != 3 {
		e.Fatalf("%d answers", n)
	}
}

func closeSteps(e *env) {
	const parents, each, limit = 3, 11, 4
	node := e.join()
	var ids []store.ID
	for i := range parents {
		parent := e.claimOne(node, e.add(queue("parents")))
		ids = append(ids, e.bear(&parent, each, delay(time.Hour))...)
		e.end(parent, []store.State{store.Completed, store.Failed, store.Cancelled}[i], withChildren)
	}
	seen := map[store.ID]int{}
	for calls := 0; ; calls++ {
		closed := e.closeOnce(limit)
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
		e.wantState(id, store.Cancelled)
	}
	if len(seen) != len(ids) {
		e.Fatalf("%d children were closed, want %d", len(seen), len(ids))
	}
	// Running ones, who are only asked, do not keep the others from their turn.
	parent := e.claimOne(node, e.add(queue("parents")))
	running := e.bear(&parent, 2*limit)
	e.claimRuns(node)
	waiting := e.bear(&parent, 2, delay(time.Hour))
	e.end(parent, store.Failed, withChildren)
	asked := map[store.ID]bool{}
	for range 20 {
		closed := e.closeOnce(limit)
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
		e.wantState(id, store.Cancelled)
	}
}

func closeGenerations(e *env) {
	node := e.join()
	const depth = 4
	run := e.claimOne(node, e.add())
	first := run
	var ids []store.ID
	for range depth {
		id := e.bear(&run, 1, onParentClose(store.TerminateChild))[0]
		ids = append(ids, id)
		run = e.claimOne(node, id)
	}
	e.end(first, store.Completed, withChildren)
	e.wantSameIDs("closed", e.closeChildren(1), ids...)
	for _, id := range ids {
		if record := e.get(id); record.State != store.Cancelled || record.Reason != store.ReasonTerminated {
			e.Fatalf("record: %+v", record)
		}
	}
}

// closeDeep: whoever asks again as long as he is told to, and not once more, ends them all. None of
// the generations is seen at first: they finish one after the other.
func closeDeep(e *env) {
	const depth, each = 25, 3
	for _, limit := range []int{1, 2, 100} {
		node := e.join()
		run := e.claimOne(node, e.add(queue("first")))
		first := run
		var ids []store.ID
		var parked []store.Claimed
		for range depth {
			born := e.bear(&run, each, onParentClose(store.TerminateChild), delay(time.Hour))
			ids = append(ids, born...)
			e.retry(born[1])
			run = e.claimOne(node, born[1])
			parked = append(parked, run)
		}
		for i, run := range parked {
			if i < depth-1 { // the last one has no children, and no journal
				e.park(run, []*store.Wait{forSignals(), {Held: true}, {Until: e.clock.Now().Add(time.Hour)}}[i%3])
			} else {
				e.end(run, store.Retryable)
			}
		}
		e.end(first, store.Failed, withChildren)
		var ended []store.ID
		calls := 0
		for more := true; more; calls++ {
			closed := e.closeOnce(limit)
			if len(closed.Running) != 0 || len(closed.Ended) > limit || calls > 2*(len(ids)+depth) {
				e.Fatalf("after %d of %d, in call %d: closed %+v", len(ended), len(ids), calls, closed)
			}
			ended = append(ended, closed.Ended...)
			more = closed.More
		}
		e.wantSameIDs(fmt.Sprint("closed with the limit ", limit), ended, ids...)
		for _, id := range ids {
			e.wantState(id, store.Cancelled)
		}
	}
}

func closeFinished(e *env) {
	node := e.join()
	parent := e.claimOne(node, e.add())
	ids := e.bear(&parent, 3)
	runs := e.claimRuns(node)
	e.end(runs[ids[0]], store.Completed)
	e.end(runs[ids[1]], store.Failed)
	e.end(runs[ids[2]], store.Completed)
	var before []store.Record
	for _, id := range ids {
		before = append(before, e.get(id))
	}
	e.end(parent, store.Completed, withChildren)
	e.clock.Advance(time.Minute)
	if closed := e.closeOnce(100); len(closed.Ended)+len(closed.Running) != 0 || closed.More {
		e.Fatalf("closed: %+v", closed)
	}
	for i, id := range ids {
		e.equal("record", e.get(id), before[i])
	}
}

func closeGoesOn(e *env) {
	node := e.join()
	run := e.claimOne(node, e.add(attempts(9), queue("parents")))
	id := e.bear(&run, 1, delay(100*time.Hour))[0]
	for _, state := range []store.State{store.Retryable, store.Scheduled, store.Available, store.Waiting} {
		e.end(run, state, withChildren, func(o *store.Outcome) {
			if state == store.Waiting {
				o.Wait = &store.Wait{Until: e.clock.Now().Add(time.Minute)}
			}
		})
		if closed := e.closeOnce(100); len(closed.Ended)+len(closed.Running) != 0 {
			e.Fatalf("the parent is %v: %+v", state, closed)
		}
		e.wantState(id, store.Scheduled)
		e.later(node, time.Minute)
		run = e.claimOne(node, run.Job.ID)
	}
	e.end(run, store.Completed, withChildren)
	e.wantSameIDs("closed", e.closeChildren(1), id)
}

// closeResumed: Reading: a parent that goes on has not finished, whatever it was when somebody should have looked.
func closeResumed(e *env) {
	node := e.join()
	for _, resumed := range []bool{true, false} {
		run := e.claimOne(node, e.add(queue("parents")))
		id := e.bear(&run, 1, delay(100*time.Hour))[0]
		e.end(run, store.Failed, withChildren)
		if resumed {
			e.resume(resumption(run.Job.ID), store.Available)
		} else {
			e.retry(run.Job.ID)
		}
		if closed := e.closeOnce(100); len(closed.Ended)+len(closed.Running) != 0 {
			e.Fatalf("closed: %+v", closed)
		}
		e.wantState(id, store.Scheduled)
		run = e.claimOne(node, run.Job.ID)
		e.end(run, store.Failed, withChildren)
		e.wantSameIDs("closed", e.closeChildren(100), id)
	}
}

func closeRemoved(e *env) {
	node := e.join()
	run := e.claimOne(node, e.add())
	id := e.bear(&run, 1, delay(1000*time.Hour))[0]
	e.end(run, store.Completed, withChildren)
	e.clock.Advance(time.Hour + slack)
	if n := e.retain(store.RetainParams{Completed: time.Hour, Limit: 100}); n != 1 {
		e.Fatalf("removed %d jobs", n)
	}
	e.wantSameIDs("closed", e.closeChildren(100), id)
	e.wantState(id, store.Cancelled)
}
