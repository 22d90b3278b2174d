package postgres_test

import (
	"errors"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

func life(t *testing.T, s store.Store) {
	t.Helper()
	ctx := t.Context()
	args := []byte("\x00\xff'\\ any bytes")
	full := newJob(withKey("k'\x00"), func(q *store.Enqueue) {
		q.Job.Args, q.Job.OrderingKey, q.Job.Tags = args, `o"'\`, []string{`a"'\`, "b"}
		q.Job.Metadata, q.Job.Options.Timeout = []byte(`{"a":"'\""}`), time.Minute
		q.Job.Options.Deadline = time.Now().Add(time.Hour)
	})
	plain, later := newJob(), newJob(func(q *store.Enqueue) { q.Delay = time.Hour })
	enqueue(t, s, full, plain, later)
	enqueue(t, s, full, newJob(withKey("k'\x00")))
	if _, err := s.Promote(ctx, 10); err != nil {
		t.Fatal(err)
	}
	node := join(t, s)
	params := demand(node, 1, 10)
	params.Queues = []store.QueueDemand{{Name: "mail", Limit: 5}}
	params.Aging = time.Hour
	runs, err := s.Claim(ctx, params)
	if err != nil || len(runs) != 2 {
		t.Fatalf("claimed %d, %v", len(runs), err)
	}
	params.Repeat = true
	if again, err := s.Claim(ctx, params); err != nil || len(again) != 2 {
		t.Fatalf("claimed again %d, %v", len(again), err)
	}
	batch := &store.Batch{}
	for _, run := range runs {
		batch.Checkpoints = append(batch.Checkpoints, &store.CheckpointWrite{Lease: run.Lease, Checkpoint: store.Checkpoint{
			Percent: 12.5, Message: `m'"\`, Value: []byte(`["'\\"]`),
		}})
		o := completed(run)
		if o.Result = args; run.Job.ID == full.Job.ID {
			o.State, o.Reason, o.Delay = store.Retryable, store.ReasonError, time.Minute
			o.Error, o.Trace, o.StartedAt = `e'"\`, "t", time.Now()
		}
		batch.Outcomes = append(batch.Outcomes, o)
	}
	err = store.ApplyEach(ctx, s, batch)
	if err = errors.Join(err, batch.Outcomes[0].Err, batch.Outcomes[1].Err, batch.Checkpoints[0].Err); err != nil {
		t.Fatalf("Apply: %v", err)
	}
	for _, o := range batch.Outcomes {
		o.Repeat = true
	}
	if err := store.ApplyEach(ctx, s, batch); err != nil || batch.Outcomes[0].Err != nil || batch.Outcomes[1].Err != nil {
		t.Fatalf("Apply again: %v, %v, %v", err, batch.Outcomes[0].Err, batch.Outcomes[1].Err)
	}
	record, err := s.Get(ctx, "", full.Job.ID)
	if err != nil || record.State != store.Retryable || string(record.Args) != string(args) || record.Tags[0] != `a"'\` ||
		record.Checkpoint == nil || record.Checkpoint.Percent != 12.5 || len(record.Attempts) != 1 || record.Attempts[0].Error != `e'"\` {
		t.Fatalf("record: %+v, %v", record, err)
	}
	if _, _, err := s.Retry(ctx, store.RetryParams{Jobs: []store.ID{full.Job.ID}, Actor: "a'"}); err != nil {
		t.Fatal(err)
	}
	results, _, err := s.Cancel(ctx, store.CancelParams{Jobs: []store.ID{full.Job.ID, plain.Job.ID, later.Job.ID}, Reason: "r'", Actor: "a"})
	if err != nil || results[0].State != store.Cancelled || results[1].State != store.Completed || results[2].State != store.Cancelled {
		t.Fatalf("Cancel: %+v, %v", results, err)
	}
	page, err := s.List(ctx, store.ListParams{Limit: 10, Filter: store.Filter{
		Namespace: "default", Queues: []string{"mail"}, Tags: []string{"b"}, States: []store.State{store.Cancelled},
	}})
	if err != nil || len(page.Jobs) != 1 || page.Jobs[0].ID != full.Job.ID {
		t.Fatalf("List: %+v, %v", page, err)
	}
	_, beatErr := s.Beat(ctx, store.BeatParams{Node: node, LeaderTTL: time.Minute})
	_, nodesErr := s.Nodes(ctx)
	_, queuesErr := s.Queues(ctx, "default")
	_, endedErr := s.Ended(ctx, "", []store.ID{full.Job.ID})
	_, sweepErr := s.SweepCancels(ctx)
	_, retainErr := s.Retain(ctx, store.Retention{Completed: time.Hour, Failed: time.Hour, Cancelled: time.Hour})
	_, rescueErr := s.Rescue(ctx, store.RescueParams{})
	pauseErr := s.Pause(ctx, store.PauseParams{Namespace: "default", Queue: "q'", Paused: true, Actor: "a"})
	_, leaveErr := s.Leave(ctx, node)
	if err := errors.Join(beatErr, nodesErr, queuesErr, endedErr, sweepErr, retainErr, rescueErr, pauseErr, leaveErr); err != nil {
		t.Fatal(err)
	}
}
