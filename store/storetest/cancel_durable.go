package storetest

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// A job that remembers is not cancelled under its feet: its run is told, and ends it in order.
var cancelDurableTests = []test{
	{"CancelArrives_at_a_durable_job_in_every_state", cancelDurableStates},
	{"CancelArrives_at_the_next_run_if_this_one_would_go_on", cancelDurableConverts},
	{"CancelArrives_though_runs_are_lost", cancelDurableLost},
	{"a_sweep_applies_what_no_run_can_answer_and_counts_it", cancelDurableSwept},
	{"CancelArrives_the_sweep_leaves_the_request_alone", cancelDurableSweep},
	{"a_job_that_has_not_begun_is_cancelled_at_once", cancelNotBegun},
	{"FinishedIsFinal_the_request_ends_with_the_job", cancelDurableEnds},
	{"Order_a_cancelled_durable_job_waits_for_its_turn", cancelDurableOrder},
}

// wantCancelTold claims a job, whose run must be told that it was cancelled, and why.
func (e *env) wantCancelTold(node int64, id store.ID) store.Claimed {
	e.Helper()
	run := e.claimOne(node, id)
	if !run.CancelRequested || run.CancelReason != "not needed" || !run.Durable {
		e.Fatalf("the run after the cancel: %+v", run)
	}
	cancels := e.beat(node).Cancels
	if len(cancels) != 1 || cancels[0].Job != id || cancels[0].Reason != "not needed" || cancels[0].Actor != "ada" {
		e.Fatalf("the beat brings %+v", cancels)
	}
	return run
}

func cancelDurableStates(e *env) {
	node := e.join()
	begun := func() store.Claimed {
		e.Helper()
		run := e.claimOne(node, e.add())
		e.write(&run, step(1))
		return run
	}
	for what, put := range map[string]func(store.Claimed){
		"scheduled": func(run store.Claimed) { e.end(run, store.Scheduled) },
		"retryable": func(run store.Claimed) { e.end(run, store.Retryable) },
		"available": func(run store.Claimed) { e.end(run, store.Available) },
		"waiting":   func(run store.Claimed) { e.park(run, forSignals()) },
		"held":      func(run store.Claimed) { e.park(run, &store.Wait{Held: true}) },
		"paused":    func(run store.Claimed) { e.end(run, store.Scheduled); e.pauseJob(run.Job.ID, store.Waiting) },
	} {
		run := begun()
		put(run)
		before := e.get(run.Job.ID)
		e.clock.Advance(time.Second)
		e.equal("answers of the cancel of a job that is "+what, e.cancel(run.Job.ID), []store.State{store.Available})
		record := e.get(run.Job.ID)
		if record.State != store.Available || !record.FinishedAt.IsZero() || record.Wait != nil || record.Attempt != before.Attempt {
			e.Fatalf("%s: %+v", what, record)
		}
		if what != "available" && !record.RunAt.Equal(e.clock.Now()) {
			e.Fatalf("%s: it is due at %v", what, record.RunAt)
		}
		e.equal("answers of the second cancel", e.cancel(run.Job.ID), []store.State{store.Available})
		next := e.wantCancelTold(node, run.Job.ID)
		e.write(&next, step(2))
		if o := e.end(next, store.Cancelled, func(o *store.Outcome) { o.Error = next.CancelReason }); o.Final != store.Cancelled {
			e.Fatalf("%s: it ended as %v", what, o.Final)
		}
		if record := e.get(run.Job.ID); record.State != store.Cancelled || record.Error != "not needed" || record.CancelRequested {
			e.Fatalf("%s: %+v", what, record)
		}
		e.wantEntries(run.Job.ID, 2)
	}
}

