package depend

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// Jobs that are made to wait later, and what people do to those that wait.
var dependTests = env.Tests{
	"a_job_that_has_not_started_waits_from_then_on": dependAny,
	"one_that_has_started_does_not":                 dependStarted,
	"a_cycle_is_refused":                            dependCycle,
	"no_more_than_so_many_are_waited_for":           dependMany,
	"Order_the_turn_of_a_key_is_given_up":           dependTurn,
	"another_policy_replaces_the_first":             dependPolicy,
	"another_policy_counts_however_the_first_ended": dependPolicyLate,
	"another_policy_of_one_leaves_the_others":       dependPolicyOne,
	"a_child_comes_after_no_other":                  dependChild,
	"a_job_of_another_namespace_is_not_there":       dependSpaces,
	"a_person_lets_it_go_on_at_once":                dependResumed,
	"a_person_pauses_it_and_it_waits_on":            dependPaused,
	"a_person_cancels_it_and_it_waits_no_more":      dependCancelled,
	"a_person_edits_it":                             dependEdited,
	"a_fork_waits_like_any_other_job":               dependFork,
	"one_that_was_available_is_that_again":          dependClock,
}

func dependAny(e *env.Env) {
	node := e.Join()
	first := e.ClaimOne(node, e.Add())
	on := first.Job.ID
	now, later, paused := e.Add(), e.Add(env.Delay(time.Hour)), e.Add()
	e.PauseJob(paused, store.Waiting)
	e.Clock.Advance(time.Second)
	e.Depend(now, store.CancelIfFailed, store.Waiting, on)
	e.Depend(later, store.CancelIfFailed, store.Waiting, on)
	e.Depend(paused, store.CancelIfFailed, store.Waiting, on)
	e.WantAwaits(now, on)
	e.WantAwaits(later, on)
	if r := e.Get(paused); r.Wait.Reason != store.ReasonPaused {
		e.Fatalf("the job that a person has paused waits like this: %+v", r.Wait)
	}
	e.WantNothing(node)
	e.Resume(env.Resumption(paused), store.Waiting)
	e.WantAwaits(paused, on)
	done := e.Add(env.Queue("other"))
	e.End(e.ClaimOne(node, done), store.Completed)
	e.Depend(now, store.CancelIfFailed, store.Waiting, done)
	e.WantAwaits(now, on)
	e.End(first, store.Completed)
	e.CloseChildren(10)
	e.WantState(now, store.Available)
	e.WantState(later, store.Scheduled)
	e.WantState(paused, store.Available)
	e.Depend(now, store.CancelIfFailed, store.Available, done)
	e.ClaimRuns(node)
}

// dependClock: a job that had become available is that again at once, also by a clock that was set
// back since to before its run time.
func dependClock(e *env.Env) {
	node := e.Join()
	first := e.ClaimOne(node, e.Add())
	id := e.Add()
	e.Clock.Advance(-time.Minute)
	e.Depend(id, store.CancelIfFailed, store.Waiting, first.Job.ID)
	e.End(first, store.Completed)
	e.CloseChildren(10)
	if r := e.Get(id); r.State != store.Available || !r.RunAt.Equal(e.Clock.Now()) {
		e.Fatalf("it is %v, due at %v", r.State, r.RunAt)
	}
}

func dependStarted(e *env.Env) {
	node := e.Join()
	on := e.Add(env.Delay(time.Hour))
	run := e.ClaimOne(node, e.Add())
	refused := func(what string, class error) {
		e.Helper()
		_, err := e.TryDepend(run.Job.ID, store.RunIfFailed, on)
		e.WantErr(what, err, class)
	}
	refused("one that runs", store.ErrConflict)
	e.End(run, store.Available)
	refused("one that was given back", store.ErrConflict)
	run = e.ClaimOne(node, run.Job.ID)
	e.End(run, store.Failed)
	refused("one that has finished", store.ErrConflict)
	e.Retry(run.Job.ID)
	refused("one that runs again", store.ErrConflict)
	_, err := e.TryDepend(e.IDs.Next(), store.RunIfFailed, on)
	e.WantErr("one that is not there", err, store.ErrNotFound)
	waits, missing := e.Add(), e.IDs.Next()
	_, err = e.TryDepend(waits, store.RunIfFailed, on, missing)
	e.WantDependency("after one that is not there", err, store.ErrNotFound,
		store.DependencyError{Job: waits, On: missing, Fault: store.MissingPredecessor})
	e.WantState(waits, store.Available)
}

