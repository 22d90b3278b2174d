package durable

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// A job that remembers is not cancelled at once: its run is told, and ends the job in order.
var cancelDurableTests = env.Tests{
	"CancelArrives_at_a_durable_job_in_every_state":        cancelDurableStates,
	"a_sweep_applies_what_no_run_can_answer_and_counts_it": cancelDurableSwept,
	"a_job_that_has_not_begun_is_cancelled_at_once":        cancelNotBegun,
	"a_second_request_is_recorded_if_it_ends_the_job":      cancelDurableAgain,
}

// begun is a run of a job that remembers.
func begun(e *env.Env, node int64) store.Claimed {
	e.Helper()
	run := e.ClaimOne(node, e.Add())
	e.Write(&run, env.Step(1))
	return run
}

// rests are the ways in which a job that remembers may rest: each ends a run of it.
var rests = map[string]func(*env.Env, store.Claimed){
	"scheduled": func(e *env.Env, run store.Claimed) { e.End(run, store.Scheduled) },
	"retryable": func(e *env.Env, run store.Claimed) { e.End(run, store.Retryable) },
	"available": func(e *env.Env, run store.Claimed) { e.End(run, store.Available) },
	"waiting":   func(e *env.Env, run store.Claimed) { e.Park(run, env.ForSignals()) },
	"held":      func(e *env.Env, run store.Claimed) { e.Park(run, &store.Wait{Held: true}) },
	"paused": func(e *env.Env, run store.Claimed) {
		e.End(run, store.Scheduled)
		e.PauseJob(run.Job.ID, store.Waiting)
	},
}

func cancelDurableStates(e *env.Env) {
	node := e.Join()
	for what, rest := range rests {
		run := begun(e, node)
		rest(e, run)
		before := e.Get(run.Job.ID)
		e.Clock.Advance(time.Second)
		e.Equal("answers of the cancel of a job that is "+what, e.Cancel(run.Job.ID), []store.State{store.Available})
		record := e.Get(run.Job.ID)
		if record.State != store.Available || !record.FinishedAt.IsZero() || record.Wait != nil || record.Attempt != before.Attempt {
			e.Fatalf("%s: %+v", what, record)
		}
		if what != "available" && !record.RunAt.Equal(e.Clock.Now()) {
			e.Fatalf("%s: it is due at %v", what, record.RunAt)
		}
		e.Equal("answers of the second cancel", e.Cancel(run.Job.ID), []store.State{store.Available})
		if n := e.Sweep(); n != 0 {
			e.Fatalf("%s: the sweep applied %d requests", what, n)
		}
		next := e.WantCancelTold(node, run.Job.ID)
		e.Write(&next, env.Step(2))
		e.EndAs(store.Cancelled, next, store.Cancelled, func(o *store.Outcome) { o.Error = next.CancelReason })
		if record := e.Get(run.Job.ID); record.State != store.Cancelled || record.Error != "not needed" || record.CancelRequested {
			e.Fatalf("%s: %+v", what, record)
		}
		e.WantEntries(run.Job.ID, 2)
	}
}

// cancelDurableSwept: jobs whose journals a person takes away have nothing with which they could
// end themselves. The sweep does, and counts them once.
func cancelDurableSwept(e *env.Env) {
	var asked []store.ID
	for range 3 {
		run := e.Parked(env.ForSignals())
		asked = append(asked, run.Job.ID)
	}
	e.Cancel(asked...)
	for i, id := range asked[:2] { // of the second one an entry stays
		e.PauseJob(id, store.Waiting)
		e.Resume(env.Cut(id, int64(i)), store.Available)
	}
	if n := e.Sweep(); n != 1 {
		e.Fatalf("the sweep applied %d requests, want 1", n)
	}
	e.WantState(asked[0], store.Cancelled)
	e.WantState(asked[1], store.Available)
	e.WantState(asked[2], store.Available)
	if n := e.Sweep(); n != 0 {
		e.Fatalf("the second sweep applied %d requests", n)
	}
}

// cancelDurableAgain: a request that changes nothing is not recorded. If a person has taken the
// journal away since the first one, the second one ends the job, and is.
func cancelDurableAgain(e *env.Env) {
	id := e.Parked(env.ForSignals()).Job.ID
	e.Equal("answers", e.Cancel(id, id), []store.State{store.Available, store.Available})
	e.PauseJob(id, store.Waiting)
	e.Resume(env.Cut(id, 0), store.Available)
	e.Equal("answers", e.Cancel(id, id), []store.State{store.Cancelled, store.Cancelled})
	var kinds []store.ActionKind
	for _, a := range e.Get(id).Actions {
		kinds = append(kinds, a.Kind)
	}
	e.Equal("what people did", kinds, []store.ActionKind{store.ActionCancel, store.ActionPause, store.ActionResume, store.ActionCancel})
}

func cancelNotBegun(e *env.Env) {
	run := e.Started()
	e.End(run, store.Retryable)
	if states := e.Cancel(run.Job.ID); states[0] != store.Cancelled {
		e.Fatalf("a job without a journal is %v", states[0])
	}
	// A job that is paused before its first run has not begun, and neither has one that a person
	// sent back to the beginning.
	id := e.Add()
	e.PauseJob(id, store.Waiting)
	back := e.Durable(2)
	e.Park(back, &store.Wait{Held: true})
	e.Resume(env.Cut(back.Job.ID, 0), store.Available)
	e.Equal("answers", e.Cancel(id, back.Job.ID), []store.State{store.Cancelled, store.Cancelled})
	if record := e.Get(id); record.State != store.Cancelled || record.Wait != nil || record.Error != "not needed" {
		e.Fatalf("record: %+v", record)
	}
}
