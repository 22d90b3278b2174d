package operate

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// Nodes learn of every job that becomes available, whatever its namespace is and whoever made it
// available: from the answers of Apply and Promote, and otherwise from Watch.
var toldTests = env.Tests{
	"EveryDueThingHappens_a_batch_tells_of_whom_it_woke_in_their_namespace":    toldByBatch,
	"EveryDueThingHappens_a_retry_tells_of_its_jobs":                           toldByRetry,
	"EveryDueThingHappens_a_resume_tells_of_its_job":                           toldByResume,
	"EveryDueThingHappens_a_resume_tells_when_its_job_is_due":                  toldByResumeLater,
	"EveryDueThingHappens_a_fork_tells_of_its_job":                             told(toldByFork),
	"EveryDueThingHappens_a_fork_tells_when_its_job_is_due":                    toldByForkLater,
	"EveryDueThingHappens_a_cancel_tells_of_a_job_that_is_to_end_itself":       told(toldByCancelOfDurable),
	"EveryDueThingHappens_a_cancel_tells_of_a_parent_that_it_woke":             told(toldByCancelOfChild),
	"EveryDueThingHappens_a_cancel_tells_of_a_turn_that_it_handed_on":          toldByCancelOfTurn,
	"EveryDueThingHappens_a_terminate_tells_of_a_parent_that_it_woke":          told(toldByTerminate),
	"EveryDueThingHappens_a_sweep_tells_of_a_parent_that_it_woke":              told(toldBySweep),
	"EveryDueThingHappens_closing_children_tells_of_one_that_is_to_end_itself": told(toldByClose),
	"EveryDueThingHappens_a_rescue_tells_of_a_parent_that_it_woke":             told(toldByRescueOfChild),
	"EveryDueThingHappens_giving_up_tells_of_a_parent_that_it_woke":            told(toldByGiveUp),
	"EveryDueThingHappens_a_node_that_leaves_tells_of_what_it_gives_back":      told(toldByLeave),
	"CancelArrives_a_node_is_asked_whatever_its_namespace_is":                  askedInNamespace,
}

// toldQueue is the queue, in the other namespace, of the jobs that a store must tell of.
const toldQueue = "told"

// listener is what a store tells by Watch.
type listener struct {
	*env.Env
	mu    sync.Mutex
	wakes []store.Wake
	more  chan struct{}
}

// listen watches, from when wake-ups arrive.
func listen(e *env.Env) *listener {
	e.Helper()
	l := &listener{Env: e, more: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(e.Ctx)
	done := make(chan error, 1)
	go func() {
		done <- e.Store.Watch(ctx, func(w store.Wake) {
			l.mu.Lock()
			l.wakes = append(l.wakes, w)
			l.mu.Unlock()
			select {
			case l.more <- struct{}{}:
			default:
			}
		})
	}()
	e.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			e.Errorf("Watch: %v", err)
		}
	})
	l.until("a store that tells", func([]store.Wake) bool { return e.Store.Traits().Wakeups })
	return l
}

// tellPatience is how long a wake-up may take to arrive. It takes milliseconds.
const tellPatience = 30 * time.Second

// until waits until what was told is right.
func (l *listener) until(what string, right func([]store.Wake) bool) {
	l.Helper()
	late := time.NewTimer(tellPatience)
	defer late.Stop()
	for {
		l.mu.Lock()
		is, wakes := right(l.wakes), slices.Clone(l.wakes)
		l.mu.Unlock()
		if is {
			return
		}
		select {
		case <-l.more:
		case <-late.C:
			l.Fatalf("%s: told are %+v", what, wakes)
		}
	}
}

// wantReady waits for a wake-up of toldQueue.
func (l *listener) wantReady(what string) {
	l.Helper()
	l.wantReadyIn(toldQueue, what)
}

func (l *listener) wantReadyIn(queue, what string) {
	l.Helper()
	l.until(what, func(wakes []store.Wake) bool { return env.IsReady(wakes, env.OtherSpace, queue) })
}

// wantDue waits for the news that something is due at a time.
func (l *listener) wantDue(what string, at time.Time) {
	l.Helper()
	l.until(what, func(wakes []store.Wake) bool {
		return slices.ContainsFunc(wakes, func(w store.Wake) bool {
			return w.Kind == store.WakeDeferred && !w.Due.IsZero() && !w.Due.After(at)
		})
	})
}

// waitedFor makes a parent in toldQueue that waits for the answer of its child, and returns the
// child's id.
func waitedFor(e *env.Env, change ...func(*store.Enqueue)) (child store.ID) {
	e.Helper()
	parent := e.Started(env.Queue(toldQueue))
	child = e.Bear(&parent, 1, append([]func(*store.Enqueue){env.Queue("children")}, change...)...)[0]
	e.Park(parent, env.ForSignals(store.MessageChild), env.WithChildren)
	return child
}

