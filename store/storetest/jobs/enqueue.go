package jobs

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var enqueueTests = env.Tests{
	"NoLoss_a_job_is_visible_once_enqueue_returned":              enqueuedIsVisible,
	"NoLoss_every_field_of_the_body_survives":                    bodySurvives,
	"NoLoss_a_batch_as_large_as_the_store_likes_is_complete":     largeBatch,
	"NoLoss_what_the_caller_does_to_its_buffers_changes_nothing": buffersAreCopied,
	"names_are_data_whatever_characters_they_hold":               namesAreData,
	"times_are_truncated_to_microseconds":                        timesAreTruncated,
	"a_job_with_a_run_time_in_the_future_is_scheduled":           futureIsScheduled,
	"a_repeated_id_is_done_once_and_succeeds_twice":              repeatedID,
	"a_repeated_id_within_a_batch_is_done_once":                  repeatedIDInBatch,
	"a_context_that_has_ended_does_nothing":                      failedBatchLeavesNothing,
	"an_empty_batch_is_no_error":                                 emptyBatch,
}

// enqueuedIsVisible: Get, List, Queues and Claim all see the job as soon as Apply returned.
func enqueuedIsVisible(e *env.Env) {
	q := e.Enqueue(e.Job())[0]
	e.Equal("result", q.Result, store.EnqueueResult{ID: q.Job.ID, State: store.Available, RunAt: e.Clock.Now()})
	e.WantState(q.Job.ID, store.Available)
	e.WantIDs("listed", e.ListIDs(store.Filter{}), q.Job.ID)
	if n := e.Queue("mail").Counts[store.Available].N; n != 1 {
		e.Fatalf("the queue counts %d available jobs", n)
	}
	e.ClaimOne(e.Join(), q.Job.ID)
}

// bodySurvives: what is read back, and what is claimed, is what was written.
func bodySurvives(e *env.Env) {
	raw := make([]byte, 256)
	for i := range raw {
		raw[i] = byte(i)
	}
	deadline := e.Clock.Now().Add(time.Hour)
	everything := func(q *store.Enqueue) {
		q.Job.Args, q.Job.Codec = raw, 3
		q.Job.Tags = []string{"b", "a", "b c"}
		q.Job.Metadata = []byte(`{"tenant":"x","n":[1,2,{"deep":null}]}`)
		q.Job.Options = store.Options{
			Timeout:   time.Minute,
			Heartbeat: 20 * time.Second,
			Deadline:  deadline,
			Backoff:   store.Backoff{Base: time.Second, Cap: time.Hour, Jitter: 0.25},
			Source:    "nightly",
		}
		q.Job.Parent, q.Job.Answers, q.Job.OnParentClose = e.IDs.Next(), true, store.TerminateChild
	}
	rich := e.Job(env.Unique("k"), env.Ordered("o"), env.Priority(1), env.Attempts(7), everything)
	huge := e.Job(func(q *store.Enqueue) { q.Job.Args = bytes.Repeat([]byte(`["0123456789"]`), 30_000) })
	e.Enqueue(rich, e.Job(), huge)
	for _, q := range []*store.Enqueue{rich, huge} {
		want := q.Job
		want.CreatedAt, want.RunAt = e.Clock.Now(), e.Clock.Now()
		e.Equal("body", e.Get(q.Job.ID).Job, want)
	}
	// Once the job has run, its body is still the same, and the claim hands it out whole.
	node := e.Join()
	for _, c := range e.Claim(node, 10) {
		record := e.Get(c.Job.ID)
		e.Equal("body of the running job", record.Job, c.Job)
		if c.Job.ID == rich.Job.ID {
			want := rich.Job
			want.CreatedAt, want.RunAt, want.Attempt, want.LeaseNumber = e.Clock.Now(), e.Clock.Now(), 1, 1
			e.Equal("claimed body", c.Job, want)
		}
		e.End(c, store.Completed)
		e.Equal("body of the completed job", e.Get(c.Job.ID).Job, c.Job)
	}
}

