package storetest

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
)

var cancelTests = []test{
	{"a_job_that_does_not_run_is_cancelled_at_once", cancelWaiting},
	{"CancelArrives_with_every_beat_until_the_run_ends", cancelArrives},
	{"CancelArrives_when_the_run_would_go_on", cancelConverts},
	{"CancelArrives_when_the_node_leaves", cancelLeave},
	{"CancelArrives_when_the_node_dies", cancelRescue},
	{"a_handler_that_has_finished_wins_over_a_late_cancel", cancelLate},
	{"FinishedIsFinal_a_request_ends_with_the_run_it_was_for", cancelRequestEnds},
	{"cancel_answers_in_the_order_asked", cancelAnswers},
	{"a_cancel_goes_before_a_deadline", cancelBeforeDeadline},
}

func cancelWaiting(e *env) {
	node := e.join()
	scheduled := e.add(delay(time.Hour))
	retryable := e.claimOne(node, e.add())
	e.end(retryable, store.Retryable)
	available := e.add()
	e.clock.Advance(time.Second)
	ids := []store.ID{available, scheduled, retryable.Job.ID}
	e.equal("states", e.cancel(ids...), []store.State{store.Cancelled, store.Cancelled, store.Cancelled})
	for i, id := range ids {
		record := e.get(id)
		if record.State != store.Cancelled || record.Reason != store.ReasonCancelled || record.Error != "not needed" ||
			!record.FinishedAt.Equal(e.clock.Now()) || record.CancelRequested {
			e.Fatalf("cancelled job: %+v", record)
		}
		// No run ended, so none is recorded or counted.
		if want := i / 2; len(record.Attempts) != want || record.Attempt != want {
			e.Fatalf("cancelled job has attempt %d and %d records", record.Attempt, len(record.Attempts))
		}
		e.equal("ended", e.ended(id), []store.Ended{{ID: id, State: store.Cancelled, Reason: store.ReasonCancelled, Error: "not needed"}})
	}
	e.clock.Advance(2 * time.Hour)
	e.beat(node)
	e.wantNothing(node)
}

func cancelArrives(e *env) {
	node, other := e.join(), e.join()
	e.enqueue(e.job(), e.job(), e.job())
	runs := e.claim(node, 3)
	if beat := e.beat(node); len(beat.Cancels) != 0 {
		e.Fatalf("beat: %+v", beat)
	}
	asked := e.clock.Now()
	e.equal("states", e.cancel(runs[0].Job.ID, runs[2].Job.ID), []store.State{store.Running, store.Running})
	if record := e.get(runs[0].Job.ID); record.State != store.Running || !record.CancelRequested {
		e.Fatalf("record: %+v", record)
	}
	if e.get(runs[1].Job.ID).CancelRequested {
		e.Fatal("a job that nobody asked to cancel says so")
	}
	want := func(ids ...store.ID) {
		e.Helper()
		e.clock.Advance(time.Second)
		cancels := e.beat(node).Cancels
		if len(cancels) != len(ids) {
			e.Fatalf("the beat brings %d cancels, want %d", len(cancels), len(ids))
		}
		for _, id := range ids {
			found := false
			for _, c := range cancels {
				found = found || c.Job == id && c.Reason == "not needed" && c.Actor == "ada" && c.At.Equal(asked)
			}
			if !found {
				e.Fatalf("no cancel of %v among %+v", id, cancels)
			}
		}
		if beat := e.beat(other); len(beat.Cancels) != 0 {
			e.Fatalf("another node is told: %+v", beat.Cancels)
		}
	}
	want(runs[0].Job.ID, runs[2].Job.ID)
	want(runs[0].Job.ID, runs[2].Job.ID)
	e.end(runs[0], store.Cancelled)
	want(runs[2].Job.ID)
	e.end(runs[2], store.Completed)
	want()
}

// cancelConverts: a run that was asked to stop and would go on later is cancelled, with the words of who asked.
func cancelConverts(e *env) {
	for _, state := range []store.State{store.Retryable, store.Scheduled, store.Available} {
		run := e.started()
		e.cancel(run.Job.ID)
		o := e.end(run, state)
		record := e.get(run.Job.ID)
		if o.Final != store.Cancelled || record.State != store.Cancelled || record.Reason != store.ReasonCancelled ||
			record.Error != "not needed" || record.CancelRequested || record.Attempt != 1 {
			e.Fatalf("%v became %v: %+v", state, o.Final, record)
		}
		if len(record.Attempts) != 1 || record.Attempts[0].Outcome != store.Cancelled || record.Attempts[0].Reason != store.ReasonCancelled {
			e.Fatalf("attempts: %+v", record.Attempts)
		}
		if n := e.sweep(); n != 0 {
			e.Fatalf("the sweep applied %d requests to nothing", n)
		}
		e.clock.Advance(time.Hour)
		e.wantNothing(e.join())
	}
}

