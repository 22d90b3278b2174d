package storetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// What is over besides jobs: queues that nobody needs any more, and what people did. Reading: after
// how long a queue goes is the store's choice, but a week is long enough.
var retainQueuesTests = []test{
	{"a_queue_without_a_job_for_long_is_not_listed", queueGoes},
	{"many_queues_without_a_job_for_long_are_not_listed", queuesGo},
	{"a_paused_queue_stays", queuePausedStays},
	{"NoLoss_a_queue_with_a_job_stays_whatever_that_waits_for", queueUsedStays},
	{"NoLoss_a_queue_that_was_removed_comes_back_with_its_next_job", queueComesBack},
	{"NoLoss_a_job_that_is_let_go_on_finds_its_queue", queueOfFinished},
	{"what_people_did_to_a_job_is_told_as_long_as_there_is_one", auditStays},
	{"a_job_that_takes_the_id_of_a_removed_one_has_no_actions", auditGoes},
}

// briefly keeps nothing for longer than it must.
var briefly = store.RetainParams{Completed: time.Hour, Failed: time.Hour, Cancelled: time.Hour, Audit: time.Hour, Limit: 50}

// retire lets all that is over be removed: jobs, and then, day by day, what nobody has needed
// since.
func (e *env) retire(alive ...int64) {
	e.Helper()
	e.clock.Advance(time.Hour + slack)
	for range 8 {
		for _, node := range alive {
			e.beat(node)
		}
		e.retain(briefly)
		e.clock.Advance(24 * time.Hour)
	}
	for _, node := range alive {
		e.beat(node)
	}
	e.retain(briefly)
}

func (e *env) queueNames() []string {
	e.Helper()
	queues, err := e.store.Queues(e.ctx, namespace)
	if err != nil {
		e.Fatalf("Queues: %v", err)
	}
	var names []string
	for _, q := range queues {
		names = append(names, q.Name)
	}
	return names
}

// used makes a job of each of the queues, which are all finished then, in different ways.
func (e *env) used(node int64, queues ...string) []store.ID {
	e.Helper()
	var ids []store.ID
	for i, name := range queues {
		id := e.add(queue(name), kind([]string{"send", "push"}[i%2]), priority(1+i%4))
		ids = append(ids, id)
		if i%4 == 3 {
			e.cancel(id)
			continue
		}
		e.end(e.claimOne(node, id), []store.State{store.Completed, store.Failed, store.Cancelled}[i%3])
	}
	return ids
}

func queueGoes(e *env) {
	node := e.join()
	ids := e.used(node, "mail", "other")
	e.equal("queues", e.queueNames(), []string{"mail", "other"})
	e.clock.Advance(24 * time.Hour)
	e.beat(node)
	e.retain(store.RetainParams{Limit: 50})
	e.equal("queues whose jobs are kept", e.queueNames(), []string{"mail", "other"})
	e.retire(node)
	for _, id := range ids {
		e.wantGone(id)
	}
	e.equal("queues", e.queueNames(), nil)
}

// queuesGo: also if one call does not remove all of them, and if some are needed in the middle of
// them.
func queuesGo(e *env) {
	const n, limit = 240, 50
	node := e.join()
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("q%03d", i))
	}
	batch := min(e.store.Traits().MaxBatch, n)
	for part := range slices.Chunk(names, batch) {
		var jobs []*store.Enqueue
		for i, name := range part {
			jobs = append(jobs, e.job(queue(name), kind([]string{"send", "push"}[i%2]), priority(1+i%4)))
		}
		e.enqueue(jobs...)
	}
	ends := &store.Batch{}
	for _, run := range e.claim(node, n) {
		ends.Outcomes = append(ends.Outcomes, outcome(run, store.Completed))
	}
	e.apply(ends)
	if got := e.queueNames(); len(got) != n {
		e.Fatalf("%d queues are listed, want %d", len(got), n)
	}
	kept := []string{"q000", "q100", "q239"}
	var waiting []store.ID
	for _, name := range kept {
		waiting = append(waiting, e.add(queue(name)))
	}
	e.retire(node)
	e.equal("queues", e.queueNames(), kept)
	e.wantSameIDs("claimed", claimedIDs(e.claim(node, n)), waiting...)
}

