package operate

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// A store also removes queues that are not needed any more, and what people did. Reading: the store
// chooses when a queue goes, but after a week it must be gone.
var retainQueuesTests = env.Tests{
	"a_queue_without_a_job_for_long_is_not_listed":                 queueGoes,
	"many_queues_without_a_job_for_long_are_not_listed":            queuesGo,
	"a_paused_queue_stays":                                         queuePausedStays,
	"NoLoss_a_queue_with_a_job_stays_whatever_that_waits_for":      queueUsedStays,
	"NoLoss_a_queue_that_was_removed_comes_back_with_its_next_job": queueComesBack,
	"NoLoss_a_job_that_is_let_go_on_finds_its_queue":               queueOfFinished,
	"a_repeated_enqueue_brings_no_queue_back":                      queueRepeated,
	"what_people_did_to_a_job_is_told_as_long_as_there_is_one":     auditStays,
	"a_job_that_takes_the_id_of_a_removed_one_has_no_actions":      auditGoes,
}

func queueGoes(e *env.Env) {
	node := e.Join()
	ids := e.Used(node, "mail", "other")
	e.Equal("queues", e.QueueNames(), []string{"mail", "other"})
	e.Clock.Advance(24 * time.Hour)
	e.Beat(node)
	e.Retain(store.Retention{Limit: 50})
	e.Equal("queues whose jobs are kept", e.QueueNames(), []string{"mail", "other"})
	e.Retire(node)
	for _, id := range ids {
		e.WantGone(id)
	}
	e.Equal("queues", e.QueueNames(), nil)
}

// queuesGo: one call may not remove all queues, and some between them are still needed.
func queuesGo(e *env.Env) {
	const n, limit = 240, 50
	node := e.Join()
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("q%03d", i))
	}
	batch := min(e.Store.Traits().MaxBatch, n)
	for part := range slices.Chunk(names, batch) {
		var jobs []*store.Enqueue
		for i, name := range part {
			jobs = append(jobs, e.Job(env.Queue(name), env.Kind([]string{"send", "push"}[i%2]), env.Priority(1+i%4)))
		}
		e.Enqueue(jobs...)
	}
	e.EndAll(e.Claim(node, n), store.Completed)
	if got := e.QueueNames(); len(got) != n {
		e.Fatalf("%d queues are listed, want %d", len(got), n)
	}
	kept := []string{"q000", "q100", "q239"}
	var waiting []store.ID
	for _, name := range kept {
		waiting = append(waiting, e.Add(env.Queue(name)))
	}
	e.Retire(node)
	e.Equal("queues", e.QueueNames(), kept)
	e.WantSameIDs("claimed", env.ClaimedIDs(e.Claim(node, n)), waiting...)
}

// queueRepeated: a job is known by its id, whatever queue it is in by now. Who enqueues it again
// changes nothing.
func queueRepeated(e *env.Env) {
	node := e.Join()
	q, started := e.Job(env.Queue("old")), e.Job(env.Queue("older"))
	e.Enqueue(q, started)
	to := "new"
	e.Edit(q.Job.ID, store.Edit{Queue: &to}, store.Available)
	e.Edit(started.Job.ID, store.Edit{Queue: &to}, store.Available)
	repeat := func() {
		again := []*store.Enqueue{e.Job(), e.Job(), e.Job()}
		again[0].Job, again[1].Job, again[2].Job = q.Job, started.Job, q.Job
		again[2].Job.Queue, again[2].Job.UniqueKey, again[2].Job.UniqueStates = "third", []byte("u"), store.Unfinished
		e.Apply(e.Starting(node, again...))
		e.Enqueue(again...)
		for _, a := range again {
			e.Equal("it is known", a.Result.Existing, true)
		}
	}
	e.Retire(node)
	names := e.QueueNames() // a store may need old ones for longer
	repeat()
	e.Equal("queues", e.QueueNames(), names)
	both := e.Job(env.Queue("first")) // the same job twice in a batch
	other := e.Job()
	other.Job = both.Job
	other.Job.Queue = "second"
	e.Enqueue(both, other)
	e.Equal("it is known", other.Result.Existing, true)
	e.Equal("queues", e.QueueNames(), append([]string{"first"}, names...))
}

