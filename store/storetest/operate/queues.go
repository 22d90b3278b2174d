package operate

import (
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var queuesTests = env.Tests{
	"a_queue_exists_once_it_was_used_or_paused": queueExists,
	"counts_stop_at_their_bound":                queueCountBound,
	"the_oldest_due_job_is_told":                queueOldestDue,
	"pausing_is_recorded_with_who_asked":        queuePause,
	"queues_of_other_namespaces_are_not_told":   queueNamespaces,
}

func queueExists(e *env.Env) {
	queues, err := e.Store.Queues(e.Ctx, env.Namespace)
	if err != nil || len(queues) != 0 {
		e.Fatalf("a new store has the queues %v, %v", queues, err)
	}
	created := e.Clock.Now()
	e.Add(env.Queue("b"))
	e.Pause("c", true)
	e.Enqueue(e.Job(env.Queue("a")), e.Job(env.Queue("b"), env.Delay(time.Hour)))
	e.Clock.Advance(time.Hour)
	e.Add(env.Queue("a"))
	if queues, err = e.Store.Queues(e.Ctx, env.Namespace); err != nil || len(queues) != 3 {
		e.Fatalf("%d queues, %v", len(queues), err)
	}
	for i, name := range []string{"a", "b", "c"} {
		q := queues[i]
		if q.Name != name || q.Namespace != env.Namespace || !q.CreatedAt.Equal(created) || q.PausedAt.IsZero() != (name != "c") {
			e.Fatalf("queue %d: %+v", i, q)
		}
	}
	// The queue stays when its jobs have left it.
	for _, c := range e.Claim(e.Join(), 10) {
		e.End(c, store.Completed)
	}
	if q := e.Queue("a"); env.Counted(q) != nil {
		e.Fatalf("counts of an empty queue: %v", q.Counts)
	}
}

// queueCountBound: looking at a queue costs the same however long it is.
func queueCountBound(e *env.Env) {
	const n = store.CountBound + 1
	batch := min(e.Store.Traits().MaxBatch, 1000)
	for made := 0; made < n; made += batch {
		var jobs []*store.Enqueue
		for i := range min(batch, n-made) {
			jobs = append(jobs, e.Job(env.Kind(fmt.Sprintf("kind%d", i%2)), env.Priority(1+i%4)))
		}
		e.Enqueue(jobs...)
	}
	e.Equal("counts", env.Counted(e.Queue("mail")), map[store.State]store.Count{
		store.Available: {N: store.CountBound, More: true},
	})
}

func queueOldestDue(e *env.Env) {
	e.Add(env.Delay(time.Hour))
	if q := e.Queue("mail"); !q.OldestDue.IsZero() {
		e.Fatalf("the oldest job is due at %v, but there is none", q.OldestDue)
	}
	now := e.Clock.Now()
	e.Add()
	old := e.Add(env.RunAt(now.Add(-time.Hour)), env.Priority(4), env.Kind("push"))
	e.Add(env.Ordered("k"), env.RunAt(now.Add(-time.Minute)))
	if q := e.Queue("mail"); !q.OldestDue.Equal(now.Add(-time.Hour)) {
		e.Fatalf("the oldest job is due at %v", q.OldestDue)
	}
	e.Cancel(old)
	if q := e.Queue("mail"); !q.OldestDue.Equal(now.Add(-time.Minute)) {
		e.Fatalf("the oldest job is due at %v", q.OldestDue)
	}
}

func queuePause(e *env.Env) {
	for range 2 {
		e.Pause("mail", true)
		q := e.Queue("mail")
		if !q.PausedAt.Equal(e.Clock.Now()) || q.PausedBy != "ada" {
			e.Fatalf("paused queue: %+v", q)
		}
	}
	for range 2 {
		e.Pause("mail", false)
		if q := e.Queue("mail"); !q.PausedAt.IsZero() || q.PausedBy != "" {
			e.Fatalf("resumed queue: %+v", q)
		}
	}
}

func queueNamespaces(e *env.Env) {
	other := env.In("other")
	e.Add(other)
	e.Add(other)
	e.NoError("Pause", e.Store.Pause(e.Ctx, store.PauseParams{Namespace: "other", Queue: "mail", Paused: true}))
	id := e.Add()
	q := e.Queue("mail")
	if q.Counts[store.Available].N != 1 || !q.PausedAt.IsZero() {
		e.Fatalf("queue: %+v", q)
	}
	e.ClaimOne(e.Join(), id)
	queues, err := e.Store.Queues(e.Ctx, "other")
	if err != nil || len(queues) != 1 || queues[0].Counts[store.Available].N != 2 {
		e.Fatalf("queues of the other namespace: %+v, %v", queues, err)
	}
}