func cancelDurableConverts(e *env) {
	for _, state := range []store.State{store.Retryable, store.Scheduled, store.Available, store.Waiting} {
		run := e.durable(1)
		e.equal("answers", e.cancel(run.Job.ID), []store.State{store.Running})
		if record := e.get(run.Job.ID); record.State != store.Running || !record.CancelRequested {
			e.Fatalf("record: %+v", record)
		}
		o := e.end(run, state)
		record := e.get(run.Job.ID)
		if o.Final != store.Available || record.State != store.Available || !record.RunAt.Equal(e.clock.Now()) || record.Wait != nil {
			e.Fatalf("%v became %v: %+v", state, o.Final, record)
		}
		// Reading: what the run did is counted and recorded as its outcome says.
		counted, recorded := 0, 1
		if state == store.Retryable {
			counted = 1
		}
		if state == store.Waiting {
			recorded = 0
		}
		if record.Attempt != counted || len(record.Attempts) != recorded {
			e.Fatalf("%v: attempt %d, recorded %+v", state, record.Attempt, record.Attempts)
		}
		next := e.wantCancelTold(run.Lease.Node, run.Job.ID)
		// The end takes several runs.
		if o := e.end(next, state); o.Final != store.Available {
			e.Fatalf("%v became %v", state, o.Final)
		}
		next = e.wantCancelTold(run.Lease.Node, run.Job.ID)
		if o := e.end(next, store.Completed); o.Final != store.Completed {
			e.Fatalf("completed became %v", o.Final)
		}
	}
	// A park that nothing wakes, and a deadline, do not come before it.
	run := e.durable(1, func(q *store.Enqueue) { q.Job.Options.Deadline = e.clock.Now().Add(time.Minute) })
	e.cancel(run.Job.ID)
	if o := e.end(run, store.Retryable, func(o *store.Outcome) { o.Delay = time.Hour }); o.Final != store.Available {
		e.Fatalf("retryable after its deadline became %v", o.Final)
	}
	run = e.wantCancelTold(run.Lease.Node, run.Job.ID)
	if o := e.park(run, &store.Wait{Held: true}); o.Final != store.Available {
		e.Fatalf("held became %v", o.Final)
	}
	e.wantCancelTold(run.Lease.Node, run.Job.ID)
}

// cancelDurableSwept: jobs whose journals a person takes away have nothing with which they could end themselves. The sweep does, and counts
// them once.
func cancelDurableSwept(e *env) {
	var asked []store.ID
	for range 3 {
		run := e.parked(forSignals())
		asked = append(asked, run.Job.ID)
	}
	e.cancel(asked...)
	for i, id := range asked[:2] {
		e.pauseJob(id, store.Waiting)
		params := resumption(id)
		params.Keep = int64(i) // of the second one an entry stays
		e.resume(params, store.Available)
	}
	if n := e.sweep(); n != 1 {
		e.Fatalf("the sweep applied %d requests, want 1", n)
	}
	e.wantState(asked[0], store.Cancelled)
	e.wantState(asked[1], store.Available)
	e.wantState(asked[2], store.Available)
	if n := e.sweep(); n != 0 {
		e.Fatalf("the second sweep applied %d requests", n)
	}
}

func cancelDurableLost(e *env) {
	const most = 4
	run := e.durable(1, attempts(most))
	e.cancel(run.Job.ID)
	e.leave(run.Lease.Node)
	e.sweep()
	e.wantState(run.Job.ID, store.Available)
	// A job that kills its nodes while it ends itself does so as slowly, and as seldom, as any
	// other.
	for attempt := 1; attempt < most; attempt++ {
		run = e.wantCancelTold(e.join(), run.Job.ID)
		due := e.clock.Now()
		if attempt > 1 {
			due = due.Add(rescueBackoff)
		}
		if r := e.lose(run); r.State != store.Retryable || r.Reason != store.ReasonNodeLost || !r.RunAt.Equal(due) {
			e.Fatalf("attempt %d was lost: %+v, want it due at %v", attempt, r, due)
		}
		if n := e.sweep(); n != 0 {
			e.Fatalf("the sweep applied %d requests", n)
		}
		record := e.get(run.Job.ID)
		if record.State != store.Retryable || record.Attempt != attempt || len(record.Attempts) != attempt+1 || !record.RunAt.Equal(due) {
			e.Fatalf("record: %+v", record)
		}
		e.clock.Set(due)
	}
	run = e.wantCancelTold(e.join(), run.Job.ID)
	if r := e.lose(run); r.State != store.Failed || r.Reason != store.ReasonCrashLoop {
		e.Fatalf("the last attempt was lost: %+v", r)
	}
	if record := e.get(run.Job.ID); record.State != store.Failed || record.CancelRequested || e.sweep() != 0 {
		e.Fatalf("record: %+v", record)
	}
}

