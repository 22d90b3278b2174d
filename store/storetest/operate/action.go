package operate

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// What people did, as a record tells it.
var actionTests = env.Tests{
	"who_did_what_and_why_is_recorded":                actionKinds,
	"a_request_that_changes_nothing_leaves_no_action": actionOnce,
	"what_follows_is_nobodys_action":                  actionFollows,
	"what_no_person_asked_for_is_no_action":           actionUnrecorded,
	"a_record_tells_of_the_last_actions":              actionBound,
}

// wantActions checks what people did to a job, of which the last was done now.
func wantActions(e *env.Env, id store.ID, want ...store.Action) {
	e.Helper()
	got := e.Get(id).Actions
	if n := len(got); n > 0 && !got[n-1].At.Equal(e.Clock.Now()) {
		e.Fatalf("the last action was at %v, want now: %v", got[n-1].At, e.Clock.Now())
	}
	for i := range got {
		got[i].At = time.Time{}
	}
	e.Equal("actions", got, want)
}

func by(kind store.ActionKind, reason string) store.Action {
	return store.Action{Kind: kind, Actor: "ada", Reason: reason}
}

func actionKinds(e *env.Env) {
	var (
		cancelled  = by(store.ActionCancel, "not needed")
		terminated = by(store.ActionTerminate, "enough")
		retried    = by(store.ActionRetry, "once more")
		paused     = by(store.ActionPause, "look first")
		resumed    = by(store.ActionResume, "fixed")
		forked     = by(store.ActionFork, "what if")
	)
	id := e.Add(env.Delay(time.Hour))
	wantActions(e, id)
	e.Retry(id)
	wantActions(e, id, retried)
	e.Clock.Advance(time.Second)
	e.Cancel(id)
	wantActions(e, id, retried, cancelled)
	e.Clock.Advance(time.Second)
	e.Retry(id)
	wantActions(e, id, retried, cancelled, retried)

	run := e.ClaimOne(e.Join(), id)
	e.TryPause(id)
	e.GoOn(id)
	wantActions(e, id, retried, cancelled, retried, paused, resumed)
	e.Terminate(id)
	wantActions(e, id, retried, cancelled, retried, paused, resumed, terminated)
	e.GoOn(id)
	e.TryPause(id)
	wantActions(e, id, retried, cancelled, retried, paused, resumed, terminated, resumed, paused)
	e.GoOn(id)
	e.Terminate(id)
	wantActions(e, id, retried, cancelled, retried, paused, resumed, terminated, resumed, paused, resumed, terminated)

	running := e.ClaimOne(run.Lease.Node, e.Add())
	e.Cancel(running.Job.ID)
	wantActions(e, running.Job.ID, cancelled)
	durable := e.Durable(2)
	e.Park(durable, env.ForSignals())
	e.Cancel(durable.Job.ID)
	wantActions(e, durable.Job.ID, cancelled)

	fork := e.Fork(durable.Job.ID, 1)
	wantActions(e, fork, forked)
	wantActions(e, durable.Job.ID, cancelled)
	for _, r := range e.List(store.Filter{}, 100) {
		if len(r.Actions) > 0 {
			e.Fatalf("a list tells of actions: %+v", r)
		}
	}
}

// actionOnce: what was asked before, and what has finished, is left as it is.
func actionOnce(e *env.Env) {
	node := e.Join()
	available := e.Add()
	e.Retry(available)
	wantActions(e, available)
	run := e.ClaimOne(node, available)
	if r := e.TryRetry(available); r.Err == nil {
		e.Fatal("a running job is retried")
	}
	for range 2 {
		e.Cancel(available)
		e.TryPause(available)
	}
	want := []store.Action{by(store.ActionCancel, "not needed"), by(store.ActionPause, "look first")}
	wantActions(e, available, want...)
	e.End(run, store.Completed)
	e.Cancel(available)
	e.Terminate(available)
	e.TryPause(available)
	if r := e.TryRetry(available); r.Err == nil {
		e.Fatal("a completed job is retried")
	}
	e.WantNoResume(env.Resumption(available), store.ErrConflict)
	wantActions(e, available, want...)
	held := e.Held()
	for range 2 {
		e.TryPause(held.Job.ID)
	}
	wantActions(e, held.Job.ID)
}

// actionFollows: that a request is applied later, that children are closed, and that jobs are
// rescued, promoted and finished.
func actionFollows(e *env.Env) {
	run := e.Started(env.Attempts(5))
	children := e.Bear(&run, 2, env.Delay(time.Hour))
	terminated := e.Bear(&run, 1, env.Delay(time.Hour), env.OnParentClose(store.TerminateChild))
	children = append(children, terminated...)
	e.Cancel(run.Job.ID)
	want := by(store.ActionCancel, "not needed")
	wantActions(e, run.Job.ID, want)
	asked := e.Clock.Now()
	e.Clock.Advance(env.DeadAfter + time.Second)
	e.Rescue()
	e.Sweep()
	node := e.Join()
	again := e.ClaimOne(node, run.Job.ID)
	e.End(again, store.Cancelled, env.WithChildren)
	e.CloseChildren(10)
	want.At = asked
	e.Equal("actions", e.Get(run.Job.ID).Actions, []store.Action{want})
	for _, id := range children {
		e.WantState(id, store.Cancelled)
		wantActions(e, id)
	}
}

func actionUnrecorded(e *env.Env) {
	for _, terminate := range []bool{false, true} {
		run, durable, plain := e.Started(), e.Durable(1), e.Add()
		ids := []store.ID{run.Job.ID, durable.Job.ID, plain}
		_, _, err := e.Store.Cancel(e.Ctx, store.CancelParams{Jobs: ids, Reason: "why", Actor: "a run", Terminate: terminate, Unrecorded: true})
		e.NoError("Cancel", err)
		if !terminate {
			if cancels := e.Beat(run.Lease.Node).Cancels; len(cancels) != 1 || cancels[0].Reason != "why" {
				e.Fatalf("the node is asked: %+v", cancels)
			}
		}
		e.WantState(plain, store.Cancelled)
		for _, id := range ids {
			wantActions(e, id)
			e.Terminate(id)
		}
	}
}

func actionBound(e *env.Env) {
	id := e.Add()
	for range store.ActionBound/2 + 1 {
		e.Clock.Advance(time.Second)
		e.TryPause(id)
		e.GoOn(id)
	}
	got := e.Get(id).Actions
	if len(got) != store.ActionBound || got[0].Kind != store.ActionPause || !got[0].At.Equal(env.Start.Add(2*time.Second)) ||
		got[len(got)-1].Kind != store.ActionResume || !got[len(got)-1].At.Equal(e.Clock.Now()) {
		e.Fatalf("%d actions, from %+v", len(got), got[0])
	}
}
