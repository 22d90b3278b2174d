package operate

import (
	"errors"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var deleteQueueTests = env.Tests{
	"a_deleted_queue_is_listed_only_while_it_has_unfinished_jobs": deletedListed,
	"a_queue_with_unfinished_jobs_is_not_deleted":                 deleteRefused,
	"deleting_a_queue_ends_its_pause":                             deletePaused,
	"a_deleted_queue_that_is_paused_or_resumed_is_listed_again":   deletedBack,
	"NoLoss_a_finished_job_of_a_deleted_queue_may_run_again":      deletedRetried,
	"a_queue_is_deleted_in_its_namespace":                         deleteNamespace,
	"a_queue_that_is_not_listed_cannot_be_deleted":                deleteUnknown,
	"a_deleted_queue_is_removed_like_others":                      deletedRemoved,
}

// deleted takes a queue off the list.
func deleted(e *env.Env, queue string) {
	e.Helper()
	e.NoError("DeleteQueue", e.TryDeleteQueue(queue))
}

func deletedListed(e *env.Env) {
	node := e.Join()
	e.Used(node, "mail", "other")
	e.Clock.Advance(time.Minute)
	deleted(e, "mail")
	e.Equal("queues", e.QueueNames(), []string{"other"})
	// It works like any other.
	id := e.Add()
	want := map[store.State]store.Count{store.Available: {N: 1}}
	e.Equal("counts", env.Counted(e.Queue("mail")), want)
	if q := e.Queue("mail"); q.CreatedAt.IsZero() || !q.PausedAt.IsZero() || !q.OldestDue.Equal(e.Clock.Now()) {
		e.Fatalf("a deleted queue with a job: %+v", q)
	}
	run := e.ClaimOne(node, id)
	e.Equal("queues while a job runs", e.QueueNames(), []string{"mail", "other"})
	e.End(run, store.Completed)
	e.Equal("queues when it has completed", e.QueueNames(), []string{"other"})
	e.WantIDs("the jobs of the queue", e.ListIDs(store.Filter{Queues: []string{"mail"}})[:1], id)
	// So does one with an ordering key, or a time to come.
	keyed, later := e.Add(env.Ordered("k")), e.Add(env.Delay(time.Hour), env.Queue("other"))
	e.Equal("queues with a keyed job", e.QueueNames(), []string{"mail", "other"})
	e.Cancel(keyed)
	e.Cancel(later)
	deleted(e, "other")
	e.Equal("queues", e.QueueNames(), nil)
}

// deleteRefused: Reading: a job that is not finished keeps its queue, whatever it waits for.
func deleteRefused(e *env.Env) {
	node := e.Join()
	retryable := e.ClaimOne(node, e.Add(env.Queue("retryable")))
	e.End(retryable, store.Retryable, func(o *store.Outcome) { o.Delay = time.Hour })
	parked := e.ClaimOne(node, e.Add(env.Queue("parked")))
	e.Write(&parked, env.Step(1))
	e.Park(parked, env.ForSignals())
	turn := e.ClaimOne(node, e.Add(env.Queue("turn"), env.Ordered("k")))
	ids := map[string]store.ID{
		"retryable": retryable.Job.ID, "parked": parked.Job.ID, "turn": turn.Job.ID,
		"running":   e.ClaimOne(node, e.Add(env.Queue("running"))).Job.ID,
		"available": e.Add(env.Queue("available")), "scheduled": e.Add(env.Queue("scheduled"), env.Delay(time.Hour)),
		"blocked": e.Add(env.Queue("blocked"), env.Ordered("k")),
	}
	held := e.Add(env.Queue("held"))
	e.PauseJob(held, store.Waiting)
	ids["held"] = held
	for queue, id := range ids {
		before := e.Queue(queue)
		err := e.TryDeleteQueue(queue)
		want := "holdfast: conflict: queue " + queue + " has jobs that are not finished"
		if !errors.Is(err, store.ErrConflict) || err.Error() != want {
			e.Errorf("deleting the queue of the job %v: %v, want %s", e.Get(id).State, err, want)
		}
		e.Equal("queue", e.Queue(queue), before)
		e.Terminate(id)
		deleted(e, queue)
	}
	e.Equal("queues", e.QueueNames(), nil)
}

func deletePaused(e *env.Env) {
	e.Pause("mail", true)
	deleted(e, "mail")
	e.Equal("queues", e.QueueNames(), nil)
	id := e.Add()
	if q := e.Queue("mail"); !q.PausedAt.IsZero() || q.PausedBy != "" {
		e.Fatalf("queue: %+v", q)
	}
	e.End(e.ClaimOne(e.Join(), id), store.Completed)
}

func deletedBack(e *env.Env) {
	node := e.Join()
	e.Used(node, "resumed", "paused", "deleted")
	for _, queue := range []string{"resumed", "paused", "deleted"} {
		deleted(e, queue)
	}
	e.Pause("resumed", false)
	e.Pause("paused", true)
	e.Equal("queues", e.QueueNames(), []string{"paused", "resumed"})
	if q := e.Queue("paused"); !q.PausedAt.Equal(e.Clock.Now()) || q.PausedBy != "ada" {
		e.Fatalf("queue: %+v", q)
	}
	id := e.Add(env.Queue("paused"))
	e.WantNothing(node)
	e.Pause("paused", false)
	e.End(e.ClaimOne(node, id), store.Completed)
	e.Equal("queues", e.QueueNames(), []string{"paused", "resumed"})
	deleted(e, "paused")
	e.Equal("queues", e.QueueNames(), []string{"resumed"})
}

func deletedRetried(e *env.Env) {
	node := e.Join()
	run := e.ClaimOne(node, e.Add())
	e.End(run, store.Failed)
	id := run.Job.ID
	deleted(e, "mail")
	if r := e.Get(id); r.Queue != "mail" || r.State != store.Failed {
		e.Fatalf("record: %+v", r)
	}
	e.Retry(id)
	e.Equal("queues", e.QueueNames(), []string{"mail"})
	e.End(e.ClaimOne(node, id), store.Completed)
	e.Equal("queues", e.QueueNames(), nil)
}

func deleteNamespace(e *env.Env) {
	other := e.Add(env.In("other"))
	e.Used(e.Join(), "mail")
	if err := e.TryDeleteQueue("mail"); err != nil {
		e.Fatalf("DeleteQueue: %v", err)
	}
	queues, err := e.Store.Queues(e.Ctx, "other")
	if err != nil || len(queues) != 1 || queues[0].Counts[store.Available].N != 1 {
		e.Fatalf("queues of the other namespace: %+v, %v", queues, err)
	}
	params := store.DeleteQueueParams{Namespace: "third", Queue: "mail"}
	if err := e.Store.DeleteQueue(e.Ctx, params); !errors.Is(err, store.ErrNotFound) {
		e.Fatalf("in a namespace without it: %v", err)
	}
	params.Namespace = "other"
	if err := e.Store.DeleteQueue(e.Ctx, params); !errors.Is(err, store.ErrConflict) {
		e.Fatalf("in the namespace of job %v: %v", other, err)
	}
}

func deleteUnknown(e *env.Env) {
	e.Used(e.Join(), "mail")
	deleted(e, "mail")
	for _, queue := range []string{"mail", "never"} {
		err := e.TryDeleteQueue(queue)
		if want := "holdfast: not found: queue " + queue; !errors.Is(err, store.ErrNotFound) || err.Error() != want {
			e.Errorf("deleting it: %v, want %s", err, want)
		}
	}
	for _, queue := range []string{"", "a\x00b", "\xff"} {
		if err := e.TryDeleteQueue(queue); !errors.Is(err, store.ErrInvalid) {
			e.Errorf("deleting %q: %v", queue, err)
		}
	}
	e.Equal("queues", e.QueueNames(), nil)
}

// deletedRemoved: once it was removed, a queue that is used again is a new one.
func deletedRemoved(e *env.Env) {
	node := e.Join()
	e.Used(node, "mail")
	deleted(e, "mail")
	e.Retire(node)
	e.End(e.ClaimOne(node, e.Add()), store.Completed)
	e.Equal("queues", e.QueueNames(), []string{"mail"})
}
