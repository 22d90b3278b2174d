package gates

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// What else is done to jobs that wait at a gate: they are available, as all others.
var placeTests = env.Tests{
	"it_is_listed_and_counted":                       placeListed,
	"CancelArrives_it_is_cancelled":                  placeCancelled,
	"CancelArrives_one_that_remembers_is_asked":      placeDurable,
	"it_is_terminated":                               placeTerminated,
	"it_is_paused_and_resumed":                       placePaused,
	"a_person_edits_it":                              placeEdited,
	"it_is_not_retried_and_not_deleted":              placeLeft,
	"a_queue_in_which_one_waits_is_not_deleted":      placeQueue,
	"it_is_made_to_wait_for_another_one":             placeDepends,
	"NoLoss_it_outlives_all_that_finished":           placeRetained,
	"with_an_ordering_key_it_has_its_turn":           placeOrdered,
	"a_node_that_serves_its_kind_is_told_of":         placeServed,
	"it_continues_as_new_and_is_forked_with_its_key": placeAnew,
}

// waiting makes a run of a key of which one may run, and a job that waits.
func waiting(e *env.Env, change ...func(*store.Enqueue)) (node int64, run store.Claimed, id store.ID) {
	perKey(e, 1)
	node = e.Join()
	run = e.ClaimOne(node, e.Add(by("acme"), env.Priority(1)))
	id = e.Add(append([]func(*store.Enqueue){by("acme")}, change...)...)
	e.WantNothing(node)
	e.WantState(id, store.Available)
	return node, run, id
}

// wantNext checks that the job is the next of its key.
func wantNext(e *env.Env, node int64, run store.Claimed, id store.ID) store.Claimed {
	e.Helper()
	e.WantNothing(node)
	e.End(run, store.Completed)
	return e.ClaimOne(node, id)
}

func placeListed(e *env.Env) {
	node, run, id := waiting(e)
	available := store.Filter{States: []store.State{store.Available}}
	e.WantIDs("listed", e.ListIDs(available), id)
	e.WantIDs("of its kind", e.ListIDs(store.Filter{Kinds: []string{"send"}, States: available.States}), id)
	e.WantIDs("of its queue", e.ListIDs(store.Filter{Queues: []string{"mail"}, States: available.States}), id)
	e.WantIDs("of another one", e.ListIDs(store.Filter{Queues: []string{"other"}, States: available.States}))
	e.WantIDs("by its time", e.Sorted(store.SortRunAt, store.Filter{}, 10), run.Job.ID, id)
	e.Equal("counted", e.Count(available), 1)
	q := e.Queue("mail")
	e.Equal("the queue", q.Counts, map[store.State]store.Count{store.Available: {N: 1}, store.Running: {N: 1}})
	r := e.Get(id)
	e.Equal("its options", r.Options, store.Options{Limit: tenant, LimitKey: "acme"})
	e.Equal("blocked", r.Blocked, false)
	if !q.OldestDue.Equal(r.RunAt) {
		e.Errorf("the oldest of the queue is due at %v, and the job at %v", q.OldestDue, r.RunAt)
	}
	wantNext(e, node, run, id)
}

func placeCancelled(e *env.Env) {
	node, run, id := waiting(e)
	e.Equal("cancelled", e.Cancel(id), []store.State{store.Cancelled})
	e.WantState(id, store.Cancelled)
	e.End(run, store.Completed)
	e.WantNothing(node)
	e.Equal("the queue", len(e.Queue("mail").Counts), 0)
	e.Retry(id)
	e.ClaimOne(node, id)
}

func placeDurable(e *env.Env) {
	perKey(e, 1)
	node := e.Join()
	first := e.ClaimOne(node, e.Add(by("acme")))
	e.Write(&first, env.Steps(1, 1)...)
	e.EndAs(store.Available, first, store.Available)
	run := e.ClaimOne(node, e.Add(by("acme"), env.Priority(1)))
	e.WantNothing(node)
	e.Equal("asked", e.Cancel(first.Job.ID), []store.State{store.Available})
	if again := wantNext(e, node, run, first.Job.ID); !again.CancelRequested {
		e.Fatal("the run is not told that it was cancelled")
	}
}

func placeTerminated(e *env.Env) {
	node, run, id := waiting(e)
	e.Equal("terminated", e.Terminate(id), []store.State{store.Cancelled})
	e.End(run, store.Completed)
	e.WantNothing(node)
}

