package storetest

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

var enqueueTests = []test{
	{"NoLoss_a_job_is_visible_once_enqueue_returned", enqueuedIsVisible},
	{"NoLoss_every_field_of_the_body_survives", bodySurvives},
	{"NoLoss_a_batch_as_large_as_the_store_likes_is_complete", largeBatch},
	{"NoLoss_what_the_caller_does_to_its_buffers_changes_nothing", buffersAreCopied},
	{"names_are_data_whatever_characters_they_hold", namesAreData},
	{"times_are_truncated_to_microseconds", timesAreTruncated},
	{"a_job_with_a_run_time_in_the_future_is_scheduled", futureIsScheduled},
	{"a_repeated_id_is_done_once_and_succeeds_twice", repeatedID},
	{"a_repeated_id_within_a_batch_is_done_once", repeatedIDInBatch},
	{"a_context_that_has_ended_does_nothing", failedBatchLeavesNothing},
	{"an_empty_batch_is_no_error", emptyBatch},
	{"a_closed_store_says_so", closedStore},
}

// enqueuedIsVisible: Get, List, Queues and Claim all see the job as soon as Apply returned.
func enqueuedIsVisible(e *env) {
	q := e.enqueue(e.job())[0]
	e.equal("result", q.Result, store.EnqueueResult{ID: q.Job.ID, State: store.Available, RunAt: e.clock.Now()})
	e.wantState(q.Job.ID, store.Available)
	e.wantIDs("listed", e.listIDs(store.Filter{}), q.Job.ID)
	if n := e.queue("mail").Counts[store.Available].N; n != 1 {
		e.Fatalf("the queue counts %d available jobs", n)
	}
	e.claimOne(e.join(), q.Job.ID)
}

// bodySurvives: what is read back, and what is claimed, is what was written.
func bodySurvives(e *env) {
	raw := make([]byte, 256)
	for i := range raw {
		raw[i] = byte(i)
	}
	deadline := e.clock.Now().Add(time.Hour)
	everything := func(q *store.Enqueue) {
		q.Job.Args, q.Job.Codec = raw, 3
		q.Job.Tags = []string{"b", "a", "b c"}
		q.Job.Metadata = []byte(`{"tenant":"x","n":[1,2,{"deep":null}]}`)
		q.Job.Options = store.Options{
			Timeout:  time.Minute,
			Deadline: deadline,
			Backoff:  store.Backoff{Base: time.Second, Cap: time.Hour, Jitter: 0.25},
			Trace:    "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
			Source:   "nightly",
		}
		q.Job.Parent, q.Job.Answers, q.Job.OnParentClose = e.ids.next(), true, store.TerminateChild
	}
	rich := e.job(unique("k"), ordered("o"), priority(1), attempts(7), everything)
	huge := e.job(func(q *store.Enqueue) { q.Job.Args = bytes.Repeat([]byte(`["0123456789"]`), 30_000) })
	e.enqueue(rich, e.job(), huge)
	for _, q := range []*store.Enqueue{rich, huge} {
		want := q.Job
		want.CreatedAt, want.RunAt = e.clock.Now(), e.clock.Now()
		e.equal("body", e.get(q.Job.ID).Job, want)
	}
	// Once the job has run, its body is still the same, and the claim hands it out whole.
	node := e.join()
	for _, c := range e.claim(node, 10) {
		record := e.get(c.Job.ID)
		e.equal("body of the running job", record.Job, c.Job)
		if c.Job.ID == rich.Job.ID {
			want := rich.Job
			want.CreatedAt, want.RunAt, want.Attempt, want.LeaseNumber = e.clock.Now(), e.clock.Now(), 1, 1
			e.equal("claimed body", c.Job, want)
		}
		e.end(c, store.Completed)
		e.equal("body of the completed job", e.get(c.Job.ID).Job, c.Job)
	}
}

