package jobs

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var checkpointTests = env.Tests{
	"a_checkpoint_replaces_the_one_before":      checkpointReplaces,
	"checkpoints_of_a_batch_stand_on_their_own": checkpointBatch,
}

func checkpointReplaces(e *env.Env) {
	run := e.Started()
	e.Save(run, store.Checkpoint{Percent: 10, Message: "m", Value: []byte(`{"a":1}`)})
	e.Clock.Advance(time.Second)
	want := e.Save(run, store.Checkpoint{Percent: 20})
	e.Equal("checkpoint", e.Get(run.Job.ID).Checkpoint, want)
	// If one batch has two checkpoints of a run, the later one stays.
	first := &store.CheckpointWrite{Lease: run.Lease, Checkpoint: store.Checkpoint{Message: "first"}}
	second := &store.CheckpointWrite{Lease: run.Lease, Checkpoint: store.Checkpoint{Message: "second"}}
	e.Apply(&store.Batch{Checkpoints: []*store.CheckpointWrite{first, second}})
	if got := e.Get(run.Job.ID).Checkpoint; first.Err != nil || second.Err != nil || got.Message != "second" {
		e.Fatalf("checkpoint: %+v, %v, %v", got, first.Err, second.Err)
	}
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