func queuePausedStays(e *env) {
	node := e.join()
	e.used(node, "mail")
	e.pause("mail", true)
	e.pause("never used", true)
	before := []store.Queue{e.queue("mail"), e.queue("never used")}
	e.retire(node)
	e.retire(node)
	for _, q := range before {
		e.equal("queue", e.queue(q.Name), q)
	}
	id := e.add()
	e.wantNothing(node)
	e.pause("mail", false)
	e.end(e.claimOne(node, id), store.Completed)
	// Then it is a queue like others.
	e.pause("never used", false)
	e.retire(node)
	e.equal("queues", e.queueNames(), nil)
}

func queueUsedStays(e *env) {
	node := e.join()
	later := e.add(queue("scheduled"), delay(1000*24*time.Hour))
	run := e.claimOne(node, e.add(queue("running")))
	retryable := e.claimOne(node, e.add(queue("retryable")))
	e.end(retryable, store.Retryable, func(o *store.Outcome) { o.Delay = 1000 * 24 * time.Hour })
	parked := e.claimOne(node, e.add(queue("parked")))
	e.write(&parked, step(1))
	e.park(parked, forSignals())
	turn := e.claimOne(node, e.add(queue("keyed"), ordered("k")))
	e.end(turn, store.Scheduled, func(o *store.Outcome) { o.Delay = 1000 * 24 * time.Hour })
	blocked := e.add(queue("keyed"), ordered("k"))
	available := e.add(queue("available"))
	names := []string{"available", "keyed", "parked", "retryable", "running", "scheduled"}
	for _, name := range names { // of each of them something else is over
		e.end(e.claimOne(node, e.add(queue(name), kind("push"), priority(1))), store.Completed)
	}
	e.retire(node)
	e.equal("queues", e.queueNames(), names)
	counts := map[string]store.State{
		"available": store.Available, "parked": store.Waiting, "retryable": store.Retryable, "running": store.Running,
		"scheduled": store.Scheduled,
	}
	for name, state := range counts {
		e.equal("counts of "+name, counted(e.queue(name)), map[store.State]store.Count{state: {N: 1}})
	}
	e.send(parked.Job.ID, signal("s"))
	for _, id := range []store.ID{later, retryable.Job.ID, turn.Job.ID} {
		e.retry(id)
	}
	e.end(run, store.Completed)
	var claimed []store.ID
	for range 2 {
		for id, c := range e.claimRuns(node) {
			claimed = append(claimed, id)
			e.end(c, store.Completed)
		}
	}
	e.wantSameIDs("claimed", claimed, later, retryable.Job.ID, parked.Job.ID, turn.Job.ID, blocked, available)
}

