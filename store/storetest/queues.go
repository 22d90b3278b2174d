package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

var queuesTests = []test{
	{"a_queue_exists_once_it_was_used_or_paused", queueExists},
	{"counts_are_of_the_states_that_are_not_finished", queueCounts},
	{"counts_stop_at_their_bound", queueCountBound},
	{"the_oldest_due_job_is_told", queueOldestDue},
	{"pausing_is_recorded_with_who_asked", queuePause},
	{"queues_of_other_namespaces_are_not_told", queueNamespaces},
}

func queueExists(e *env) {
	queues, err := e.store.Queues(e.ctx, namespace)
	if err != nil || len(queues) != 0 {
		e.Fatalf("a new store has the queues %v, %v", queues, err)
	}
	created := e.clock.Now()
	e.add(queue("b"))
	e.pause("c", true)
	e.enqueue(e.job(queue("a")), e.job(queue("b"), delay(time.Hour)))
	e.clock.Advance(time.Hour)
	e.add(queue("a"))
	if queues, err = e.store.Queues(e.ctx, namespace); err != nil || len(queues) != 3 {
		e.Fatalf("%d queues, %v", len(queues), err)
	}
	for i, name := range []string{"a", "b", "c"} {
		q := queues[i]
		if q.Name != name || q.Namespace != namespace || !q.CreatedAt.Equal(created) || q.PausedAt.IsZero() != (name != "c") {
			e.Fatalf("queue %d: %+v", i, q)
		}
	}
	// It is there after its jobs are gone from it.
	for _, c := range e.claim(e.join(), 10) {
		e.end(c, store.Completed)
	}
	if q := e.queue("a"); counted(q) != nil {
		e.Fatalf("counts of an empty queue: %v", q.Counts)
	}
}

// counted leaves out the states of which there is nothing.
func counted(q store.Queue) map[store.State]store.Count {
	var counts map[store.State]store.Count
	for state, count := range q.Counts {
		if count != (store.Count{}) {
			if counts == nil {
				counts = map[store.State]store.Count{}
			}
			counts[state] = count
		}
	}
	return counts
}

func queueCounts(e *env) {
	for range 12 {
		e.add()
	}
	e.add(queue("other"))
	runs := e.claim(e.join(), 9)
	ends := append(slices.Clone(endStates), store.Retryable)
	for i, state := range ends {
		e.end(runs[i], state)
	}
	e.add(ordered("k"))
	e.add(ordered("k"))
	e.equal("counts", counted(e.queue("mail")), map[store.State]store.Count{
		store.Available: {N: 6}, store.Running: {N: 2}, store.Retryable: {N: 2}, store.Scheduled: {N: 1},
	})
	e.equal("counts of the other", counted(e.queue("other")), map[store.State]store.Count{store.Available: {N: 1}})
}

// queueCountBound: looking at a queue costs the same however long it is.
func queueCountBound(e *env) {
	const n = store.CountBound + 1
	batch := min(e.store.Traits().MaxBatch, 1000)
	for made := 0; made < n; made += batch {
		var jobs []*store.Enqueue
		for i := range min(batch, n-made) {
			jobs = append(jobs, e.job(kind(fmt.Sprintf("kind%d", i%2)), priority(1+i%4)))
		}
		e.enqueue(jobs...)
	}
	e.equal("counts", counted(e.queue("mail")), map[store.State]store.Count{
		store.Available: {N: store.CountBound, More: true},
	})
}

func queueOldestDue(e *env) {
	e.add(delay(time.Hour))
	if q := e.queue("mail"); !q.OldestDue.IsZero() {
		e.Fatalf("the oldest job is due at %v, but there is none", q.OldestDue)
	}
	now := e.clock.Now()
	e.add()
	old := e.add(runAt(now.Add(-time.Hour)), priority(4), kind("push"))
	e.add(ordered("k"), runAt(now.Add(-time.Minute)))
	if q := e.queue("mail"); !q.OldestDue.Equal(now.Add(-time.Hour)) {
		e.Fatalf("the oldest job is due at %v", q.OldestDue)
	}
	e.cancel(old)
	if q := e.queue("mail"); !q.OldestDue.Equal(now.Add(-time.Minute)) {
		e.Fatalf("the oldest job is due at %v", q.OldestDue)
	}
}

func queuePause(e *env) {
	for range 2 {
		e.pause("mail", true)
		q := e.queue("mail")
		if !q.PausedAt.Equal(e.clock.Now()) || q.PausedBy != "ada" {
			e.Fatalf("paused queue: %+v", q)
		}
	}
	id := e.add()
	node := e.join()
	e.wantNothing(node)
	for range 2 {
		e.pause("mail", false)
		if q := e.queue("mail"); !q.PausedAt.IsZero() || q.PausedBy != "" {
			e.Fatalf("resumed queue: %+v", q)
		}
	}
	e.claimOne(node, id)
}

func queueNamespaces(e *env) {
	other := func(q *store.Enqueue) { q.Job.Namespace = "other" }
	e.add(other)
	e.add(other)
	if err := e.store.Pause(e.ctx, store.PauseParams{Namespace: "other", Queue: "mail", Paused: true}); err != nil {
		e.Fatalf("Pause: %v", err)
	}
	id := e.add()
	q := e.queue("mail")
	if q.Counts[store.Available].N != 1 || !q.PausedAt.IsZero() {
		e.Fatalf("queue: %+v", q)
	}
	e.claimOne(e.join(), id)
	queues, err := e.store.Queues(e.ctx, "other")
	if err != nil || len(queues) != 1 || queues[0].Counts[store.Available].N != 2 {
		e.Fatalf("queues of the other namespace: %+v, %v", queues, err)
	}
}
