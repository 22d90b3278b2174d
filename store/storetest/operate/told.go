package operate

import (
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// Nodes learn of every job that becomes available, whatever its namespace is and whatever made it
// so: by the answer of what did.
var toldTests = env.Tests{
	"EveryDueThingHappens_a_batch_tells_of_whom_it_woke_in_their_namespace":    toldByBatch,
	"EveryDueThingHappens_a_retry_tells_of_its_jobs":                           toldByRetry,
	"EveryDueThingHappens_a_resume_tells_of_its_job":                           toldByResume,
	"EveryDueThingHappens_a_resume_tells_when_its_job_is_due":                  toldByResumeLater,
	"EveryDueThingHappens_a_fork_tells_of_its_job":                             toldByFork,
	"EveryDueThingHappens_a_fork_tells_when_its_job_is_due":                    toldByForkLater,
	"EveryDueThingHappens_a_cancel_tells_of_a_job_that_is_to_end_itself":       toldByCancelOfDurable,
	"EveryDueThingHappens_a_cancel_tells_of_a_parent_that_it_woke":             toldByCancelOfChild,
	"EveryDueThingHappens_a_cancel_tells_of_a_turn_that_it_handed_on":          toldByCancelOfTurn,
	"EveryDueThingHappens_a_terminate_tells_of_a_parent_that_it_woke":          toldByTerminate,
	"EveryDueThingHappens_a_sweep_tells_of_a_parent_that_it_woke":              toldBySweep,
	"EveryDueThingHappens_closing_children_tells_of_one_that_is_to_end_itself": toldByClose,
	"EveryDueThingHappens_a_rescue_tells_of_a_parent_that_it_woke":             toldByRescueOfChild,
	"EveryDueThingHappens_giving_up_tells_of_a_parent_that_it_woke":            toldByGiveUp,
	"EveryDueThingHappens_a_node_that_leaves_tells_of_what_it_gives_back":      toldByLeave,
	"EveryDueThingHappens_a_rescue_tells_when_its_jobs_are_due":                toldByRescueLater,
	"EveryDueThingHappens_several_namespaces_are_told_of_at_once":              toldOfSpaces,
	"EveryDueThingHappens_what_makes_nothing_available_tells_of_nothing":       toldOfNothing,
	"CancelArrives_a_node_is_asked_whatever_its_namespace_is":                  askedInNamespace,
}

// toldQueue is where tests have what is to be told of, in the other namespace.
const toldQueue = "told"

// wantTold checks that the last verb told of the queue of what is told of, or of another one, in
// the other namespace.
func wantTold(e *env.Env, what string, queues ...string) {
	e.Helper()
	if queues == nil {
		queues = []string{toldQueue}
	}
	for _, queue := range queues {
		if !env.IsReady(e.Told(), env.OtherSpace, queue) {
			e.Fatalf("%s: told are %+v", what, e.Told())
		}
	}
}

// wantDue checks that the last verb told that something is due at a time, or before.
func wantDue(e *env.Env, what string, at time.Time) {
	e.Helper()
	if !isDue(e.Told(), at) {
		e.Fatalf("%s: told are %+v", what, e.Told())
	}
}

func isDue(wakes []store.Wake, at time.Time) bool {
	return slices.ContainsFunc(wakes, func(w store.Wake) bool {
		return w.Kind == store.WakeDeferred && !w.Due.IsZero() && !w.Due.After(at)
	})
}

// wantNothingTold checks that the last verb, which made nothing available, told of nothing.
func wantNothingTold(e *env.Env, what string) {
	e.Helper()
	if told := e.Told(); len(told) > 0 {
		e.Fatalf("%s: told are %+v", what, told)
	}
}

// waitedFor makes a parent that waits for the answer of its child, in the queue that is to be told
// of, and returns the child's id.
func waitedFor(e *env.Env, change ...func(*store.Enqueue)) (child store.ID) {
	e.Helper()
	parent := e.Started(env.Queue(toldQueue))
	child = e.Bear(&parent, 1, append([]func(*store.Enqueue){env.Queue("children")}, change...)...)[0]
	e.Park(parent, env.ForSignals(store.MessageChild), env.WithChildren)
	return child
}

func toldByBatch(e *env.Env) {
	o := e.InOtherSpace()
	want := func(what string, batch *store.Batch) {
		e.Helper()
		if e.Apply(batch); !env.IsReady(batch.Woken, env.OtherSpace, toldQueue) {
			e.Fatalf("%s: the batch tells of %+v", what, batch.Woken)
		}
	}
	waits := o.Parked(env.ForSignals(), env.Queue(toldQueue))
	want("a message", &store.Batch{Sends: []*store.Send{{Job: waits.Job.ID, Message: env.Signal("s")}}})
	o.ClaimOne(waits.Lease.Node, waits.Job.ID)
	child := o.ClaimOne(o.Join(), waitedFor(o))
	want("a child's end", &store.Batch{Outcomes: []*store.Outcome{env.Outcome(child, store.Completed)}})
}

func toldByRetry(e *env.Env) {
	o := e.InOtherSpace()
	cancelled, scheduled := o.Add(env.Queue(toldQueue)), o.Add(env.Queue("told, too"), env.Delay(time.Hour))
	o.Cancel(cancelled)
	o.Retry(cancelled)
	wantTold(e, "a cancelled job")
	o.Retry(scheduled)
	wantTold(e, "a scheduled one", "told, too")
}

func toldByResume(e *env.Env) {
	o := e.InOtherSpace()
	held, failed := o.Held(env.Queue(toldQueue)), o.Started(env.Queue("told, too"))
	o.End(failed, store.Failed)
	o.Resume(env.Resumption(held.Job.ID), store.Available)
	wantTold(e, "a held job")
	o.Resume(env.Resumption(failed.Job.ID), store.Available)
	wantTold(e, "a failed one", "told, too")
}

func toldByResumeLater(e *env.Env) {
	o := e.InOtherSpace()
	id := o.Add(env.Queue(toldQueue), env.Delay(time.Hour))
	o.PauseJob(id, store.Waiting)
	o.Resume(env.Resumption(id), store.Scheduled)
	wantDue(e, "a job that is scheduled again", o.Get(id).RunAt)
}

func forkTold(e *env.Env, change ...func(*store.Enqueue)) store.ID {
	e.Helper()
	return e.Fork(e.Durable(3).Job.ID, 2, append(change, env.Queue(toldQueue))...)
}

func toldByFork(e *env.Env) {
	forkTold(e.InOtherSpace())
	wantTold(e, "a fork")
}

func toldByForkLater(e *env.Env) {
	id := forkTold(e.InOtherSpace(), env.RunAt(e.Clock.Now().Add(time.Hour)))
	wantDue(e, "a fork that runs later", e.Get(id).RunAt)
}

func toldByCancelOfDurable(e *env.Env) {
	run := e.InOtherSpace().Parked(env.ForSignals(), env.Queue(toldQueue))
	e.Cancel(run.Job.ID)
	wantTold(e, "a job that has begun")
}

func toldByCancelOfChild(e *env.Env) {
	child := waitedFor(e.InOtherSpace())
	e.Cancel(child)
	wantTold(e, "the parent")
}

func toldByCancelOfTurn(e *env.Env) {
	o := e.InOtherSpace()
	first := o.Add(env.Queue(toldQueue), env.Ordered("k"))
	e.Promote()
	o.Add(env.Queue(toldQueue), env.Ordered("k"))
	e.Cancel(first)
	if told := e.Told(); !env.IsReady(told, env.OtherSpace, toldQueue) && !isDue(told, e.Clock.Now()) {
		e.Fatalf("the next one of the key: told are %+v", told)
	}
}

func toldByTerminate(e *env.Env) {
	o := e.InOtherSpace()
	run := o.ClaimOne(o.Join(), waitedFor(o))
	e.Terminate(run.Job.ID)
	wantTold(e, "the parent")
}

// toldBySweep: a job was to end itself, and a person has taken away what it remembers, so that no
// run has to answer the request.
func toldBySweep(e *env.Env) {
	o := e.InOtherSpace()
	node := o.Join()
	run := o.ClaimOne(node, waitedFor(o))
	o.Write(&run, env.Step(1))
	o.Cancel(run.Job.ID)
	o.End(run, store.Retryable, func(out *store.Outcome) { out.CancelSeen, out.Delay = true, time.Hour })
	o.PauseJob(run.Job.ID, store.Waiting)
	params := env.Resumption(run.Job.ID)
	params.Keep = 0
	if _, _, err := e.Store.Resume(e.Ctx, params); err != nil {
		e.Fatal(err)
	}
	swept := e.SweepOnce()
	if swept.Jobs != 1 || !slices.Equal(swept.Ended, []store.ID{run.Job.ID}) {
		e.Fatalf("the sweep applied %+v", swept)
	}
	wantTold(e, "the parent")
}

func toldByClose(e *env.Env) {
	o := e.InOtherSpace()
	parent := o.Started()
	id := o.Bear(&parent, 1, env.Queue(toldQueue))[0]
	child := o.ClaimOne(parent.Lease.Node, id)
	o.Write(&child, env.Step(1))
	o.Park(child, env.ForSignals())
	o.End(parent, store.Completed, env.WithChildren)
	e.CloseChildren(10)
	wantTold(e, "the child")
}

func toldByRescueOfChild(e *env.Env) {
	o := e.InOtherSpace()
	run := o.ClaimOne(o.Join(), waitedFor(o, env.Attempts(1)))
	if r := e.Lose(run); !r.State.Finished() {
		e.Fatalf("rescued: %+v", r)
	}
	wantTold(e, "the parent")
}

func toldByGiveUp(e *env.Env) {
	o := e.InOtherSpace()
	run := o.ClaimOne(o.Join(), waitedFor(o, env.Attempts(1)))
	if given := e.GiveUp(run); len(given) != 1 || !given[0].State.Finished() {
		e.Fatalf("given up: %+v", given)
	}
	wantTold(e, "the parent")
}

func toldByLeave(e *env.Env) {
	run := e.InOtherSpace().Started(env.Queue(toldQueue))
	e.Leave(run.Lease.Node)
	wantTold(e, "what runs no more")
}

func toldByRescueLater(e *env.Env) {
	run := e.InOtherSpace().Second()
	r := e.Lose(run)
	if r.State != store.Retryable {
		e.Fatalf("rescued: %+v", r)
	}
	wantDue(e, "a job that is to be repeated", r.RunAt)
	for _, w := range e.Told() {
		if w.Kind == store.WakeDeferred && w.Due.Before(r.RunAt) || w.Kind == store.WakeReady {
			e.Fatalf("told are %+v, and the job is due at %v", e.Told(), r.RunAt)
		}
	}
}

// toldOfSpaces: one verb moves jobs of two namespaces, and two queues of one.
func toldOfSpaces(e *env.Env) {
	o := e.InOtherSpace()
	ids := []store.ID{e.Add(env.Queue(toldQueue)), o.Add(env.Queue(toldQueue)), o.Add(env.Queue("told, too")), o.Add(env.Queue("mail"))}
	e.Cancel(ids[:3]...)
	wantNothingTold(e, "a cancel of jobs that wait")
	results, wakes, err := e.Store.Retry(e.Ctx, store.RetryParams{Jobs: ids, Actor: "ada"})
	if err != nil || len(results) != len(ids) {
		e.Fatalf("Retry: %+v, %v", results, err)
	}
	want := []store.Wake{env.Ready(env.Namespace, toldQueue), env.Ready(env.OtherSpace, toldQueue), env.Ready(env.OtherSpace, "told, too")}
	for _, w := range want {
		if !env.IsReady(wakes, w.Namespace, w.Queue) {
			e.Errorf("not told of is %+v", w)
		}
	}
	if len(wakes) != len(want) {
		e.Fatalf("told are %+v, want %+v", wakes, want)
	}
}

// toldOfNothing: verbs on jobs that stay as they are, end, or are asked to stop answer without
// wake-ups.
func toldOfNothing(e *env.Env) {
	o := e.InOtherSpace()
	node, leader := o.Join(), o.Join()
	runs, waits, ended := o.ClaimOne(node, o.Add()), o.Add(), o.Add()
	e.Cancel(ended)
	wantNothingTold(e, "a cancel of a job that waits")
	e.Cancel(runs.Job.ID, ended)
	wantNothingTold(e, "a cancel of a job that runs, and of one that has finished")
	e.TryRetry(runs.Job.ID)
	wantNothingTold(e, "a retry of a job that runs")
	e.TryRetry(waits)
	wantNothingTold(e, "a retry of a job that is available")
	e.PauseJob(waits, store.Waiting)
	wantNothingTold(e, "a pause")
	e.PauseJob(runs.Job.ID, store.Running)
	wantNothingTold(e, "a pause of a job that runs")
	o.Resume(env.Resumption(runs.Job.ID), store.Running)
	wantNothingTold(e, "a resume of a job that runs")
	e.Sweep()
	wantNothingTold(e, "a sweep")
	e.Terminate(runs.Job.ID)
	wantNothingTold(e, "a terminate of a job for whom nobody waits")
	e.Rescue()
	wantNothingTold(e, "a rescue from the living")
	e.GiveUp(runs)
	wantNothingTold(e, "giving up a lease that is lost")
	e.Leave(node)
	wantNothingTold(e, "a node that leaves, and runs nothing")
	e.Leave(node)
	wantNothingTold(e, "a node that has left")

	parent := o.ClaimOne(leader, o.Add())
	o.Bear(&parent, 1)
	o.End(parent, store.Completed, env.WithChildren)
	e.CloseChildren(10)
	wantNothingTold(e, "the end of children")
	e.CloseChildren(10)
	wantNothingTold(e, "no children")

	old := o.Durable(3)
	id := o.Fork(old.Job.ID, 2)
	params := store.ForkParams{From: old.Job.ID, Keep: 2, Job: o.Job().Job, Actor: "ada"}
	params.Job.ID = id
	if wakes, err := e.Store.Fork(e.Ctx, params); err != nil || len(wakes) > 0 {
		e.Fatalf("a fork that is there: told are %+v, %v", wakes, err)
	}
}

// askedInNamespace: a beat names what a node is to stop, so that a wake-up need only say that there
// is something.
func askedInNamespace(e *env.Env) {
	o := e.InOtherSpace()
	node := o.Join()
	parent := o.ClaimOne(node, o.Add())
	child := o.ClaimOne(node, o.Bear(&parent, 1)[0])
	paused := o.ClaimOne(node, o.Add())
	cancelled := o.ClaimOne(node, o.Add())
	e.Cancel(cancelled.Job.ID)
	e.PauseJob(paused.Job.ID, store.Running)
	o.End(parent, store.Completed, env.WithChildren)
	if closed := e.CloseOnce(10); len(closed.Running) != 1 || closed.Running[0] != child.Job.ID {
		e.Fatalf("closed: %+v", closed)
	}
	beat := e.Beat(node)
	var asked []store.ID
	for _, c := range beat.Cancels {
		asked = append(asked, c.Job)
	}
	e.WantSameIDs("to be cancelled", asked, cancelled.Job.ID, child.Job.ID)
	e.WantIDs("to be paused", beat.Pauses, paused.Job.ID)
}