func largeBatch(e *env.Env) {
	n := min(e.Store.Traits().MaxBatch, 1000)
	if n < 1 {
		e.Fatalf("MaxBatch is %d", n)
	}
	var enqueues []*store.Enqueue
	for i := range n {
		enqueues = append(enqueues, e.Job(env.Queue(fmt.Sprintf("q%d", i%7)), env.Priority(1+i%4)))
	}
	e.Enqueue(enqueues...)
	node, seen := e.Join(), map[store.ID]bool{}
	for range n/100 + 2 {
		for _, c := range e.ClaimWith(e.Demand(node, 100)) {
			if seen[c.Job.ID] {
				e.Fatalf("job %v was claimed twice", c.Job.ID)
			}
			seen[c.Job.ID] = true
		}
	}
	if len(seen) != n {
		e.Fatalf("enqueued %d jobs, claimed %d", n, len(seen))
	}
}

// buffersAreCopied: once a call has returned its buffers are the caller's again.
func buffersAreCopied(e *env.Env) {
	q := e.Job(func(q *store.Enqueue) {
		q.Job.Args, q.Job.Metadata, q.Job.Tags = []byte("args"), []byte(`{"a":1}`), []string{"tag"}
		q.Job.UniqueKey, q.Job.UniqueStates = []byte("key"), store.Unfinished
	})
	e.Enqueue(q)
	want := q.Job
	want.CreatedAt, want.RunAt = e.Clock.Now(), e.Clock.Now()
	want.Args, want.Metadata = bytes.Clone(q.Job.Args), bytes.Clone(q.Job.Metadata)
	want.Tags, want.UniqueKey = []string{"tag"}, bytes.Clone(q.Job.UniqueKey)
	spoil := func(j store.Job) {
		j.Args[0], j.Metadata[0], j.UniqueKey[0], j.Tags[0] = 'x', 'x', 'x', "x"
	}
	spoil(q.Job)
	for range 2 {
		got := e.Get(q.Job.ID).Job
		e.Equal("body", got, want)
		spoil(got)
	}
	run := e.ClaimOne(e.Join(), q.Job.ID)
	spoil(run.Job)
	value, result := []byte(`{"n":1}`), []byte("result")
	e.Save(run, store.Checkpoint{Value: value})
	e.End(run, store.Completed, func(o *store.Outcome) { o.Result = result })
	value[0], result[0] = 'x', 'x'
	record := e.Get(q.Job.ID)
	if string(record.Result) != "result" {
		e.Fatalf("the result is %s", record.Result)
	}
	want.Attempt, want.LeaseNumber = 1, 1
	e.Equal("body", record.Job, want)
	e.WantFree("key")
}

// namesAreData: nothing in a name, key or tag is syntax to the store.
func namesAreData(e *env.Env) {
	odd := `it's "odd"; -- {a,b} \ %_ ?1 $1 Ünïcödé 日本 🦀`
	q := e.Enqueue(e.Job(env.Queue(odd), env.Kind(odd), env.Ordered(odd), func(q *store.Enqueue) {
		q.Job.Namespace = odd
		q.Job.Tags = []string{odd, "", `","`}
		q.Job.UniqueKey = []byte("\x00\xff'\"\\")
		q.Job.UniqueStates = store.Unfinished
		q.Job.Options.Source = odd
	}))[0]
	want := q.Job
	want.CreatedAt, want.RunAt = e.Clock.Now(), e.Clock.Now()
	e.Equal("body", e.Get(q.Job.ID).Job, want)
	filter := store.Filter{Namespace: odd, Queues: []string{odd}, Kinds: []string{odd}, Tags: []string{odd, `","`}}
	e.WantIDs("listed", e.ListIDs(filter), q.Job.ID)
	e.WantIDs("listed with a part of a tag", e.ListIDs(store.Filter{Tags: []string{`it's "odd"`}}))
	e.Promote()
	params := e.Demand(e.Join(), 1)
	params.Namespace, params.Kinds, params.Queues = odd, []string{odd}, []store.QueueDemand{{Name: odd, Limit: 1}}
	e.WantIDs("claimed", env.ClaimedIDs(e.ClaimWith(params)), q.Job.ID)
}

func timesAreTruncated(e *env.Env) {
	at := e.Clock.Now().Add(time.Minute)
	q := e.Enqueue(e.Job(env.RunAt(at.Add(999 * time.Nanosecond))))[0]
	if got := e.Get(q.Job.ID).RunAt; !got.Equal(at) || !q.Result.RunAt.Equal(at) {
		e.Fatalf("run time is %v, result %v, want %v", got, q.Result.RunAt, at)
	}
	if now := e.Store.Now(); !now.Equal(e.Clock.Now()) {
		e.Fatalf("the store's clock says %v, want %v", now, e.Clock.Now())
	}
}