// queueComesBack: by every way in which a job gets there.
func queueComesBack(e *env) {
	node := e.join()
	names := []string{"child", "enqueued", "forked", "keyed", "paused", "replaced", "scheduled", "started", "unique"}
	gone := e.used(node, names...)
	parent := e.claimOne(node, e.add(queue("parents")))
	e.retire(node)
	e.equal("queues", e.queueNames(), []string{"parents"})
	e.wantGone(gone[0])
	created := e.clock.Now()
	e.wantNothing(node)

	child := e.bear(&parent, 1, queue("child"))[0]
	enqueued, keyed, unq := e.add(queue("enqueued")), e.add(queue("keyed"), ordered("k")), e.add(queue("unique"), unique("u"))
	forked := e.fork(parent.Job.ID, 1, queue("forked"))
	scheduled := e.add(queue("scheduled"), delay(time.Minute))
	e.add(queue("replaced"), unique("r"), delay(time.Hour))
	replaced := e.try(unique("r"), queue("replaced"), onConflict(store.Replace), runAt(e.clock.Now())).Result.ID
	e.pause("paused", true)
	paused := e.add(queue("paused"), priority(3), kind("push"))
	started := e.job(queue("started"))
	run := e.startNow(node, started)[0]

	e.equal("queues", e.queueNames(), []string{
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
		q := e.queue(name)
		e.equal("counts of "+name, counted(q), want)
		if !q.CreatedAt.Equal(created) {
			e.Fatalf("the queue %s is from %v, want %v", name, q.CreatedAt, created)
		}
	}
	for name, id := range map[string]store.ID{"enqueued": enqueued, "paused": paused, "started": started.Job.ID} {
		e.wantIDs("listed in "+name, e.listIDs(store.Filter{Queues: []string{name}}), id)
	}
	e.wantSameIDs("claimed", claimedIDs(e.claim(node, 100)), child, enqueued, forked, keyed, replaced, unq)
	e.pause("paused", false)
	e.later(node, time.Minute)
	params := e.demand(node, 10)
	params.Queues = []store.QueueDemand{{Name: "paused", Limit: 5}, {Name: "scheduled", Limit: 5}, {Name: "child", Limit: 5}}
	e.wantSameIDs("claimed of some queues", claimedIDs(e.claimWith(params)), paused, scheduled)
	e.end(run, store.Completed)
}

// queueOfFinished: a finished job that is kept may run again, however long its queue had nothing
// else.
func queueOfFinished(e *env) {
	node := e.join()
	failed := e.used(node, "other", "mail")[1]
	e.wantState(failed, store.Failed)
	params := briefly
	params.Failed = 0
	for range 12 {
		e.clock.Advance(24 * time.Hour)
		e.beat(node)
		e.retain(params)
	}
	e.equal("queues", e.queueNames(), []string{"mail"})
	e.retry(failed)
	e.end(e.claimRuns(node)[failed], store.Completed)
}

func auditStays(e *env) {
	id := e.add()
	e.tryPause(id)
	e.goOn(id)
	e.cancel(id)
	before := e.get(id)
	params := briefly
	params.Cancelled = 0
	for range 10 {
		e.clock.Advance(24 * time.Hour)
		e.retain(params)
	}
	if len(before.Actions) != 3 {
		e.Fatalf("record: %+v", before)
	}
	e.equal("record", e.get(id), before)
}

func auditGoes(e *env) {
	id := e.add()
	e.tryPause(id)
	e.cancel(id)
	e.retire()
	e.wantGone(id)
	e.enqueue(e.job(func(q *store.Enqueue) { q.Job.ID = id }))
	e.wantActions(id)
	e.tryPause(id)
	e.wantActions(id, by(store.ActionPause, "look first"))
}

// raceQueues: jobs come into queues at the very moment in which these are removed. None of them is
// where nobody looks.
func raceQueues(e *env) {
	const rounds, queues, producers = 6, 12, 3
	node := e.join()
	var names []string
	for i := range queues {
		names = append(names, fmt.Sprint("q", i))
	}
	var ids []store.ID
	for round := range rounds {
		e.used(node, names...)
		e.clock.Advance(time.Hour + slack)
		// From some time on the queues may go at any call.
		for range 2 + round {
			e.beat(node)
			e.retain(briefly)
			e.clock.Advance(24 * time.Hour)
		}
		e.beat(node)
		jobs := make([][]*store.Enqueue, producers)
		ids = ids[:0]
		for i := range jobs {
			for _, name := range names {
				q := e.job(queue(name), kind([]string{"send", "push"}[i%2]))
				jobs[i], ids = append(jobs[i], q), append(ids, q.Job.ID)
			}
		}
		e.together(producers+1, func(i int) error {
			if i == producers {
				for range 4 {
					if _, err := e.store.Retain(e.ctx, briefly); err != nil && !errors.Is(err, store.ErrUnavailable) {
						return fmt.Errorf("Retain: %w", err)
					}
				}
				return nil
			}
			for part := range slices.Chunk(jobs[i], 2+i) {
				if err := e.tryNow(e.ctx, &store.Batch{Enqueues: part}); err != nil {
					return err
				}
				for _, q := range part {
					if q.Err != nil {
						return fmt.Errorf("enqueue: %w", q.Err)
					}
				}
			}
			return nil
		})
		e.wantSameIDs("listed", e.listIDs(store.Filter{States: []store.State{store.Available}}), ids...)
		for _, name := range names {
			e.equal("counts of "+name, counted(e.queue(name)), map[store.State]store.Count{store.Available: {N: producers}})
		}
		runs := e.claim(node, 2*len(ids))
		e.wantSameIDs("claimed", claimedIDs(runs), ids...)
		for _, run := range runs {
			e.end(run, store.Completed)
		}
	}
}
