package storetest

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
)

var retainTests = []test{
	{"NoLoss_nothing_is_removed_before_its_time", retainKeeps},
	{"what_is_over_is_removed_with_everything_that_belongs_to_it", retainRemoves},
	{"each_state_has_its_own_time", retainByState},
	{"NoLoss_what_is_not_finished_is_kept_beside_what_is_removed", retainKeepsUnfinished},
	{"UniqueIsUnique_a_removed_job_holds_no_key", retainFreesKey},
	{"removal_in_steps_comes_to_an_end", retainSteps},
	{"nodes_that_ended_long_ago_are_forgotten", retainNodes},
}

// slack is how much longer than asked a store may keep what is finished: a day, for one that drops whole days, and up
// to one more until that day is over.
const slack = 48 * time.Hour

// retain removes until there is nothing left to remove, and returns how many jobs it was.
func (e *env) retain(params store.RetainParams) int {
	e.Helper()
	n := 0
	for range 1000 {
		retained, err := e.store.Retain(e.ctx, params)
		if err != nil {
			e.Fatalf("Retain: %v", err)
		}
		n += retained.Jobs
		if !retained.More {
			return n
		}
	}
	e.Fatal("Retain says More for ever")
	return 0
}

// wantGone checks that nothing is known of a job.
func (e *env) wantGone(id store.ID) {
	e.Helper()
	_, err := e.store.Get(e.ctx, id)
	e.wantErr("Get of a removed job", err, store.ErrNotFound)
	e.equal("ended", e.ended(id), []store.Ended{{ID: id}})
	for _, listed := range e.listIDs(store.Filter{}) {
		if listed == id {
			e.Fatalf("the removed job %v is listed", id)
		}
	}
}

func retainKeeps(e *env) {
	const day = 24 * time.Hour
	params := store.RetainParams{Completed: day, Failed: day, Cancelled: day, Limit: 100}
	// It ran for long: what counts is the end, not the beginning.
	run := e.started()
	e.clock.Advance(5 * day)
	e.end(run, store.Completed)
	before := e.get(run.Job.ID)
	e.clock.Advance(day - time.Second)
	if n := e.retain(params); n != 0 {
		e.Fatalf("removed %d jobs", n)
	}
	e.equal("record", e.get(run.Job.ID), before)
	// Zero is for ever.
	e.clock.Advance(1000 * day)
	if n := e.retain(store.RetainParams{Failed: day, Cancelled: day, Limit: 100}); n != 0 {
		e.Fatalf("removed %d jobs", n)
	}
	e.equal("record", e.get(run.Job.ID), before)
}

func retainRemoves(e *env) {
	node := e.join()
	var gone []store.ID
	for _, state := range []store.State{store.Completed, store.Failed, store.Cancelled} {
		id := e.add()
		gone = append(gone, id)
		run := e.claimOne(node, id)
		e.end(run, store.Retryable)
		e.retry(id)
		run = e.claimOne(node, id)
		e.apply(&store.Batch{Checkpoints: []*store.CheckpointWrite{{Lease: run.Lease, Checkpoint: store.Checkpoint{Message: "m"}}}})
		e.end(run, state)
	}
	never := e.add()
	e.cancel(never)
	gone = append(gone, never)
	e.clock.Advance(time.Hour + slack)
	params := store.RetainParams{Completed: time.Hour, Failed: time.Hour, Cancelled: time.Hour, Limit: 100}
	if n := e.retain(params); n != len(gone) {
		e.Fatalf("removed %d jobs, want %d", n, len(gone))
	}
	for _, id := range gone {
		e.wantGone(id)
	}
	// A job that takes the id of a removed one finds nothing of it.
	again := e.enqueue(e.job(func(q *store.Enqueue) { q.Job.ID = gone[1] }))[0]
	record := e.get(gone[1])
	if again.Result.Existing || record.State != store.Available || record.LeaseNumber != 0 ||
		len(record.Attempts) != 0 || record.Checkpoint != nil {
		e.Fatalf("what took the id of a removed job: %+v, %+v", again.Result, record)
	}
	if r := e.tryRetry(gone[2]); r.Err == nil {
		e.Fatal("a removed job was retried")
	}
	if n := e.retain(params); n != 0 {
		e.Fatalf("removed %d jobs again", n)
	}
}

