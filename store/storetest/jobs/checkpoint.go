package jobs

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var checkpointTests = env.Tests{
	"NoLoss_a_checkpoint_reaches_the_next_attempt":         checkpointSurvives,
	"a_checkpoint_replaces_the_one_before":                 checkpointReplaces,
	"OneOwner_a_stale_checkpoint_changes_nothing":          checkpointStale,
	"checkpoints_of_a_batch_stand_on_their_own":            checkpointBatch,
	"a_checkpoint_survives_the_death_of_its_node":          checkpointRescue,
	"a_checkpoint_stays_with_a_finished_job_and_its_retry": checkpointFinished,
}

func checkpointSurvives(e *env.Env) {
	run := e.Started()
	// The time is the store's, whatever the caller says.
	want := e.Save(run, store.Checkpoint{Percent: 33.25, Message: "a third", Value: []byte(`{"page":7}`), UpdatedAt: env.Start.Add(time.Hour)})
	e.Equal("checkpoint of the running job", e.Get(run.Job.ID).Checkpoint, want)
	for _, state := range []store.State{store.Retryable, store.Scheduled, store.Available} {
		e.End(run, state)
		e.Clock.Advance(time.Minute)
		e.Equal("checkpoint of the waiting job", e.Get(run.Job.ID).Checkpoint, want)
		e.Beat(run.Lease.Node)
		run = e.ClaimOne(run.Lease.Node, run.Job.ID)
		e.Equal("checkpoint of the next attempt", run.Checkpoint, want)
	}
}

func checkpointReplaces(e *env.Env) {
	run := e.Started()
	e.Save(run, store.Checkpoint{Percent: 10, Message: "m", Value: []byte(`{"a":1}`)})
	e.Clock.Advance(time.Second)
	want := e.Save(run, store.Checkpoint{Percent: 20})
	e.Equal("checkpoint", e.Get(run.Job.ID).Checkpoint, want)
	// Two in one batch: the later one stays.
	first := &store.CheckpointWrite{Lease: run.Lease, Checkpoint: store.Checkpoint{Message: "first"}}
	second := &store.CheckpointWrite{Lease: run.Lease, Checkpoint: store.Checkpoint{Message: "second"}}
	e.Apply(&store.Batch{Checkpoints: []*store.CheckpointWrite{first, second}})
	if got := e.Get(run.Job.ID).Checkpoint; first.Err != nil || second.Err != nil || got.Message != "second" {
		e.Fatalf("checkpoint: %+v, %v, %v", got, first.Err, second.Err)
	}
}

func checkpointStale(e *env.Env) {
	run := e.Started()
	want := e.Save(run, store.Checkpoint{Message: "mine"})
	e.End(run, store.Available)
	again := e.ClaimOne(run.Lease.Node, run.Job.ID)
	stale := &store.CheckpointWrite{Lease: run.Lease, Checkpoint: store.Checkpoint{Message: "stale"}}
	e.Apply(&store.Batch{Checkpoints: []*store.CheckpointWrite{stale}})
	e.WantErr("stale checkpoint", stale.Err, store.ErrLeaseLost)
	e.Equal("checkpoint", e.Get(run.Job.ID).Checkpoint, want)
	e.End(again, store.Completed)
	late := &store.CheckpointWrite{Lease: again.Lease, Checkpoint: store.Checkpoint{Message: "late"}}
	e.Apply(&store.Batch{Checkpoints: []*store.CheckpointWrite{late}})
	e.WantErr("checkpoint after the end", late.Err, store.ErrLeaseLost)
}

func checkpointBatch(e *env.Env) {
	a, b, c := e.Started(), e.Started(), e.Started()
	e.End(b, store.Completed)
	unknown := store.Lease{Job: e.IDs.Next(), Number: 1, Node: a.Lease.Node, Claim: a.Lease.Claim, Slot: a.Lease.Slot}
	var writes []*store.CheckpointWrite
	for _, lease := range []store.Lease{a.Lease, b.Lease, unknown, c.Lease} {
		writes = append(writes, &store.CheckpointWrite{Lease: lease, Checkpoint: store.Checkpoint{Message: "m"}})
	}
	e.Apply(&store.Batch{Checkpoints: writes})
	if writes[0].Err != nil || writes[3].Err != nil {
		e.Fatalf("errors: %v, %v", writes[0].Err, writes[3].Err)
	}
	e.WantErr("checkpoint of a run that ended", writes[1].Err, store.ErrLeaseLost)
	e.WantErr("checkpoint of an unknown job", writes[2].Err, store.ErrLeaseLost)
	for _, run := range []store.Claimed{a, c} {
		if got := e.Get(run.Job.ID).Checkpoint; got == nil || got.Message != "m" {
			e.Fatalf("checkpoint: %+v", got)
		}
	}
}

func checkpointRescue(e *env.Env) {
	run := e.Started()
	want := e.Save(run, store.Checkpoint{Percent: 50})
	e.Clock.Advance(env.DeadAfter + time.Second)
	e.Rescue()
	e.Clock.Advance(env.RescueBackoff)
	again := e.ClaimOne(e.Join(), run.Job.ID)
	e.Equal("checkpoint", again.Checkpoint, want)
}

func checkpointFinished(e *env.Env) {
	for _, state := range []store.State{store.Completed, store.Failed, store.Cancelled} {
		run := e.Started()
		want := e.Save(run, store.Checkpoint{Percent: 99, Message: "nearly", Value: []byte(`{"page":7}`)})
		e.End(run, state)
		e.Clock.Advance(time.Minute)
		e.Beat(run.Lease.Node)
		e.Equal("checkpoint of the finished job", e.Get(run.Job.ID).Checkpoint, want)
		if state == store.Completed {
			continue
		}
		e.Retry(run.Job.ID)
		again := e.ClaimOne(run.Lease.Node, run.Job.ID)
		e.Equal("checkpoint after the retry", again.Checkpoint, want)
		e.End(again, store.Completed)
	}
}
