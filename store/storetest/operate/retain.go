package operate

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var retainTests = env.Tests{
	"NoLoss_nothing_is_removed_before_its_time":                  retainKeeps,
	"what_is_over_is_removed_with_everything_that_belongs_to_it": retainRemoves,
	"each_state_has_its_own_time":                                retainByState,
	"NoLoss_what_is_not_finished_is_kept_beside_what_is_removed": retainKeepsUnfinished,
	"removal_in_steps_comes_to_an_end":                           retainSteps,
	"nodes_that_ended_long_ago_are_forgotten":                    retainNodes,
}

func retainKeeps(e *env.Env) {
	const day = 24 * time.Hour
	params := store.Retention{Completed: day, Failed: day, Cancelled: day, Limit: 100}
	// The job ran for long. Its age counts from its end, not from its beginning.
	run := e.Started()
	e.Clock.Advance(5 * day)
	e.End(run, store.Completed)
	before := e.Get(run.Job.ID)
	e.Clock.Advance(day - time.Second)
	if n := e.Retain(params); n != 0 {
		e.Fatalf("removed %d jobs", n)
	}
	e.Equal("record", e.Get(run.Job.ID), before)
	// Zero keeps jobs for ever.
	e.Clock.Advance(1000 * day)
	if n := e.Retain(store.Retention{Failed: day, Cancelled: day, Limit: 100}); n != 0 {
		e.Fatalf("removed %d jobs", n)
	}
	e.Equal("record", e.Get(run.Job.ID), before)
}

func retainRemoves(e *env.Env) {
	node := e.Join()
	var gone []store.ID
	for _, state := range []store.State{store.Completed, store.Failed, store.Cancelled} {
		id := e.Add(env.Unique(state.String(), store.States...))
		gone = append(gone, id)
		run := e.ClaimOne(node, id)
		e.End(run, store.Retryable)
		e.Retry(id)
		run = e.ClaimOne(node, id)
		e.WantTaken(state.String(), id)
		e.Save(run, store.Checkpoint{Message: "m"})
		e.Write(&run, env.Steps(1, 3)...)
		e.Send(id, env.Signal("approved"))
		e.End(run, state)
	}
	never := e.Add()
	e.Cancel(never)
	gone = append(gone, never)
	e.Clock.Advance(time.Hour + env.Slack)
	params := store.Retention{Completed: time.Hour, Failed: time.Hour, Cancelled: time.Hour, Limit: 100}
	if n := e.Retain(params); n != len(gone) {
		e.Fatalf("removed %d jobs, want %d", n, len(gone))
	}
	for _, id := range gone {
		e.WantGone(id)
		e.Equal("journal of a removed job", e.Journal(id), store.Journal{Job: id})
	}
	for _, state := range []store.State{store.Completed, store.Failed, store.Cancelled} {
		e.WantFree(state.String())
	}
	// A job that takes the id of a removed one finds nothing of it.
	again := e.Enqueue(e.Job(env.ID(gone[1])))[0]
	record := e.Get(gone[1])
	if again.Result.Existing || record.State != store.Available || record.LeaseNumber != 0 ||
		len(record.Attempts) != 0 || record.Checkpoint != nil {
		e.Fatalf("what took the id of a removed job: %+v, %+v", again.Result, record)
	}
	run := e.ClaimOne(e.Join(), gone[1])
	if run.Durable || run.Checkpoint != nil {
		e.Fatalf("the run of a new job: %+v", run)
	}
	e.Write(&run, env.Step(1))
	if got := e.Send(gone[1], env.Signal("approved")); got.Seq != 1 {
		e.Fatalf("the first message has the number %d", got.Seq)
	}
	if r := e.TryRetry(gone[2]); r.Err == nil {
		e.Fatal("a removed job was retried")
	}
	if n := e.Retain(params); n != 0 {
		e.Fatalf("removed %d jobs again", n)
	}
}