func retainByState(e *env) {
	node := e.join()
	ids := map[store.State]store.ID{}
	for _, state := range []store.State{store.Completed, store.Failed, store.Cancelled} {
		ids[state] = e.add()
		e.end(e.claimOne(node, ids[state]), state)
	}
	params := store.RetainParams{Completed: time.Hour, Failed: 10 * 24 * time.Hour, Limit: 100}
	e.clock.Advance(time.Hour + slack)
	if n := e.retain(params); n != 1 {
		e.Fatalf("removed %d jobs, want the completed one", n)
	}
	e.wantGone(ids[store.Completed])
	e.wantState(ids[store.Failed], store.Failed)
	e.wantState(ids[store.Cancelled], store.Cancelled)
	e.clock.Advance(10 * 24 * time.Hour)
	e.retain(params)
	e.wantGone(ids[store.Failed])
	if record := e.get(ids[store.Cancelled]); record.Error != "the handler gave up" || len(record.Attempts) != 1 {
		e.Fatalf("record: %+v", record)
	}
}

// retainKeepsUnfinished: a store that drops whole days has to carry the survivors over, whole.
func retainKeepsUnfinished(e *env) {
	node := e.join()
	done := e.started()
	retryable := e.started(unique("k"), ordered("k"))
	c := store.Checkpoint{Percent: 50, Message: "half", Value: []byte(`{"n":1}`)}
	e.apply(&store.Batch{Checkpoints: []*store.CheckpointWrite{{Lease: retryable.Lease, Checkpoint: c}}})
	e.end(retryable, store.Retryable, func(o *store.Outcome) { o.Delay = 100 * 24 * time.Hour })
	e.end(done, store.Completed)
	failed := e.started()
	e.end(failed, store.Failed)
	scheduled := e.add(delay(90 * 24 * time.Hour))
	running := e.claimOne(node, e.add())
	available, waiting := e.add(), e.add(ordered("k"))
	e.promote()

	kept := []store.ID{retryable.Job.ID, failed.Job.ID, scheduled, running.Job.ID, available, waiting}
	var before []store.Record
	for _, id := range kept {
		before = append(before, e.get(id))
	}
	e.clock.Advance(30 * 24 * time.Hour)
	e.beat(node)
	if n := e.retain(store.RetainParams{Completed: time.Hour, Limit: 100}); n != 1 {
		e.Fatalf("removed %d jobs, want 1", n)
	}
	e.wantGone(done.Job.ID)
	for i, id := range kept {
		e.equal("kept job", e.get(id), before[i])
	}
	e.wantTaken("k", retryable.Job.ID)
	e.end(running, store.Completed)
	e.end(e.claimOne(node, available), store.Completed)
	e.retry(failed.Job.ID)
	e.end(e.claimOne(node, failed.Job.ID), store.Completed)
	e.clock.Advance(71 * 24 * time.Hour)
	e.beat(node)
	runs := e.claim(node, 10)
	e.wantIDs("claimed", claimedIDs(runs), scheduled, retryable.Job.ID)
	if runs[1].Checkpoint == nil || runs[1].Checkpoint.Message != "half" {
		e.Fatalf("checkpoint: %+v", runs[1].Checkpoint)
	}
	e.end(runs[1], store.Completed)
	e.claimOne(node, waiting)
}

func retainFreesKey(e *env) {
	run := e.started(unique("k", store.States...))
	e.end(run, store.Completed)
	e.wantTaken("k", run.Job.ID)
	e.clock.Advance(time.Hour + slack)
	e.retain(store.RetainParams{Completed: time.Hour, Limit: 100})
	e.wantFree("k")
}

func retainSteps(e *env) {
	const n = 57
	var jobs []*store.Enqueue
	for range n {
		jobs = append(jobs, e.job())
	}
	e.enqueue(jobs...)
	batch := &store.Batch{}
	for _, run := range e.claim(e.join(), n) {
		batch.Outcomes = append(batch.Outcomes, outcome(run, store.Completed))
	}
	e.apply(batch)
	e.clock.Advance(time.Hour + slack)
	if removed := e.retain(store.RetainParams{Completed: time.Hour, Limit: 10}); removed != n {
		e.Fatalf("removed %d jobs, want %d", removed, n)
	}
	if left := e.listIDs(store.Filter{}); len(left) != 0 {
		e.Fatalf("%d jobs are left", len(left))
	}
}

func retainNodes(e *env) {
	alive, left := e.join(), e.join()
	e.leave(left)
	e.clock.Advance(10 * 24 * time.Hour)
	e.beat(alive)
	e.retain(store.RetainParams{Limit: 100})
	nodes, err := e.store.Nodes(e.ctx)
	if err != nil || len(nodes) != 1 || nodes[0].ID != alive {
		e.Fatalf("nodes: %+v, %v", nodes, err)
	}
	if again := e.join(); again == left {
		e.Fatal("the id of a forgotten node is used again")
	}
	_, err = e.store.Beat(e.ctx, store.BeatParams{Node: left})
	e.wantErr("Beat of a forgotten node", err, store.ErrNodeDead)
}
