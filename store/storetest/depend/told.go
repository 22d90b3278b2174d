package depend

import (
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// How jobs hear of the ends of those after which they come.
var toldTests = env.Tests{
	"NoLoss_every_end_of_a_job_is_told":                           toldEveryEnd,
	"NoLoss_of_every_end_of_a_run_that_did_not_know":              toldUnknown,
	"what_has_not_ended_is_not_told":                              toldLater,
	"a_person_decides_about_a_job_that_is_held":                   toldHeld,
	"jobs_are_cancelled_one_after_the_other":                      toldCascade,
	"many_are_told_in_portions":                                   toldMany,
	"a_node_that_leads_hears_of_it":                               toldWork,
	"NoLoss_a_job_is_not_removed_before_others_know_of_its_end":   toldRemoved,
	"a_job_that_is_gone_is_said_to_be":                            toldGone,
	"notes_of_jobs_that_were_put_back_are_dropped_and_nothing_is": toldPutBack,
}

// ends are ways in which a run ends its job, for good.
var ends = map[string]func(e *env.Env, run store.Claimed){
	"completed":  func(e *env.Env, run store.Claimed) { e.End(run, store.Completed) },
	"failed":     func(e *env.Env, run store.Claimed) { e.End(run, store.Failed) },
	"cancelled":  func(e *env.Env, run store.Claimed) { e.End(run, store.Cancelled) },
	"terminated": func(e *env.Env, run store.Claimed) { e.Terminate(run.Job.ID) },
	"asked to end": func(e *env.Env, run store.Claimed) {
		e.Cancel(run.Job.ID)
		e.EndAs(store.Cancelled, run, store.Retryable)
	},
	"cancelled while it waited": func(e *env.Env, run store.Claimed) {
		e.End(run, store.Retryable)
		e.Cancel(run.Job.ID)
	},
	"terminated while it was parked": func(e *env.Env, run store.Claimed) {
		e.Park(run, env.ForSignals())
		e.Terminate(run.Job.ID)
	},
	"handed over": func(e *env.Env, run store.Claimed) {
		e.HandOver(run, &store.Wait{})
		e.Finish(env.CompletedBy(run.Job.ID))
	},
	"lost with its node": func(e *env.Env, run store.Claimed) {
		e.End(run, store.Available) // the first loss is not the last
		node := e.Join()
		e.ClaimOne(node, run.Job.ID)
		e.Clock.Advance(env.DeadAfter + time.Second)
		e.Rescue()
	},
	"a later attempt": func(e *env.Env, run store.Claimed) {
		e.End(run, store.Available)
		e.End(e.ClaimOne(e.Join(), run.Job.ID), store.Completed)
	},
	"continued as new": func(e *env.Env, run store.Claimed) {
		e.Write(&run, env.Step(1))
		e.End(run, store.Available, env.AsNew(`{}`))
		e.End(e.ClaimOne(e.Join(), run.Job.ID), store.Completed)
	},
	"with a unique key": func(e *env.Env, run store.Claimed) { e.End(run, store.Completed) },
}

// toldEveryEnd: the job is known to have a successor before it runs.
func toldEveryEnd(e *env.Env) {
	for what, end := range ends {
		var change []func(*store.Enqueue)
		if what == "with a unique key" {
			change = append(change, env.Unique("k"), env.Ordered("o"))
		}
		first := e.Add(append(change, env.Attempts(1), env.Queue("first"))...)
		after := successors(e, first)
		e.CloseChildren(100)
		e.Clock.Advance(time.Hour) // longer than a claim may take
		e.CloseChildren(100)
		e.Promote()
		end(e, e.ClaimOne(e.Join(), first))
		after.want(what, first)
	}
}

// toldUnknown: it runs before.
func toldUnknown(e *env.Env) {
	for what, end := range ends {
		run := e.ClaimOne(e.Join(), e.Add(env.Attempts(1), env.Queue("first")))
		after := successors(e, run.Job.ID)
		if closed := e.CloseOnce(100); !closed.Watch {
			e.Fatalf("%s: nobody is to look again: %+v", what, closed)
		}
		end(e, run)
		after.want(what, run.Job.ID)
	}
}

// family is one job for each policy.
type family struct {
	e             *env.Env
	on            store.ID
	run, no, hold store.ID
}

func successors(e *env.Env, on store.ID) family {
	add := func(policy store.FailurePolicy) store.ID { return e.Add(env.AfterOr(policy, on), env.Queue("second")) }
	return family{e, on, add(store.RunIfFailed), add(store.CancelIfFailed), add(store.HoldIfFailed)}
}

// want checks what has become of them.
func (f family) want(what string, on store.ID) {
	e := f.e
	e.Helper()
	state := e.Get(on).State
	if !state.Finished() {
		e.Fatalf("%s: the first is %v", what, state)
	}
	ended := e.CloseChildren(100)
	states := []store.State{e.Get(f.run).State, e.Get(f.no).State, e.Get(f.hold).State}
	want := []store.State{store.Available, store.Cancelled, store.Waiting}
	if state == store.Completed {
		want = []store.State{store.Available, store.Available, store.Available}
		e.WantIDs(what, ended)
	} else {
		e.WantIDs(what, ended, f.no)
		e.WantAwaits(f.hold, on)
	}
	if !slices.Equal(states, want) {
		e.Fatalf("%s: the others are %v, want %v", what, states, want)
	}
	e.Cancel(f.run, f.no, f.hold)
}

func toldLater(e *env.Env) {
	node := e.Join()
	run := e.ClaimOne(node, e.Add())
	job := e.Add(env.After(run.Job.ID))
	on := run.Job.ID
	unmoved := func(what string) {
		e.Helper()
		e.WantIDs(what, e.CloseChildren(10))
		e.WantAwaits(job, on)
	}
	unmoved("while it runs")
	e.End(run, store.Retryable)
	unmoved("while it is to be tried again")
	e.Retry(on)
	run = e.ClaimOne(node, on)
	e.Park(run, env.ForSignals(store.MessageSignal))
	unmoved("while it is parked")
	e.Send(on, env.Signal("go"))
	run = e.ClaimOne(node, on)
	e.Leave(node)
	unmoved("when it was given back")
	e.PauseJob(on, store.Waiting)
	unmoved("while it is held")
	e.GoOn(on)
	e.End(e.ClaimOne(e.Join(), on), store.Completed)
	e.CloseChildren(10)
	e.WantState(job, store.Available)
	e.WantLost(run)
}

func toldHeld(e *env.Env) {
	node := e.Join()
	first := e.Add(env.Queue("first"))
	second := e.Add(env.Delay(time.Hour))
	again := e.Add(env.AfterOr(store.HoldIfFailed, first, second))
	anyway, no := e.Add(env.AfterOr(store.HoldIfFailed, first)), e.Add(env.AfterOr(store.HoldIfFailed, first))
	e.End(e.ClaimOne(node, first), store.Failed)
	e.WantIDs("ended", e.CloseChildren(10))
	r := e.WantAwaits(again, first, second)
	if r.Predecessors[0].State != store.Failed {
		e.Fatalf("what it waits for: %+v", r.Predecessors)
	}
	e.GoOn(anyway)
	e.Cancel(no)
	e.Retry(first)
	e.CloseChildren(10)
	run := e.ClaimRuns(node)[first]
	e.WantAwaits(again, first, second)
	e.End(run, store.Failed)
	e.CloseChildren(10)
	e.WantAwaits(again, first, second)
	e.Retry(first)
	e.End(e.ClaimOne(node, first), store.Completed)
	e.CloseChildren(10)
	e.WantAwaits(again, second)
	e.Cancel(second)
	e.CloseChildren(10)
	e.WantAwaits(again, second)
	e.GoOn(again)
}

func toldCascade(e *env.Env) {
	node := e.Join()
	run := e.ClaimOne(node, e.Add())
	var ids []store.ID
	last := run.Job.ID
	for range 10 {
		last = e.Add(env.After(last))
		ids = append(ids, last)
	}
	after := e.Add(env.AfterOr(store.RunIfFailed, last))
	e.End(run, store.Failed)
	e.WantSameIDs("ended", e.CloseChildren(3), ids...)
	if got, want := e.Get(last).Error, store.CancelIfFailed.UnmetWords(ids[8], store.Cancelled); got != want {
		e.Fatalf("the last one says %q, want %q", got, want)
	}
	e.WantState(after, store.Available)
}

func toldMany(e *env.Env) {
	node := e.Join()
	run := e.ClaimOne(node, e.Add())
	jobs := e.Many(70, env.After(run.Job.ID))
	e.End(run, store.Completed)
	for calls := 1; ; calls++ {
		if closed := e.CloseOnce(20); !closed.More {
			break
		}
		if calls > 10 {
			e.Fatal("it never comes to an end")
		}
		if calls == 1 {
			if n := e.Count(store.Filter{States: []store.State{store.Available}}); n > 20 {
				e.Fatalf("one call of at most 20 has told %d", n)
			}
		}
	}
	e.WantSameIDs("claimed", env.ClaimedIDs(e.Claim(node, 100)), env.IDsOf(jobs)...)
	if closed := e.CloseOnce(20); closed.More || closed.Watch || len(closed.Wakes) > 0 {
		e.Fatalf("there is something left: %+v", closed)
	}
}

func toldWork(e *env.Env) {
	leader, node := e.Join(), e.Join()
	if e.Lead(leader).Work.CloseChildren {
		e.Fatal("there is work before there is anything")
	}
	run := e.ClaimOne(node, e.Add())
	job := e.Add(env.After(run.Job.ID))
	e.End(run, store.Completed)
	if !e.Lead(leader).Work.CloseChildren {
		e.Fatal("nobody is told that there is a job to let go on")
	}
	e.CloseChildren(10)
	e.WantState(job, store.Available)
	if e.Lead(leader).Work.CloseChildren {
		e.Fatal("there is work when all is done")
	}
}

func toldRemoved(e *env.Env) {
	node := e.Join()
	run := e.ClaimOne(node, e.Add())
	on := run.Job.ID
	job, held := e.Add(env.After(on)), e.Add(env.AfterOr(store.HoldIfFailed, on))
	e.End(run, store.Failed)
	e.Clock.Advance(72 * time.Hour)
	e.Retain(store.Retention{Completed: time.Hour, Failed: time.Hour, Cancelled: time.Hour})
	e.WantState(on, store.Failed)
	if r := e.TryDelete(on)[0]; r.Err == nil {
		e.Fatal("it was deleted before others heard of its end")
	} else {
		e.WantErr("delete", r.Err, store.ErrBusy)
	}
	e.WantIDs("ended", e.CloseChildren(10), job)
	e.Delete(on)
	e.WantUnknown(on)
	r := e.WantAwaits(held, on)
	e.Equal("predecessors", r.Predecessors, []store.Predecessor{{Dependency: store.Dependency{On: on, IfFailed: store.HoldIfFailed}}})
	e.WantIDs("ended", e.CloseChildren(10))
	e.WantAwaits(held, on)
	e.GoOn(held)
}

func toldGone(e *env.Env) {
	node := e.Join()
	run := e.ClaimOne(node, e.Add())
	held := e.Add(env.AfterOr(store.HoldIfFailed, run.Job.ID))
	e.End(run, store.Failed)
	e.CloseChildren(10)
	e.Delete(run.Job.ID)
	_, err := e.TryDepend(held, store.RunIfFailed, run.Job.ID)
	e.WantErr("after one that is gone", err, store.ErrNotFound)
	e.Terminate(held)
}

func toldPutBack(e *env.Env) {
	node := e.Join()
	run := e.ClaimOne(node, e.Add())
	job := e.Add(env.After(run.Job.ID))
	e.End(run, store.Scheduled, func(o *store.Outcome) { o.Delay = 24 * time.Hour })
	for range 3 {
		e.CloseChildren(10)
		e.Clock.Advance(time.Hour)
	}
	if closed := e.CloseOnce(10); closed.Watch || closed.More {
		e.Fatalf("somebody is to look again although the next run will know: %+v", closed)
	}
	e.Clock.Advance(24 * time.Hour)
	e.Promote()
	run = e.ClaimOne(node, run.Job.ID)
	if !run.HasSuccessors {
		e.Fatal("the run does not know that others come after its job")
	}
	e.End(run, store.Completed)
	e.CloseChildren(10)
	e.WantState(job, store.Available)
}
