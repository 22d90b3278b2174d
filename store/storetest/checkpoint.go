package storetest

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
)

var checkpointTests = []test{
	{"NoLoss_a_checkpoint_reaches_the_next_attempt", checkpointSurvives},
	{"a_checkpoint_replaces_the_one_before", checkpointReplaces},
	{"OneOwner_a_stale_checkpoint_changes_nothing", checkpointStale},
	{"checkpoints_of_a_batch_stand_on_their_own", checkpointBatch},
	{"a_checkpoint_survives_the_death_of_its_node", checkpointRescue},
	{"a_checkpoint_stays_with_a_finished_job_and_its_retry", checkpointFinished},
}

// save writes a checkpoint, which must succeed, and returns it as it is stored.
func (e *env) save(run store.Claimed, c store.Checkpoint) *store.Checkpoint {
	e.Helper()
	w := &store.CheckpointWrite{Lease: run.Lease, Checkpoint: c}
	e.apply(&store.Batch{Checkpoints: []*store.CheckpointWrite{w}})
	if w.Err != nil {
		e.Fatalf("checkpoint: %v", w.Err)
	}
	c.UpdatedAt = e.clock.Now()
	return &c
}

func checkpointSurvives(e *env) {
	run := e.started()
	// The time is the store's, whatever the caller says.
	want := e.save(run, store.Checkpoint{Percent: 33.25, Message: "a third", Value: []byte(`{"page":7}`), UpdatedAt: Start.Add(time.Hour)})
	e.equal("checkpoint of the running job", e.get(run.Job.ID).Checkpoint, want)
	for _, state := range []store.State{store.Retryable, store.Scheduled, store.Available} {
		e.end(run, state)
		e.clock.Advance(time.Minute)
		e.equal("checkpoint of the waiting job", e.get(run.Job.ID).Checkpoint, want)
		e.beat(run.Lease.Node)
		run = e.claimOne(run.Lease.Node, run.Job.ID)
		e.equal("checkpoint of the next attempt", run.Checkpoint, want)
	}
}

func checkpointReplaces(e *env) {
	run := e.started()
	e.save(run, store.Checkpoint{Percent: 10, Message: "m", Value: []byte(`{"a":1}`)})
	e.clock.Advance(time.Second)
	want := e.save(run, store.Checkpoint{Percent: 20})
	e.equal("checkpoint", e.get(run.Job.ID).Checkpoint, want)
	// Two in one batch: the later one stays.
	first := &store.CheckpointWrite{Lease: run.Lease, Checkpoint: store.Checkpoint{Message: "first"}}
	second := &store.CheckpointWrite{Lease: run.Lease, Checkpoint: store.Checkpoint{Message: "second"}}
	e.apply(&store.Batch{Checkpoints: []*store.CheckpointWrite{first, second}})
	if got := e.get(run.Job.ID).Checkpoint; first.Err != nil || second.Err != nil || got.Message != "second" {
		e.Fatalf("checkpoint: %+v, %v, %v", got, first.Err, second.Err)
	}
}

func checkpointStale(e *env) {
	run := e.started()
	want := e.save(run, store.Checkpoint{Message: "mine"})
	e.end(run, store.Available)
	again := e.claimOne(run.Lease.Node, run.Job.ID)
	stale := &store.CheckpointWrite{Lease: run.Lease, Checkpoint: store.Checkpoint{Message: "stale"}}
	e.apply(&store.Batch{Checkpoints: []*store.CheckpointWrite{stale}})
	e.wantErr("stale checkpoint", stale.Err, store.ErrLeaseLost)
	e.equal("checkpoint", e.get(run.Job.ID).Checkpoint, want)
	e.end(again, store.Completed)
	late := &store.CheckpointWrite{Lease: again.Lease, Checkpoint: store.Checkpoint{Message: "late"}}
	e.apply(&store.Batch{Checkpoints: []*store.CheckpointWrite{late}})
	e.wantErr("checkpoint after the end", late.Err, store.ErrLeaseLost)
}

func checkpointBatch(e *env) {
	a, b, c := e.started(), e.started(), e.started()
	e.end(b, store.Completed)
	unknown := store.Lease{Job: e.ids.next(), Number: 1, Node: a.Lease.Node, Claim: a.Lease.Claim, Slot: a.Lease.Slot}
	var writes []*store.CheckpointWrite
	for _, lease := range []store.Lease{a.Lease, b.Lease, unknown, c.Lease} {
		writes = append(writes, &store.CheckpointWrite{Lease: lease, Checkpoint: store.Checkpoint{Message: "m"}})
	}
	e.apply(&store.Batch{Checkpoints: writes})
	if writes[0].Err != nil || writes[3].Err != nil {
		e.Fatalf("errors: %v, %v", writes[0].Err, writes[3].Err)
	}
	e.wantErr("checkpoint of a run that ended", writes[1].Err, store.ErrLeaseLost)
	e.wantErr("checkpoint of an unknown job", writes[2].Err, store.ErrLeaseLost)
	for _, run := range []store.Claimed{a, c} {
		if got := e.get(run.Job.ID).Checkpoint; got == nil || got.Message != "m" {
			e.Fatalf("checkpoint: %+v", got)
		}
	}
}

func checkpointRescue(e *env) {
	run := e.started()
	want := e.save(run, store.Checkpoint{Percent: 50})
	e.clock.Advance(deadAfter + time.Second)
	e.rescue()
	e.clock.Advance(rescueBackoff)
	again := e.claimOne(e.join(), run.Job.ID)
	e.equal("checkpoint", again.Checkpoint, want)
}

func checkpointFinished(e *env) {
	for _, state := range []store.State{store.Completed, store.Failed, store.Cancelled} {
		run := e.started()
		want := e.save(run, store.Checkpoint{Percent: 99, Message: "nearly", Value: []byte(`{"page":7}`)})
		e.end(run, state)
		e.clock.Advance(time.Minute)
		e.beat(run.Lease.Node)
		e.equal("checkpoint of the finished job", e.get(run.Job.ID).Checkpoint, want)
		if state == store.Completed {
			continue
		}
		e.retry(run.Job.ID)
		again := e.claimOne(run.Lease.Node, run.Job.ID)
		e.equal("checkpoint after the retry", again.Checkpoint, want)
		e.end(again, store.Completed)
	}
}