func cancelDurableSweep(e *env) {
	run := e.durable(1)
	e.park(run, &store.Wait{Held: true})
	e.cancel(run.Job.ID)
	for range 3 {
		if n := e.sweep(); n != 0 {
			e.Fatalf("the sweep applied %d requests", n)
		}
		e.clock.Advance(time.Hour)
	}
	e.wantState(run.Job.ID, store.Available)
	node := e.join()
	run = e.wantCancelTold(node, run.Job.ID)
	e.sweep()
	e.end(run, store.Available)
	e.sweep()
	e.wantCancelTold(node, run.Job.ID)
}

func cancelNotBegun(e *env) {
	run := e.started()
	e.end(run, store.Retryable)
	if states := e.cancel(run.Job.ID); states[0] != store.Cancelled {
		e.Fatalf("a job without a journal is %v", states[0])
	}
	// Nor has one that is paused before its first run, or that a person sent back to the beginning.
	id := e.add()
	e.pauseJob(id, store.Waiting)
	back := e.durable(2)
	e.park(back, &store.Wait{Held: true})
	params := resumption(back.Job.ID)
	params.Keep = 0
	e.resume(params, store.Available)
	e.equal("answers", e.cancel(id, back.Job.ID), []store.State{store.Cancelled, store.Cancelled})
	if record := e.get(id); record.State != store.Cancelled || record.Wait != nil || record.Error != "not needed" {
		e.Fatalf("record: %+v", record)
	}
}

func cancelDurableEnds(e *env) {
	for _, state := range []store.State{store.Completed, store.Failed, store.Cancelled} {
		run := e.parked(forSignals())
		e.cancel(run.Job.ID)
		run = e.wantCancelTold(run.Lease.Node, run.Job.ID)
		if o := e.end(run, state); o.Final != state {
			e.Fatalf("%v became %v", state, o.Final)
		}
		if e.get(run.Job.ID).CancelRequested || e.sweep() != 0 {
			e.Fatal("a finished job is asked to stop")
		}
		if got := e.cancel(run.Job.ID)[0]; got != state {
			e.Fatalf("cancel of a finished job says %v", got)
		}
		if state == store.Completed {
			continue
		}
		// A person who lets the job run again does not want it cancelled by what was asked before.
		e.resume(resumption(run.Job.ID), store.Available)
		e.sweep()
		next := e.claimOne(run.Lease.Node, run.Job.ID)
		if next.CancelRequested || next.CancelReason != "" || len(e.beat(run.Lease.Node).Cancels) != 0 {
			e.Fatalf("the resumed job is asked to stop: %+v", next)
		}
		if o := e.end(next, store.Retryable); o.Final != store.Retryable {
			e.Fatalf("the resumed job became %v", o.Final)
		}
		e.terminate(run.Job.ID)
	}
}

func cancelDurableOrder(e *env) {
	node := e.join()
	// The first has the turn while it waits; a durable one behind it waits for the turn to end itself.
	first := e.claimOne(node, e.add(ordered("k")))
	e.write(&first, step(1))
	e.end(first, store.Failed)
	second := e.claimOne(node, e.add(ordered("k")))
	e.write(&second, step(1))
	e.retry(first.Job.ID)
	e.cancel(first.Job.ID)
	e.wantNothing(node)
	e.wantState(first.Job.ID, store.Available)
	e.park(second, forSignals())
	e.wantNothing(node)
	e.cancel(second.Job.ID)
	second = e.wantCancelTold(node, second.Job.ID)
	e.end(second, store.Cancelled)
	first = e.wantCancelTold(node, first.Job.ID)
	e.end(first, store.Cancelled)
}
