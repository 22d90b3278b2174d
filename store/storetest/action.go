package storetest

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// What people did, as a record tells it.
var actionTests = []test{
	{"who_did_what_and_why_is_recorded", actionKinds},
	{"a_request_that_changes_nothing_leaves_no_action", actionOnce},
	{"what_follows_is_nobodys_action", actionFollows},
	{"a_record_tells_of_the_last_actions", actionBound},
}

// wantActions checks what people did to a job, of which the last was done now.
func (e *env) wantActions(id store.ID, want ...store.Action) {
	e.Helper()
	got := e.get(id).Actions
	if n := len(got); n > 0 && !got[n-1].At.Equal(e.clock.Now()) {
		e.Fatalf("the last action was at %v, want now: %v", got[n-1].At, e.clock.Now())
	}
	for i := range got {
		got[i].At = time.Time{}
	}
	e.equal("actions", got, want)
}

func by(kind store.ActionKind, reason string) store.Action {
	return store.Action{Kind: kind, Actor: "ada", Reason: reason}
}

// goOn resumes a job, whatever it is then.
func (e *env) goOn(id store.ID) {
	e.Helper()
	if _, err := e.store.Resume(e.ctx, resumption(id)); err != nil {
		e.Fatalf("Resume: %v", err)
	}
}

func actionKinds(e *env) {
	var (
		cancelled  = by(store.ActionCancel, "not needed")
		terminated = by(store.ActionTerminate, "enough")
		retried    = by(store.ActionRetry, "")
		paused     = by(store.ActionPause, "look first")
		resumed    = by(store.ActionResume, "fixed")
		forked     = by(store.ActionFork, "what if")
	)
	id := e.add(delay(time.Hour))
	e.wantActions(id)
	e.retry(id)
	e.wantActions(id, retried)
	e.clock.Advance(time.Second)
	e.cancel(id)
	e.wantActions(id, retried, cancelled)
	e.clock.Advance(time.Second)
	e.retry(id)
	e.wantActions(id, retried, cancelled, retried)

	run := e.claimOne(e.join(), id)
	e.tryPause(id)
	e.goOn(id)
	e.wantActions(id, retried, cancelled, retried, paused, resumed)
	e.terminate(id)
	e.wantActions(id, retried, cancelled, retried, paused, resumed, terminated)
	e.goOn(id)
	e.tryPause(id)
	e.wantActions(id, retried, cancelled, retried, paused, resumed, terminated, resumed, paused)
	e.goOn(id)
	e.terminate(id)
	e.wantActions(id, retried, cancelled, retried, paused, resumed, terminated, resumed, paused, resumed, terminated)

	running := e.claimOne(run.Lease.Node, e.add())
	e.cancel(running.Job.ID)
	e.wantActions(running.Job.ID, cancelled)
	durable := e.durable(2)
	e.park(durable, forSignals())
	e.cancel(durable.Job.ID)
	e.wantActions(durable.Job.ID, cancelled)

	fork := e.fork(durable.Job.ID, 1)
	e.wantActions(fork, forked)
	e.wantActions(durable.Job.ID, cancelled)
	for _, r := range e.list(store.Filter{}, 100) {
		if len(r.Actions) > 0 {
			e.Fatalf("a list tells of actions: %+v", r)
		}
	}
}

// actionOnce: what was asked before, and what has finished, is left as it is.
func actionOnce(e *env) {
	node := e.join()
	available := e.add()
	e.retry(available)
	e.wantActions(available)
	run := e.claimOne(node, available)
	if r := e.tryRetry(available); r.Err == nil {
		e.Fatal("a running job is retried")
	}
	for range 2 {
		e.cancel(available)
		e.tryPause(available)
	}
	want := []store.Action{by(store.ActionCancel, "not needed"), by(store.ActionPause, "look first")}
	e.wantActions(available, want...)
	e.end(run, store.Completed)
	e.cancel(available)
	e.terminate(available)
	e.tryPause(available)
	if r := e.tryRetry(available); r.Err == nil {
		e.Fatal("a completed job is retried")
	}
	e.wantNoResume(resumption(available), store.ErrConflict)
	e.wantActions(available, want...)
	held := e.held()
	for range 2 {
		e.tryPause(held.Job.ID)
	}
	e.wantActions(held.Job.ID)
}

// actionFollows: that a request is applied later, that children are closed, and that jobs are rescued, promoted and finished.
func actionFollows(e *env) {
	run := e.started(attempts(5))
	children := e.bear(&run, 2, delay(time.Hour))
	terminated := e.bear(&run, 1, delay(time.Hour), onParentClose(store.TerminateChild))
	children = append(children, terminated...)
	e.cancel(run.Job.ID)
	want := by(store.ActionCancel, "not needed")
	e.wantActions(run.Job.ID, want)
	asked := e.clock.Now()
	e.clock.Advance(deadAfter + time.Second)
	e.rescue()
	e.sweep()
	node := e.join()
	again := e.claimOne(node, run.Job.ID)
	e.end(again, store.Cancelled, withChildren)
	e.closeChildren(10)
	want.At = asked
	e.equal("actions", e.get(run.Job.ID).Actions, []store.Action{want})
	for _, id := range children {
		e.wantState(id, store.Cancelled)
		e.wantActions(id)
	}
}

func actionBound(e *env) {
	id := e.add()
	for range store.ActionBound/2 + 1 {
		e.clock.Advance(time.Second)
		e.tryPause(id)
		e.goOn(id)
	}
	got := e.get(id).Actions
	if len(got) != store.ActionBound || got[0].Kind != store.ActionPause || !got[0].At.Equal(Start.Add(2*time.Second)) ||
		got[len(got)-1].Kind != store.ActionResume || !got[len(got)-1].At.Equal(e.clock.Now()) {
		e.Fatalf("%d actions, from %+v", len(got), got[0])
	}
}