func queuePausedStays(e *env.Env) {
	node := e.Join()
	e.Used(node, "mail")
	e.Pause("mail", true)
	e.Pause("never used", true)
	before := []store.Queue{e.Queue("mail"), e.Queue("never used")}
	e.Retire(node)
	e.Retire(node)
	for _, q := range before {
		e.Equal("queue", e.Queue(q.Name), q)
	}
	id := e.Add()
	e.WantNothing(node)
	e.Pause("mail", false)
	e.End(e.ClaimOne(node, id), store.Completed)
	// A queue that is not paused any more is removed like others.
	e.Pause("never used", false)
	e.Retire(node)
	e.Equal("queues", e.QueueNames(), nil)
}

func queueUsedStays(e *env.Env) {
	node := e.Join()
	later := e.Add(env.Queue("scheduled"), env.Delay(1000*24*time.Hour))
	run := e.ClaimOne(node, e.Add(env.Queue("running")))
	retryable := e.ClaimOne(node, e.Add(env.Queue("retryable")))
	e.End(retryable, store.Retryable, func(o *store.Outcome) { o.Delay = 1000 * 24 * time.Hour })
	parked := e.ClaimOne(node, e.Add(env.Queue("parked")))
	e.Write(&parked, env.Step(1))
	e.Park(parked, env.ForSignals())
	turn := e.ClaimOne(node, e.Add(env.Queue("keyed"), env.Ordered("k")))
	e.End(turn, store.Scheduled, func(o *store.Outcome) { o.Delay = 1000 * 24 * time.Hour })
	blocked := e.Add(env.Queue("keyed"), env.Ordered("k"))
	available := e.Add(env.Queue("available"))
	names := []string{"available", "keyed", "parked", "retryable", "running", "scheduled"}
	for _, name := range names { // of each of them something else is over
		e.End(e.ClaimOne(node, e.Add(env.Queue(name), env.Kind("push"), env.Priority(1))), store.Completed)
	}
	e.Retire(node)
	e.Equal("queues", e.QueueNames(), names)
	counts := map[string]store.State{
		"available": store.Available, "parked": store.Waiting, "retryable": store.Retryable, "running": store.Running,
		"scheduled": store.Scheduled,
	}
	for name, state := range counts {
		e.Equal("counts of "+name, env.Counted(e.Queue(name)), map[store.State]store.Count{state: {N: 1}})
	}
	e.Send(parked.Job.ID, env.Signal("s"))
	for _, id := range []store.ID{later, retryable.Job.ID, turn.Job.ID} {
		e.Retry(id)
	}
	e.End(run, store.Completed)
	var claimed []store.ID
	for range 2 {
		for id, c := range e.ClaimRuns(node) {
			claimed = append(claimed, id)
			e.End(c, store.Completed)
		}
	}
	e.WantSameIDs("claimed", claimed, later, retryable.Job.ID, parked.Job.ID, turn.Job.ID, blocked, available)
}

