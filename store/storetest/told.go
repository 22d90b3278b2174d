package storetest

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Nodes learn of every job that becomes available, whatever its namespace is and whoever made it
// so: by the answer of Apply and of Promote, and by Watch of all else.
var toldTests = []test{
	{"EveryDueThingHappens_a_batch_tells_of_whom_it_woke_in_their_namespace", toldByBatch},
	{"EveryDueThingHappens_a_retry_tells_of_its_jobs", toldByRetry},
	{"EveryDueThingHappens_a_resume_tells_of_its_job", toldByResume},
	{"EveryDueThingHappens_a_resume_tells_when_its_job_is_due", toldByResumeLater},
	{"EveryDueThingHappens_a_fork_tells_of_its_job", toldByFork},
	{"EveryDueThingHappens_a_fork_tells_when_its_job_is_due", toldByForkLater},
	{"EveryDueThingHappens_a_cancel_tells_of_a_job_that_is_to_end_itself", toldByCancelOfDurable},
	{"EveryDueThingHappens_a_cancel_tells_of_a_parent_that_it_woke", toldByCancelOfChild},
	{"EveryDueThingHappens_a_cancel_tells_of_a_turn_that_it_handed_on", toldByCancelOfTurn},
	{"EveryDueThingHappens_a_terminate_tells_of_a_parent_that_it_woke", toldByTerminate},
	{"EveryDueThingHappens_a_sweep_tells_of_a_parent_that_it_woke", toldBySweep},
	{"EveryDueThingHappens_closing_children_tells_of_one_that_is_to_end_itself", toldByClose},
	{"EveryDueThingHappens_a_rescue_tells_of_a_parent_that_it_woke", toldByRescueOfChild},
	{"EveryDueThingHappens_giving_up_tells_of_a_parent_that_it_woke", toldByGiveUp},
	{"EveryDueThingHappens_a_node_that_leaves_tells_of_what_it_gives_back", toldByLeave},
	{"CancelArrives_a_node_is_asked_whatever_its_namespace_is", askedInNamespace},
}

func ready(namespace, queue string) store.Wake {
	return store.Wake{Kind: store.WakeReady, Namespace: namespace, Queue: queue}
}

// isReady tells whether wake-ups say that a queue has something to claim.
func isReady(wakes []store.Wake, namespace, queue string) bool {
	return slices.ContainsFunc(wakes, func(w store.Wake) bool {
		return w.Kind == store.WakeReady && w.Namespace == namespace && w.Queue == queue
	})
}

// toldQueue is where tests have what is to be told of, in the other namespace.
const toldQueue = "told"

// listener is what a store tells by Watch.
type listener struct {
	*env
	mu    sync.Mutex
	wakes []store.Wake
	more  chan struct{}
}