func dependCycle(e *env.Env) {
	a := e.Add()
	b, c := e.Add(env.After(a)), e.Add()
	e.Depend(c, store.RunIfFailed, store.Waiting, b)
	for _, on := range []store.ID{b, c, a} {
		_, err := e.TryDepend(a, store.RunIfFailed, on)
		e.WantDependency("a cycle", err, store.ErrInvalid, store.DependencyError{Job: a, On: on, Fault: store.CyclicDependency})
	}
	e.WantState(a, store.Available)
	e.GoOn(c) // which ends the cycle that there would be
	e.Depend(a, store.RunIfFailed, store.Waiting, c)
}

func dependMany(e *env.Env) {
	var ids []store.ID
	for range 2 {
		for _, q := range e.Many(store.MaxDependencies / 2) {
			ids = append(ids, q.Job.ID)
		}
	}
	job := e.Add(env.After(ids...))
	more := e.Add()
	_, err := e.TryDepend(job, store.RunIfFailed, ids[0], more)
	e.WantDependency("one more", err, store.ErrInvalid, store.DependencyError{Job: job, Fault: store.TooManyDependencies})
	e.WantAwaits(job, ids...)
	e.Depend(job, store.RunIfFailed, store.Waiting, ids[3])
}

func dependTurn(e *env.Env) {
	node := e.Join()
	first, second := e.Add(env.Ordered("x")), e.Add(env.Ordered("x"))
	e.Promote()
	e.Depend(first, store.RunIfFailed, store.Waiting, second)
	e.Promote()
	e.End(e.ClaimOne(node, second), store.Completed)
	e.CloseChildren(10)
	e.Promote()
	e.ClaimOne(node, first)
}

func dependPolicy(e *env.Env) {
	node := e.Join()
	first := e.ClaimOne(node, e.Add())
	a, b := e.Add(env.After(first.Job.ID)), e.Add(env.AfterOr(store.HoldIfFailed, first.Job.ID))
	e.Depend(a, store.RunIfFailed, store.Waiting, first.Job.ID)
	e.End(first, store.Failed)
	e.WantIDs("ended", e.CloseChildren(10))
	e.WantState(a, store.Available)
	e.WantAwaits(b, first.Job.ID)
	e.Depend(b, store.CancelIfFailed, store.Waiting, first.Job.ID)
	e.WantIDs("ended", e.CloseChildren(10), b)
}

// dependPolicyLate: the predecessor has ended, and the job was told and waits for a person, or was
// not told yet. What becomes of it is up to the policy that is given then.
func dependPolicyLate(e *env.Env) {
	leader := e.Join()
	for _, c := range []struct {
		first store.FailurePolicy
		end   store.State
		then  store.FailurePolicy
		want  store.State
	}{
		{store.HoldIfFailed, store.Failed, store.RunIfFailed, store.Scheduled},
		{store.HoldIfFailed, store.Failed, store.OnlyIfFailed, store.Scheduled},
		{store.HoldIfFailed, store.Cancelled, store.OnlyIfCancelled, store.Scheduled},
		{store.HoldIfFailed, store.Cancelled, store.OnlyIfFailed, store.Cancelled},
		{store.HoldIfFailed, store.Failed, store.CancelIfFailed, store.Cancelled},
		{store.HoldIfFailed, store.Failed, store.HoldIfFailed, store.Waiting},
		{store.CancelIfFailed, store.Failed, store.RunIfFailed, store.Scheduled},
		{store.CancelIfFailed, store.Failed, store.HoldIfFailed, store.Waiting},
		{store.OnlyIfFailed, store.Completed, store.CancelIfFailed, store.Scheduled},
		{store.RunIfFailed, store.Completed, store.OnlyIfFailed, store.Cancelled},
	} {
		for _, told := range []bool{false, true} {
			if told && c.first != store.HoldIfFailed {
				continue // it waits no more
			}
			run := e.ClaimOne(e.Join(), e.Add())
			on := run.Job.ID
			job := e.Add(env.AfterOr(c.first, on), env.Delay(time.Hour))
			e.End(run, c.end)
			if told {
				e.WantIDs("ended", e.CloseChildren(10))
			}
			e.Depend(job, c.then, store.Waiting, on)
			e.Equal("predecessors", e.WantAwaits(job, on).Predecessors, []store.Predecessor{
				{Dependency: store.Dependency{On: on, IfFailed: c.then}, State: c.end},
			})
			if !e.Lead(leader).Work.CloseChildren {
				e.Fatalf("%+v, told %v: nobody is told that there is something to do", c, told)
			}
			e.CloseChildren(10)
			e.WantState(job, c.want)
			r := e.Get(job)
			if c.want == store.Cancelled && r.Error != c.then.UnmetWords(on, c.end) {
				e.Fatalf("%+v, told %v: it is cancelled since %q", c, told, r.Error)
			}
			if !r.State.Finished() {
				e.Cancel(job)
			}
		}
	}
}