// told tests something that makes a job of toldQueue available. prepare returns what does it.
func told(prepare func(o *env.Env) func()) func(*env.Env) {
	return func(e *env.Env) {
		do := prepare(e.InOtherSpace())
		l := listen(e)
		do()
		l.wantReady("what is available now")
	}
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
	l := listen(e)
	o.Retry(cancelled)
	l.wantReady("a cancelled job")
	o.Retry(scheduled)
	l.wantReadyIn("told, too", "a scheduled one")
}

func toldByResume(e *env.Env) {
	o := e.InOtherSpace()
	held, failed := o.Held(env.Queue(toldQueue)), o.Started(env.Queue("told, too"))
	o.End(failed, store.Failed)
	l := listen(e)
	o.Resume(env.Resumption(held.Job.ID), store.Available)
	l.wantReady("a held job")
	o.Resume(env.Resumption(failed.Job.ID), store.Available)
	l.wantReadyIn("told, too", "a failed one")
}

func toldByResumeLater(e *env.Env) {
	o := e.InOtherSpace()
	id := o.Add(env.Queue(toldQueue), env.Delay(time.Hour))
	o.PauseJob(id, store.Waiting)
	l := listen(o)
	o.Resume(env.Resumption(id), store.Scheduled)
	l.wantDue("a job that is scheduled again", o.Get(id).RunAt)
}

func toldByFork(o *env.Env) func() {
	old := o.Durable(3)
	return func() { o.Fork(old.Job.ID, 2, env.Queue(toldQueue)) }
}

func toldByForkLater(e *env.Env) {
	old := e.Durable(3)
	l := listen(e)
	id := e.InOtherSpace().Fork(old.Job.ID, 2, env.Queue(toldQueue), env.RunAt(e.Clock.Now().Add(time.Hour)))
	l.wantDue("a fork that runs later", e.Get(id).RunAt)
}

func toldByCancelOfDurable(o *env.Env) func() {
	run := o.Parked(env.ForSignals(), env.Queue(toldQueue))
	return func() { o.Cancel(run.Job.ID) }
}

func toldByCancelOfChild(o *env.Env) func() {
	child := waitedFor(o)
	return func() { o.Cancel(child) }
}

func toldByCancelOfTurn(e *env.Env) {
	o := e.InOtherSpace()
	first := o.Add(env.Queue(toldQueue), env.Ordered("k"))
	e.Promote()
	o.Add(env.Queue(toldQueue), env.Ordered("k"))
	l := listen(e)
	e.Cancel(first)
	l.until("the next one of the key", func(wakes []store.Wake) bool {
		return env.IsReady(wakes, env.OtherSpace, toldQueue) || slices.ContainsFunc(wakes, func(w store.Wake) bool {
			return w.Kind == store.WakeDeferred && !w.Due.IsZero() && !w.Due.After(e.Clock.Now())
		})
	})
}

func toldByTerminate(o *env.Env) func() {
	run := o.ClaimOne(o.Join(), waitedFor(o))
	return func() { o.Terminate(run.Job.ID) }
}

// toldBySweep: a job was asked to end itself, and a person took away its journal. So no run answers
// the request, and the sweep does.
func toldBySweep(o *env.Env) func() {
	node := o.Join()
	run := o.ClaimOne(node, waitedFor(o))
	o.Write(&run, env.Step(1))
	o.Cancel(run.Job.ID)
	o.End(run, store.Retryable, func(out *store.Outcome) { out.CancelSeen, out.Delay = true, time.Hour })
	o.PauseJob(run.Job.ID, store.Waiting)
	params := env.Resumption(run.Job.ID)
	params.Keep = 0
	if _, err := o.Store.Resume(o.Ctx, params); err != nil {
		o.Fatal(err)
	}
	return func() {
		if n := o.Sweep(); n != 1 {
			o.Fatalf("the sweep applied %d requests", n)
		}
	}
}

func toldByClose(o *env.Env) func() {
	parent := o.Started()
	id := o.Bear(&parent, 1, env.Queue(toldQueue))[0]
	child := o.ClaimOne(parent.Lease.Node, id)
	o.Write(&child, env.Step(1))
	o.Park(child, env.ForSignals())
	o.End(parent, store.Completed, env.WithChildren)
	return func() { o.CloseChildren(10) }
}

func toldByRescueOfChild(o *env.Env) func() {
	run := o.ClaimOne(o.Join(), waitedFor(o, env.Attempts(1)))
	return func() {
		if r := o.Lose(run); !r.State.Finished() {
			o.Fatalf("rescued: %+v", r)
		}
	}
}

func toldByGiveUp(o *env.Env) func() {
	run := o.ClaimOne(o.Join(), waitedFor(o, env.Attempts(1)))
	return func() {
		if given := o.GiveUp(run); len(given) != 1 || !given[0].State.Finished() {
			o.Fatalf("given up: %+v", given)
		}
	}
}

func toldByLeave(o *env.Env) func() {
	run := o.Started(env.Queue(toldQueue))
	return func() { o.Leave(run.Lease.Node) }
}

// askedInNamespace: a beat names the runs that a node must stop, because a wake-up says only that
// there are some.
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