func placePaused(e *env.Env) {
	node, run, id := waiting(e)
	e.PauseJob(id, store.Waiting)
	e.End(run, store.Completed)
	e.WantNothing(node)
	run = e.ClaimOne(node, e.Add(by("acme"), env.Priority(1)))
	e.Resume(env.Resumption(id), store.Available)
	wantNext(e, node, run, id)
}

func placeEdited(e *env.Env) {
	node, run, id := waiting(e)
	first := e.Add(by("acme"))
	e.WantNothing(node)
	priority, queue := 1, "other"
	e.Edit(first, store.Edit{Priority: &priority}, store.Available)
	e.Edit(id, store.Edit{Queue: &queue}, store.Available)
	e.Equal("the key", e.Get(id).Options.LimitKey, "acme")
	wantNext(e, node, wantNext(e, node, run, first), id)
	later := e.Add(by("acme"))
	e.WantNothing(node)
	at := e.Clock.Now().Add(time.Hour)
	e.Edit(later, store.Edit{RunAt: &at}, store.Scheduled)
}

func placeLeft(e *env.Env) {
	node, run, id := waiting(e)
	if r := e.TryRetry(id); r.Err != nil || r.State != store.Available {
		e.Fatalf("the retry: %+v", r)
	}
	if r := e.TryDelete(id); r[0].Err == nil {
		e.Fatal("a job that waits was deleted")
	}
	wantNext(e, node, run, id)
}

func placeQueue(e *env.Env) {
	node, run, id := waiting(e, env.Queue("slow"))
	if err := e.TryDeleteQueue("slow"); err == nil {
		e.Fatal("a queue in which a job waits was deleted")
	}
	e.Pause("slow", true)
	e.End(run, store.Completed)
	e.WantNothing(node)
	e.Pause("slow", false)
	e.ClaimOne(node, id)
}

func placeDepends(e *env.Env) {
	node, run, id := waiting(e)
	e.Depend(id, store.CancelIfFailed, store.Waiting, run.Job.ID)
	e.WantState(id, store.Waiting)
	e.End(run, store.Completed)
	e.CloseChildren(10)
	e.ClaimOne(node, id)
}

func placeRetained(e *env.Env) {
	node, run, id := waiting(e)
	for range 5 {
		e.Clock.Advance(24 * time.Hour)
		e.Beat(node)
		e.Retain(env.Briefly)
	}
	wantNext(e, node, run, id)
}

func placeOrdered(e *env.Env) {
	node, run, id := waiting(e, env.Ordered("doc"))
	after := e.Add(env.Ordered("doc"))
	e.WantNothing(node)
	e.Equal("blocked", e.Get(after).Blocked, true)
	second := wantNext(e, node, run, id)
	e.WantNothing(node)
	e.End(second, store.Completed)
	e.ClaimOne(node, after)
	third := e.Add(by("acme"), env.Ordered("doc2"))
	run = e.ClaimRuns(node)[third]
	fourth := e.Add(by("acme"), env.Ordered("doc3"))
	e.WantNothing(node)
	e.Cancel(fourth)
	next := e.Add(env.Ordered("doc3"))
	e.End(run, store.Completed)
	e.ClaimOne(node, next)
}

func placeServed(e *env.Env) {
	node, err := e.Store.Join(e.Ctx, store.NodeInfo{Name: "host/1", Namespace: env.Namespace, Slots: 10, Kinds: []string{"send"}})
	e.NoError("Join", err)
	perKey(e, 1)
	e.Add(by("acme"))
	push := e.Add(by("acme"), env.Kind("push"))
	found, err := e.Store.Unserved(e.Ctx, 10)
	e.NoError("Unserved", err)
	if len(found) != 1 || found[0].Kind != "push" || found[0].Version != "" {
		e.Fatalf("what no node serves: %+v (job %v, node %d)", found, push, node)
	}
}

func placeAnew(e *env.Env) {
	node, run, id := waiting(e)
	e.Write(&run, env.Steps(1, 1)...)
	e.EndAs(store.Available, run, store.Available, env.AsNew(`{"to":"bob"}`))
	again := e.ClaimOne(node, run.Job.ID)
	e.WantNothing(node)
	e.Write(&again, env.Steps(3, 3)...)
	e.End(again, store.Failed)
	fork := e.Fork(run.Job.ID, 2, by("acme"), env.Priority(1))
	forked := e.ClaimOne(node, fork)
	e.WantNothing(node)
	e.End(forked, store.Completed)
	e.ClaimOne(node, id)
}