// dependPolicyOne: a job that two others hold is let go by none of them alone, and not while a
// person has paused it.
func dependPolicyOne(e *env.Env) {
	node := e.Join()
	failed := func() store.ID {
		run := e.ClaimOne(node, e.Add())
		e.End(run, store.Failed)
		return run.Job.ID
	}
	a, b := failed(), failed()
	job, paused := e.Add(env.AfterOr(store.HoldIfFailed, a, b)), e.Add(env.AfterOr(store.HoldIfFailed, a, b))
	e.PauseJob(paused, store.Waiting)
	done := e.ClaimOne(node, e.Add())
	e.End(done, store.Completed)
	e.CloseChildren(10)
	for _, id := range []store.ID{job, paused} {
		e.Depend(id, store.RunIfFailed, store.Waiting, done.Job.ID, a) // one of which it did not wait for
	}
	e.CloseChildren(10)
	e.WantAwaits(job, b)
	e.Depend(job, store.RunIfFailed, store.Waiting, b)
	e.Depend(paused, store.RunIfFailed, store.Waiting, b)
	e.CloseChildren(10)
	e.WantState(job, store.Available)
	e.WantHeld(paused)
	e.Resume(env.Resumption(paused), store.Available)
	e.Depend(job, store.HoldIfFailed, store.Waiting, b) // which it waits for no more, until now
	e.CloseChildren(10)
	e.WantAwaits(job, b)
}

// dependChild: a parent that waits for its child, and the child for it, would wait for ever, and so
// would they with others between them.
func dependChild(e *env.Env) {
	parent := e.Durable(1)
	id := e.Bear(&parent, 1, env.Delay(time.Hour))[0]
	other := e.Add(env.Delay(time.Hour), env.After(parent.Job.ID))
	refused := func(on ...store.ID) {
		e.Helper()
		_, err := e.TryDepend(id, store.RunIfFailed, on...)
		e.WantErr("a child after others", err, store.ErrInvalid)
		want := "holdfast: invalid request: job " + id.String() +
			" is a child and cannot come after others; let its parent start it when they have ended"
		if err.Error() != want {
			e.Fatalf("it says %q, not %q", err, want)
		}
	}
	refused(parent.Job.ID)
	refused(other)
	refused()
	e.WantState(id, store.Scheduled)
	e.Depend(other, store.RunIfFailed, store.Waiting, id) // which may come after a child
	e.Cancel(id)
	refused(other)
	e.End(parent, store.Completed)
}

func dependSpaces(e *env.Env) {
	there := e.InOtherSpace()
	ours, theirs := e.Add(), there.Add()
	_, err := e.TryDepend(theirs, store.RunIfFailed, ours)
	e.WantErr("a job of another namespace", err, store.ErrNotFound)
	_, err = e.TryDepend(ours, store.RunIfFailed, theirs)
	e.WantErr("after a job of another namespace", err, store.ErrNotFound)
	e.WantState(ours, store.Available)
}