func retainByState(e *env.Env) {
	node := e.Join()
	ids := map[store.State]store.ID{}
	for _, state := range []store.State{store.Completed, store.Failed, store.Cancelled} {
		ids[state] = e.Add()
		e.End(e.ClaimOne(node, ids[state]), state)
	}
	params := store.Retention{Completed: time.Hour, Failed: 10 * 24 * time.Hour, Limit: 100}
	e.Clock.Advance(time.Hour + env.Slack)
	if n := e.Retain(params); n != 1 {
		e.Fatalf("removed %d jobs, want the completed one", n)
	}
	e.WantGone(ids[store.Completed])
	e.WantState(ids[store.Failed], store.Failed)
	e.WantState(ids[store.Cancelled], store.Cancelled)
	e.Clock.Advance(10 * 24 * time.Hour)
	e.Retain(params)
	e.WantGone(ids[store.Failed])
	if record := e.Get(ids[store.Cancelled]); record.Error != "the handler gave up" || len(record.Attempts) != 1 {
		e.Fatalf("record: %+v", record)
	}
}

// retainKeepsUnfinished: a store that drops whole days must first copy what is not over, and all of
// it.
func retainKeepsUnfinished(e *env.Env) {
	node := e.Join()
	done := e.Started()
	retryable := e.Started(env.Unique("k"), env.Ordered("k"))
	c := store.Checkpoint{Percent: 50, Message: "half", Value: []byte(`{"n":1}`)}
	e.Save(retryable, c)
	e.End(retryable, store.Retryable, func(o *store.Outcome) { o.Delay = 100 * 24 * time.Hour })
	e.End(done, store.Completed)
	failed := e.Started()
	e.End(failed, store.Failed)
	scheduled := e.Add(env.Delay(90 * 24 * time.Hour))
	running := e.ClaimOne(node, e.Add())
	available, waiting := e.Add(), e.Add(env.Ordered("k"))
	e.Promote()

	kept := []store.ID{retryable.Job.ID, failed.Job.ID, scheduled, running.Job.ID, available, waiting}
	var before []store.Record
	for _, id := range kept {
		before = append(before, e.Get(id))
	}
	e.Clock.Advance(30 * 24 * time.Hour)
	e.Beat(node)
	if n := e.Retain(store.Retention{Completed: time.Hour, Limit: 100}); n != 1 {
		e.Fatalf("removed %d jobs, want 1", n)
	}
	e.WantGone(done.Job.ID)
	for i, id := range kept {
		e.Equal("kept job", e.Get(id), before[i])
	}
	e.WantTaken("k", retryable.Job.ID)
	e.End(running, store.Completed)
	e.End(e.ClaimOne(node, available), store.Completed)
	e.Retry(failed.Job.ID)
	e.End(e.ClaimOne(node, failed.Job.ID), store.Completed)
	e.Clock.Advance(71 * 24 * time.Hour)
	e.Beat(node)
	runs := e.Claim(node, 10)
	e.WantIDs("claimed", env.ClaimedIDs(runs), scheduled, retryable.Job.ID)
	if runs[1].Checkpoint == nil || runs[1].Checkpoint.Message != "half" {
		e.Fatalf("checkpoint: %+v", runs[1].Checkpoint)
	}
	e.End(runs[1], store.Completed)
	e.ClaimOne(node, waiting)
}

func retainSteps(e *env.Env) {
	const n = 57
	e.Many(n)
	e.EndAll(e.Claim(e.Join(), n), store.Completed)
	e.Clock.Advance(time.Hour + env.Slack)
	if removed := e.Retain(store.Retention{Completed: time.Hour, Limit: 10}); removed != n {
		e.Fatalf("removed %d jobs, want %d", removed, n)
	}
	if left := e.ListIDs(store.Filter{}); len(left) != 0 {
		e.Fatalf("%d jobs are left", len(left))
	}
}

func retainNodes(e *env.Env) {
	alive, left := e.Join(), e.Join()
	e.Leave(left)
	e.Clock.Advance(10 * 24 * time.Hour)
	e.Beat(alive)
	e.Retain(store.Retention{Limit: 100})
	nodes, err := e.Store.Nodes(e.Ctx)
	if err != nil || len(nodes) != 1 || nodes[0].ID != alive {
		e.Fatalf("nodes: %+v, %v", nodes, err)
	}
	if again := e.Join(); again == left {
		e.Fatal("the id of a forgotten node is used again")
	}
	_, err = e.Store.Beat(e.Ctx, store.BeatParams{Node: left})
	e.WantErr("Beat of a forgotten node", err, store.ErrNodeDead)
}