func largeBatch(e *env) {
	n := min(e.store.Traits().MaxBatch, 1000)
	if n < 1 {
		e.Fatalf("MaxBatch is %d", n)
	}
	var enqueues []*store.Enqueue
	for i := range n {
		enqueues = append(enqueues, e.job(queue(fmt.Sprintf("q%d", i%7)), priority(1+i%4)))
	}
	e.enqueue(enqueues...)
	node, seen := e.join(), map[store.ID]bool{}
	for range n/100 + 2 {
		for _, c := range e.claimWith(e.demand(node, 100)) {
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
func buffersAreCopied(e *env) {
	q := e.job(func(q *store.Enqueue) {
		q.Job.Args, q.Job.Metadata, q.Job.Tags = []byte("args"), []byte(`{"a":1}`), []string{"tag"}
		q.Job.UniqueKey, q.Job.UniqueStates = []byte("key"), store.Unfinished
	})
	e.enqueue(q)
	want := q.Job
	want.CreatedAt, want.RunAt = e.clock.Now(), e.clock.Now()
	want.Args, want.Metadata = bytes.Clone(q.Job.Args), bytes.Clone(q.Job.Metadata)
	want.Tags, want.UniqueKey = []string{"tag"}, bytes.Clone(q.Job.UniqueKey)
	spoil := func(j store.Job) {
		j.Args[0], j.Metadata[0], j.UniqueKey[0], j.Tags[0] = 'x', 'x', 'x', "x"
	}
	spoil(q.Job)
	for range 2 {
		got := e.get(q.Job.ID).Job
		e.equal("body", got, want)
		spoil(got)
	}
	run := e.claimOne(e.join(), q.Job.ID)
	spoil(run.Job)
	value, result := []byte(`{"n":1}`), []byte("result")
	e.save(run, store.Checkpoint{Value: value})
	e.end(run, store.Completed, func(o *store.Outcome) { o.Result = result })
	value[0], result[0] = 'x', 'x'
	record := e.get(q.Job.ID)
	if string(record.Result) != "result" {
		e.Fatalf("the result is %s", record.Result)
	}
	want.Attempt, want.LeaseNumber = 1, 1
	e.equal("body", record.Job, want)
	e.wantFree("key")
}

// namesAreData: nothing in a name, key or tag is syntax to the store.
func namesAreData(e *env) {
	odd := `it's "odd"; -- {a,b} \ %_ ?1 $1 Ünïcödé 日本 🦀`
	q := e.enqueue(e.job(queue(odd), kind(odd), ordered(odd), func(q *store.Enqueue) {
		q.Job.Namespace = odd
		q.Job.Tags = []string{odd, "", `","`}
		q.Job.UniqueKey = []byte("\x00\xff'\"\\")
		q.Job.UniqueStates = store.Unfinished
		q.Job.Options.Source = odd
	}))[0]
	want := q.Job
	want.CreatedAt, want.RunAt = e.clock.Now(), e.clock.Now()
	e.equal("body", e.get(q.Job.ID).Job, want)
	filter := store.Filter{Namespace: odd, Queues: []string{odd}, Kinds: []string{odd}, Tags: []string{odd, `","`}}
	e.wantIDs("listed", e.listIDs(filter), q.Job.ID)
	e.wantIDs("listed with a part of a tag", e.listIDs(store.Filter{Tags: []string{`it's "odd"`}}))
	e.promote()
	params := e.demand(e.join(), 1)
	params.Namespace, params.Kinds, params.Queues = odd, []string{odd}, []store.QueueDemand{{Name: odd, Limit: 1}}
	e.wantIDs("claimed", claimedIDs(e.claimWith(params)), q.Job.ID)
}

func timesAreTruncated(e *env) {
	at := e.clock.Now().Add(time.Minute)
	q := e.enqueue(e.job(runAt(at.Add(999 * time.Nanosecond))))[0]
	if got := e.get(q.Job.ID).RunAt; !got.Equal(at) || !q.Result.RunAt.Equal(at) {
		e.Fatalf("run time is %v, result %v, want %v", got, q.Result.RunAt, at)
	}
	if now := e.store.Now(); !now.Equal(e.clock.Now()) {
		e.Fatalf("the store's clock says %v, want %v", now, e.clock.Now())
	}
}

func futureIsScheduled(e *env) {
	now := e.clock.Now()
	for _, c := range []struct {
		change func(*store.Enqueue)
		state  store.State
		runAt  time.Time
	}{
		{runAt(now.Add(time.Microsecond)), store.Scheduled, now.Add(time.Microsecond)},
		{runAt(now.Add(400 * 24 * time.Hour)), store.Scheduled, now.Add(400 * 24 * time.Hour)},
		{delay(time.Minute), store.Scheduled, now.Add(time.Minute)},
		{runAt(now), store.Available, now},
		{runAt(now.Add(-time.Hour)), store.Available, now.Add(-time.Hour)},
		{func(q *store.Enqueue) { q.Job.RunAt, q.Delay = now, time.Hour }, store.Available, now}, // RunAt goes before Delay
	} {
		q := e.enqueue(e.job(c.change))[0]
		e.equal("result", q.Result, store.EnqueueResult{ID: q.Job.ID, State: c.state, RunAt: c.runAt})
		record := e.get(q.Job.ID)
		if record.State != c.state || !record.RunAt.Equal(c.runAt) {
			e.Fatalf("job is %v at %v, want %v at %v", record.State, record.RunAt, c.state, c.runAt)
		}
	}
	if claimed := e.claim(e.join(), 10); len(claimed) != 3 {
		e.Fatalf("claimed %d jobs, want the 3 that are due", len(claimed))
	}
}

// repeatedID: an enqueue may be sent again after its answer was lost, whatever became of the job meanwhile.
func repeatedID(e *env) {
	first := e.job()
	e.enqueue(first)
	again := func() {
		e.Helper()
		q := *first
		q.Result = store.EnqueueResult{}
		e.enqueue(&q)
		if !q.Result.Existing || q.Result.ID != first.Job.ID || q.Result.State != 0 || q.Result.Replaced {
			e.Fatalf("repeated enqueue returned %+v", q.Result)
		}
	}
	again()
	node := e.join()
	run := e.claimOne(node, first.Job.ID)
	again()
	e.wantState(first.Job.ID, store.Running)
	e.end(run, store.Completed)
	again()
	e.wantState(first.Job.ID, store.Completed)
	if claimed := e.claim(node, 10); len(claimed) != 0 {
		e.Fatalf("a repeated enqueue made %d jobs run again", len(claimed))
	}
	_, err := e.store.Get(e.ctx, e.ids.next())
	e.wantErr("Get of an unknown id", err, store.ErrNotFound)
}

func repeatedIDInBatch(e *env) {
	first := e.job()
	again := *first
	e.enqueue(first, e.job(), &again)
	if first.Result.Existing || first.Result.State != store.Available {
		e.Fatalf("first: %+v", first.Result)
	}
	if !again.Result.Existing || again.Result.ID != first.Job.ID {
		e.Fatalf("second: %+v", again.Result)
	}
	if claimed := e.claim(e.join(), 10); len(claimed) != 2 {
		e.Fatalf("claimed %d jobs, want 2", len(claimed))
	}
}

// failedBatchLeavesNothing: a context that has ended is the one failure that a test can cause on every store.
func failedBatchLeavesNothing(e *env) {
	run := e.claimOne(e.join(), e.add())
	ended, cancel := context.WithCancel(e.ctx)
	cancel()
	q := e.job(unique("k"))
	batch := &store.Batch{Outcomes: []*store.Outcome{outcome(run, store.Completed)}, Enqueues: []*store.Enqueue{q}}
	e.wantErr("Apply", e.store.Apply(ended, batch), context.Canceled)
	e.wantState(run.Job.ID, store.Running)
	_, err := e.store.Get(e.ctx, q.Job.ID)
	e.wantErr("Get of the job that was not enqueued", err, store.ErrNotFound)
	_, err = e.store.Claim(ended, e.demand(run.Lease.Node, 1))
	e.wantErr("Claim", err, context.Canceled)
	e.end(run, store.Completed)
	e.add(unique("k"))
}

func emptyBatch(e *env) {
	e.apply(&store.Batch{})
	if n := (&store.Batch{}).Len(); n != 0 {
		e.Fatalf("its length is %d", n)
	}
}

func closedStore(e *env) {
	id := e.add()
	node := e.join()
	for range 2 {
		if err := e.store.Close(); err != nil {
			e.Fatalf("Close: %v", err)
		}
	}
	e.wantErr("Apply", e.store.Apply(e.ctx, &store.Batch{Enqueues: []*store.Enqueue{e.job()}}), store.ErrClosed)
	_, err := e.store.Claim(e.ctx, e.demand(node, 1))
	e.wantErr("Claim", err, store.ErrClosed)
	_, err = e.store.Get(e.ctx, id)
	e.wantErr("Get", err, store.ErrClosed)
	_, err = e.store.Beat(e.ctx, store.BeatParams{Node: node})
	e.wantErr("Beat", err, store.ErrClosed)
	_, err = e.store.Promote(e.ctx, 1)
	e.wantErr("Promote", err, store.ErrClosed)
}