// cancelLeave: Reading: a node that leaves gives its jobs back, and those that were to be cancelled are; at once, or
// when the next sweep comes.
func cancelLeave(e *env) {
	run := e.started()
	e.cancel(run.Job.ID)
	e.leave(run.Lease.Node)
	e.sweep()
	if record := e.get(run.Job.ID); record.State != store.Cancelled || record.Error != "not needed" {
		e.Fatalf("record: %+v", record)
	}
	e.wantNothing(e.join())
}

func cancelRescue(e *env) {
	for _, left := range []int{1, 3} { // also if no attempt is left
		e.cancelAndRescue(e.started(attempts(left)))
	}
}

func (e *env) cancelAndRescue(run store.Claimed) {
	e.Helper()
	e.cancel(run.Job.ID)
	e.clock.Advance(deadAfter + time.Second)
	rescued := e.rescue()
	e.sweep()
	record := e.get(run.Job.ID)
	if record.State != store.Cancelled || record.Reason != store.ReasonCancelled || record.Error != "not needed" {
		e.Fatalf("record: %+v", record)
	}
	if len(rescued) != 1 || rescued[0].State != store.Cancelled || rescued[0].Reason != store.ReasonCancelled {
		e.Fatalf("rescued: %+v", rescued)
	}
	e.clock.Advance(time.Hour)
	e.wantNothing(e.join())
}

func cancelLate(e *env) {
	for _, state := range []store.State{store.Completed, store.Failed} {
		run := e.started()
		e.cancel(run.Job.ID)
		if o := e.end(run, state); o.Final != state {
			e.Fatalf("%v became %v", state, o.Final)
		}
		e.sweep()
		record := e.get(run.Job.ID)
		if record.State != state || record.CancelRequested {
			e.Fatalf("record: %+v", record)
		}
		// Reading: ErrConflict is not for this: the state alone says that the job had finished.
		if got := e.cancel(run.Job.ID)[0]; got != state {
			e.Fatalf("cancel of a finished job says %v", got)
		}
		e.equal("record after the cancel", e.get(run.Job.ID), record)
	}
}

// cancelRequestEnds: the request was for the run that failed. A person who lets the job run again does not want it
// cancelled by what was asked before.
func cancelRequestEnds(e *env) {
	run := e.started()
	e.cancel(run.Job.ID)
	e.end(run, store.Failed)
	e.retry(run.Job.ID)
	if n := e.sweep(); n != 0 {
		e.Fatalf("the sweep applied %d requests", n)
	}
	e.wantState(run.Job.ID, store.Available)
	again := e.claimOne(run.Lease.Node, run.Job.ID)
	if again.CancelRequested || e.get(run.Job.ID).CancelRequested || len(e.beat(run.Lease.Node).Cancels) != 0 {
		e.Fatal("the retried job is asked to stop")
	}
	if o := e.end(again, store.Retryable); o.Final != store.Retryable {
		e.Fatalf("the retried job became %v", o.Final)
	}
}

func cancelAnswers(e *env) {
	running := e.started()
	done := e.started()
	e.end(done, store.Completed)
	waiting, unknown := e.add(), e.ids.next()
	ids := []store.ID{unknown, waiting, running.Job.ID, done.Job.ID, waiting}
	results, err := e.store.Cancel(e.ctx, store.CancelParams{Jobs: ids, Reason: "r", Actor: "a"})
	if err != nil || len(results) != len(ids) {
		e.Fatalf("%d results, %v", len(results), err)
	}
	want := []store.State{0, store.Cancelled, store.Running, store.Completed, store.Cancelled}
	for i, r := range results {
		if r.Job != ids[i] || r.State != want[i] {
			e.Fatalf("answer %d is %+v, want %v to be %v", i, r, ids[i], want[i])
		}
		if i == 0 {
			e.wantErr("cancel of an unknown job", r.Err, store.ErrNotFound)
		} else if r.Err != nil {
			e.Fatalf("answer %d is %v", i, r.Err)
		}
	}
	if results, err := e.store.Cancel(e.ctx, store.CancelParams{}); err != nil || len(results) != 0 {
		e.Fatalf("cancel of nothing: %v, %v", results, err)
	}
}

// cancelBeforeDeadline: both would end the run; what a person said is what is kept.
func cancelBeforeDeadline(e *env) {
	run := e.started(func(q *store.Enqueue) { q.Job.Options.Deadline = e.clock.Now().Add(time.Minute) })
	e.cancel(run.Job.ID)
	e.end(run, store.Retryable, func(o *store.Outcome) { o.Delay = time.Hour })
	if record := e.get(run.Job.ID); record.State != store.Cancelled || record.Error != "not needed" {
		e.Fatalf("record: %+v", record)
	}
}