func dependResumed(e *env.Env) {
	node := e.Join()
	first := e.ClaimOne(node, e.Add())
	now, later := e.Add(env.After(first.Job.ID)), e.Add(env.After(first.Job.ID), env.Delay(time.Hour))
	e.GoOn(now)
	e.Resume(env.Resumption(later), store.Scheduled)
	run := e.ClaimOne(node, now)
	e.End(first, store.Failed)
	e.WantIDs("ended", e.CloseChildren(10))
	e.WantState(now, store.Running)
	e.WantState(later, store.Scheduled)
	e.End(run, store.Completed)
}

func dependPaused(e *env.Env) {
	node := e.Join()
	first, second := e.ClaimOne(node, e.Add()), e.Add(env.Delay(time.Hour))
	job := e.Add(env.After(first.Job.ID, second))
	free := e.Add(env.After(first.Job.ID))
	lost := e.Add(env.After(second))
	e.Clock.Advance(time.Second)
	for _, id := range []store.ID{job, free, lost} {
		e.PauseJob(id, store.Waiting)
		r := e.Get(id)
		if r.Wait.Reason != store.ReasonPaused || !r.Wait.Since.Equal(e.Clock.Now()) || len(r.Actions) != 1 {
			e.Fatalf("the job that is paused: %+v, %+v", r.Wait, r.Actions)
		}
		e.PauseJob(id, store.Waiting)
	}
	e.End(first, store.Completed)
	e.CloseChildren(10)
	e.WantHeld(job)
	e.WantHeld(free)
	e.GoOn(free)
	e.Resume(env.Resumption(job), store.Waiting)
	e.WantAwaits(job, second)
	e.Cancel(second)
	e.WantSameIDs("ended", e.CloseChildren(10), job, lost)
}

func dependCancelled(e *env.Env) {
	node := e.Join()
	first := e.ClaimOne(node, e.Add())
	a, b := e.Add(env.After(first.Job.ID)), e.Add(env.After(first.Job.ID))
	c := e.Add(env.AfterOr(store.RunIfFailed, a))
	d := e.Add(env.After(b))
	e.Cancel(a)
	e.Terminate(b)
	e.WantSameIDs("ended", e.CloseChildren(10), d)
	e.WantState(c, store.Available)
	e.Retry(a)
	e.WantState(a, store.Available)
	e.End(first, store.Failed)
	e.WantIDs("ended", e.CloseChildren(10))
	e.WantState(a, store.Available)
	e.ClaimRuns(node)
}

func dependEdited(e *env.Env) {
	node := e.Join()
	first := e.ClaimOne(node, e.Add())
	job := e.Add(env.After(first.Job.ID))
	priority, queue := 1, "urgent"
	e.Edit(job, store.Edit{Priority: &priority, Queue: &queue, Args: []byte(`{"to":"bob"}`)}, store.Waiting)
	at := e.Clock.Now()
	e.WantNoEdit(job, store.Edit{RunAt: &at}, store.ErrConflict)
	e.WantAwaits(job, first.Job.ID)
	e.End(first, store.Completed)
	e.CloseChildren(10)
	if got := e.ClaimOne(node, job).Job; got.Queue != queue || got.Priority != priority || string(got.Args) != `{"to":"bob"}` {
		e.Fatalf("the job that was edited: %+v", got)
	}
}

func dependFork(e *env.Env) {
	first := e.Durable(2)
	fork := e.Fork(first.Job.ID, 1)
	e.Depend(fork, store.CancelIfFailed, store.Waiting, first.Job.ID)
	e.Cancel(fork) // which it ends itself: it has a journal
	e.WantState(fork, store.Available)
	if got := e.Get(fork).Predecessors; got != nil {
		e.Fatalf("it still waits for %+v", got)
	}
	e.Depend(fork, store.CancelIfFailed, store.Waiting, e.Add(env.Delay(time.Hour)))
	e.End(first, store.Failed)
	e.WantIDs("ended", e.CloseChildren(10))
}