// queueComesBack: a job may come into a removed queue in each of these ways.
func queueComesBack(e *env.Env) {
	node := e.Join()
	names := []string{"child", "enqueued", "forked", "keyed", "paused", "replaced", "scheduled", "started", "unique"}
	gone := e.Used(node, names...)
	parent := e.ClaimOne(node, e.Add(env.Queue("parents")))
	e.Retire(node)
	e.Equal("queues", e.QueueNames(), []string{"parents"})
	e.WantGone(gone[0])
	created := e.Clock.Now()
	e.WantNothing(node)

	child := e.Bear(&parent, 1, env.Queue("child"))[0]
	enqueued, keyed := e.Add(env.Queue("enqueued")), e.Add(env.Queue("keyed"), env.Ordered("k"))
	unq := e.Add(env.Queue("unique"), env.Unique("u"))
	forked := e.Fork(parent.Job.ID, 1, env.Queue("forked"))
	scheduled := e.Add(env.Queue("scheduled"), env.Delay(time.Minute))
	e.Add(env.Queue("replaced"), env.Unique("r"), env.Delay(time.Hour))
	replaced := e.Try(env.Unique("r"), env.Queue("replaced"), env.OnConflict(store.Replace), env.RunAt(e.Clock.Now())).Result.ID
	e.Pause("paused", true)
	paused := e.Add(env.Queue("paused"), env.Priority(3), env.Kind("push"))
	started := e.Job(env.Queue("started"))
	run := e.StartNow(node, started)[0]

	e.Equal("queues", e.QueueNames(), []string{
		"child", "enqueued", "forked", "keyed", "parents", "paused", "replaced", "scheduled", "started", "unique",
	})
	for _, name := range names {
		want := map[store.State]store.Count{store.Available: {N: 1}}
		switch name {
		case "scheduled":
			want = map[store.State]store.Count{store.Scheduled: {N: 1}}
		case "started":
			want = map[store.State]store.Count{store.Running: {N: 1}}
		}
		q := e.Queue(name)
		e.Equal("counts of "+name, env.Counted(q), want)
		if !q.CreatedAt.Equal(created) {
			e.Fatalf("the queue %s is from %v, want %v", name, q.CreatedAt, created)
		}
	}
	for name, id := range map[string]store.ID{"enqueued": enqueued, "paused": paused, "started": started.Job.ID} {
		e.WantIDs("listed in "+name, e.ListIDs(store.Filter{Queues: []string{name}}), id)
	}
	e.WantSameIDs("claimed", env.ClaimedIDs(e.Claim(node, 100)), child, enqueued, forked, keyed, replaced, unq)
	e.Pause("paused", false)
	e.Later(node, time.Minute)
	params := e.Demand(node, 10)
	params.Queues = []store.QueueDemand{{Name: "paused", Limit: 5}, {Name: "scheduled", Limit: 5}, {Name: "child", Limit: 5}}
	e.WantSameIDs("claimed of some queues", env.ClaimedIDs(e.ClaimWith(params)), paused, scheduled)
	e.End(run, store.Completed)
}

// queueOfFinished: a finished job that is kept may run again, however long its queue had nothing
// else.
func queueOfFinished(e *env.Env) {
	node := e.Join()
	failed := e.Used(node, "other", "mail")[1]
	e.WantState(failed, store.Failed)
	params := env.Briefly
	params.Failed = 0
	for range 12 {
		e.Clock.Advance(24 * time.Hour)
		e.Beat(node)
		e.Retain(params)
	}
	e.Equal("queues", e.QueueNames(), []string{"mail"})
	e.Retry(failed)
	e.End(e.ClaimRuns(node)[failed], store.Completed)
}

func auditStays(e *env.Env) {
	id := e.Add()
	e.TryPause(id)
	e.GoOn(id)
	e.Cancel(id)
	before := e.Get(id)
	params := env.Briefly
	params.Cancelled = 0
	for range 10 {
		e.Clock.Advance(24 * time.Hour)
		e.Retain(params)
	}
	if len(before.Actions) != 3 {
		e.Fatalf("record: %+v", before)
	}
	e.Equal("record", e.Get(id), before)
}

func auditGoes(e *env.Env) {
	id := e.Add()
	e.TryPause(id)
	e.Cancel(id)
	e.Retire()
	e.WantGone(id)
	e.Enqueue(e.Job(env.ID(id)))
	wantActions(e, id)
	e.TryPause(id)
	wantActions(e, id, by(store.ActionPause, "look first"))
}