func futureIsScheduled(e *env.Env) {
	now := e.Clock.Now()
	for _, c := range []struct {
		change func(*store.Enqueue)
		state  store.State
		runAt  time.Time
	}{
		{env.RunAt(now.Add(time.Microsecond)), store.Scheduled, now.Add(time.Microsecond)},
		{env.RunAt(now.Add(400 * 24 * time.Hour)), store.Scheduled, now.Add(400 * 24 * time.Hour)},
		{env.Delay(time.Minute), store.Scheduled, now.Add(time.Minute)},
		{env.RunAt(now), store.Available, now},
		{env.RunAt(now.Add(-time.Hour)), store.Available, now.Add(-time.Hour)},
		{func(q *store.Enqueue) { q.Job.RunAt, q.Delay = now, time.Hour }, store.Available, now}, // RunAt goes before Delay
	} {
		q := e.Enqueue(e.Job(c.change))[0]
		e.Equal("result", q.Result, store.EnqueueResult{ID: q.Job.ID, State: c.state, RunAt: c.runAt})
		record := e.Get(q.Job.ID)
		if record.State != c.state || !record.RunAt.Equal(c.runAt) {
			e.Fatalf("job is %v at %v, want %v at %v", record.State, record.RunAt, c.state, c.runAt)
		}
	}
	if claimed := e.Claim(e.Join(), 10); len(claimed) != 3 {
		e.Fatalf("claimed %d jobs, want the 3 that are due", len(claimed))
	}
}

// repeatedID: a caller whose answer was lost sends the enqueue again, whatever has become of the
// job.
func repeatedID(e *env.Env) {
	first := e.Job()
	e.Enqueue(first)
	again := func() {
		e.Helper()
		q := *first
		q.Result = store.EnqueueResult{}
		e.Enqueue(&q)
		if !q.Result.Existing || q.Result.ID != first.Job.ID || q.Result.State != 0 || q.Result.Replaced {
			e.Fatalf("repeated enqueue returned %+v", q.Result)
		}
	}
	again()
	node := e.Join()
	run := e.ClaimOne(node, first.Job.ID)
	again()
	e.WantState(first.Job.ID, store.Running)
	e.End(run, store.Completed)
	again()
	e.WantState(first.Job.ID, store.Completed)
	if claimed := e.Claim(node, 10); len(claimed) != 0 {
		e.Fatalf("a repeated enqueue made %d jobs run again", len(claimed))
	}
	e.WantUnknown(e.IDs.Next())
}

func repeatedIDInBatch(e *env.Env) {
	first := e.Job()
	again := *first
	e.Enqueue(first, e.Job(), &again)
	if first.Result.Existing || first.Result.State != store.Available {
		e.Fatalf("first: %+v", first.Result)
	}
	if !again.Result.Existing || again.Result.ID != first.Job.ID {
		e.Fatalf("second: %+v", again.Result)
	}
	if claimed := e.Claim(e.Join(), 10); len(claimed) != 2 {
		e.Fatalf("claimed %d jobs, want 2", len(claimed))
	}
}

// failedBatchLeavesNothing: a context that has ended is the one failure that a test can cause on
// every store.
func failedBatchLeavesNothing(e *env.Env) {
	run := e.ClaimOne(e.Join(), e.Add())
	ended, cancel := context.WithCancel(e.Ctx)
	cancel()
	q := e.Job(env.Unique("k"))
	batch := &store.Batch{Outcomes: []*store.Outcome{env.Outcome(run, store.Completed)}, Enqueues: []*store.Enqueue{q}}
	e.WantErr("Apply", store.ApplyEach(ended, e.Store, batch), context.Canceled)
	e.WantState(run.Job.ID, store.Running)
	e.WantUnknown(q.Job.ID)
	_, err := e.Store.Claim(ended, e.Demand(run.Lease.Node, 1))
	e.WantErr("Claim", err, context.Canceled)
	e.End(run, store.Completed)
	e.Add(env.Unique("k"))
}

func emptyBatch(e *env.Env) {
	e.Apply(&store.Batch{})
	if n := (&store.Batch{}).Len(); n != 0 {
		e.Fatalf("its length is %d", n)
	}
}