// listen watches, from when wake-ups arrive.
func (e *env) listen() *listener {
	e.Helper()
	l := &listener{env: e, more: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(e.ctx)
	done := make(chan error, 1)
	go func() {
		done <- e.store.Watch(ctx, func(w store.Wake) {
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
	l.until("a store that tells", func([]store.Wake) bool { return e.store.Traits().Wakeups })
	return l
}

// tellPatience is how long what is told may take to arrive. It takes milliseconds.
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

// wantReady waits for a wake-up of the queue of what is told of.
func (l *listener) wantReady(what string) {
	l.Helper()
	l.wantReadyIn(toldQueue, what)
}

func (l *listener) wantReadyIn(queue, what string) {
	l.Helper()
	l.until(what, func(wakes []store.Wake) bool { return isReady(wakes, otherSpace, queue) })
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

// waitedFor makes a parent that waits for the answer of its child, in the queue that is to be told
// of, and returns the child's id.
func (e *env) waitedFor(change ...func(*store.Enqueue)) (child store.ID) {
	e.Helper()
	parent := e.started(queue(toldQueue))
	child = e.bear(&parent, 1, append([]func(*store.Enqueue){queue("children")}, change...)...)[0]
	e.park(parent, forSignals(store.MessageChild), withChildren)
	return child
}

func toldByBatch(e *env) {
	o := e.inOtherSpace()
	want := func(what string, batch *store.Batch) {
		e.Helper()
		if e.apply(batch); !isReady(batch.Woken, otherSpace, toldQueue) {
			e.Fatalf("%s: the batch tells of %+v", what, batch.Woken)
		}
	}
	waits := o.parked(forSignals(), queue(toldQueue))
	want("a message", &store.Batch{Sends: []*store.Send{{Job: waits.Job.ID, Message: signal("s")}}})
	o.claimOne(waits.Lease.Node, waits.Job.ID)
	child := o.claimOne(o.join(), o.waitedFor())
	want("a child's end", &store.Batch{Outcomes: []*store.Outcome{outcome(child, store.Completed)}})
}

func toldByRetry(e *env) {
	o := e.inOtherSpace()
	cancelled, scheduled := o.add(queue(toldQueue)), o.add(queue("told, too"), delay(time.Hour))
	o.cancel(cancelled)
	l := e.listen()
	o.retry(cancelled)
	l.wantReady("a cancelled job")
	o.retry(scheduled)
	l.wantReadyIn("told, too", "a scheduled one")
}

func toldByResume(e *env) {
	o := e.inOtherSpace()
	held, failed := o.held(queue(toldQueue)), o.started(queue("told, too"))
	o.end(failed, store.Failed)
	l := e.listen()
	o.resume(resumption(held.Job.ID), store.Available)
	l.wantReady("a held job")
	o.resume(resumption(failed.Job.ID), store.Available)
	l.wantReadyIn("told, too", "a failed one")
}

func toldByResumeLater(e *env) {
	o := e.inOtherSpace()
	id := o.add(queue(toldQueue), delay(time.Hour))
	o.pauseJob(id, store.Waiting)
	l := o.listen()
	o.resume(resumption(id), store.Scheduled)
	l.wantDue("a job that is scheduled again", o.get(id).RunAt)
}

func (e *env) forkTold(change ...func(*store.Enqueue)) store.ID {
	e.Helper()
	old := e.durable(3)
	q := e.job(append(change, queue(toldQueue))...)
	if err := e.store.Fork(e.ctx, store.ForkParams{From: old.Job.ID, Keep: 2, Job: q.Job, Reason: "again", Actor: "ada"}); err != nil {
		e.Fatalf("Fork: %v", err)
	}
	return q.Job.ID
}

func toldByFork(e *env) {
	l := e.listen()
	e.inOtherSpace().forkTold()
	l.wantReady("a fork")
}

func toldByForkLater(e *env) {
	l := e.listen()
	id := e.inOtherSpace().forkTold(runAt(e.clock.Now().Add(time.Hour)))
	l.wantDue("a fork that runs later", e.get(id).RunAt)
}

func toldByCancelOfDurable(e *env) {
	run := e.inOtherSpace().parked(forSignals(), queue(toldQueue))
	l := e.listen()
	e.cancel(run.Job.ID)
	l.wantReady("a job that has begun")
}

func toldByCancelOfChild(e *env) {
	child := e.inOtherSpace().waitedFor()
	l := e.listen()
	e.cancel(child)
	l.wantReady("the parent")
}

func toldByCancelOfTurn(e *env) {
	o := e.inOtherSpace()
	first := o.add(queue(toldQueue), ordered("k"))
	e.promote()
	o.add(queue(toldQueue), ordered("k"))
	l := e.listen()
	e.cancel(first)
	l.until("the next one of the key", func(wakes []store.Wake) bool {
		return isReady(wakes, otherSpace, toldQueue) || slices.ContainsFunc(wakes, func(w store.Wake) bool {
			return w.Kind == store.WakeDeferred && !w.Due.IsZero() && !w.Due.After(e.clock.Now())
		})
	})
}

func toldByTerminate(e *env) {
	o := e.inOtherSpace()
	run := o.claimOne(o.join(), o.waitedFor())
	l := e.listen()
	e.terminate(run.Job.ID)
	l.wantReady("the parent")
}

// toldBySweep: a job was to end itself, and a person has taken away what it remembers, so that no
// run has to answer the request.
func toldBySweep(e *env) {
	o := e.inOtherSpace()
	node := o.join()
	run := o.claimOne(node, o.waitedFor())
	o.write(&run, step(1))
	o.cancel(run.Job.ID)
	o.end(run, store.Retryable, func(out *store.Outcome) { out.CancelSeen, out.Delay = true, time.Hour })
	o.pauseJob(run.Job.ID, store.Waiting)
	params := resumption(run.Job.ID)
	params.Keep = 0
	if _, err := e.store.Resume(e.ctx, params); err != nil {
		e.Fatal(err)
	}
	l := e.listen()
	if n := e.sweep(); n != 1 {
		e.Fatalf("the sweep applied %d requests", n)
	}
	l.wantReady("the parent")
}

func toldByClose(e *env) {
	o := e.inOtherSpace()
	parent := o.started()
	id := o.bear(&parent, 1, queue(toldQueue))[0]
	child := o.claimOne(parent.Lease.Node, id)
	o.write(&child, step(1))
	o.park(child, forSignals())
	o.end(parent, store.Completed, withChildren)
	l := e.listen()
	e.closeChildren(10)
	l.wantReady("the child")
}

func toldByRescueOfChild(e *env) {
	o := e.inOtherSpace()
	run := o.claimOne(o.join(), o.waitedFor(attempts(1)))
	l := e.listen()
	if r := e.lose(run); !r.State.Finished() {
		e.Fatalf("rescued: %+v", r)
	}
	l.wantReady("the parent")
}

func toldByGiveUp(e *env) {
	o := e.inOtherSpace()
	run := o.claimOne(o.join(), o.waitedFor(attempts(1)))
	l := e.listen()
	if given := e.giveUp(run); len(given) != 1 || !given[0].State.Finished() {
		e.Fatalf("given up: %+v", given)
	}
	l.wantReady("the parent")
}

func toldByLeave(e *env) {
	run := e.inOtherSpace().started(queue(toldQueue))
	l := e.listen()
	e.leave(run.Lease.Node)
	l.wantReady("what runs no more")
}

// askedInNamespace: a beat names what a node is to stop, so that a wake-up need only say that there
// is something.
func askedInNamespace(e *env) {
	o := e.inOtherSpace()
	node := o.join()
	parent := o.claimOne(node, o.add())
	child := o.claimOne(node, o.bear(&parent, 1)[0])
	paused := o.claimOne(node, o.add())
	cancelled := o.claimOne(node, o.add())
	e.cancel(cancelled.Job.ID)
	e.pauseJob(paused.Job.ID, store.Running)
	o.end(parent, store.Completed, withChildren)
	if closed := e.closeOnce(10); len(closed.Running) != 1 || closed.Running[0] != child.Job.ID {
		e.Fatalf("closed: %+v", closed)
	}
	beat := e.beat(node)
	var asked []store.ID
	for _, c := range beat.Cancels {
		asked = append(asked, c.Job)
	}
	e.wantSameIDs("to be cancelled", asked, cancelled.Job.ID, child.Job.ID)
	e.wantIDs("to be paused", beat.Pauses, paused.Job.ID)
}
