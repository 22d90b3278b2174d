package nodes

import (
	"slices"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// How long the jobs wait that are rescued, and how often, is in rescue_policy.go. What a living
// node gives up is in giveup.go.
var rescueTests = env.Merged(env.Tests{
	"NoLoss_jobs_of_a_dead_node_run_again":                         rescueJobs,
	"NoLoss_every_claim_record_of_a_dead_node_is_taken":            rescueManyRecords,
	"a_run_that_has_only_read_its_journal_is_counted":              rescueNoProgress,
	"a_node_that_has_given_another_sign_of_life_lives":             rescueSparesAlive,
	"only_nodes_that_are_named_are_declared_dead":                  rescueNamed,
	"a_death_is_told_once_by_the_call_that_declared_it":            rescueTells,
	"NoLoss_a_node_that_was_named_once_is_rescued_from_to_the_end": rescueGoesOn,
}, rescuePolicyTests, giveUpTests)

// rescueJobs: a job goes the same way whether its node died or gave it up.
func rescueJobs(e *env.Env) {
	for _, givenUp := range []bool{false, true} {
		run := e.Started(env.Queue("a"), env.Kind("push"))
		next := run.Lease.Node
		var rescued []store.RescuedJob
		if givenUp {
			rescued = e.GiveUp(run)
		} else {
			e.Clock.Advance(env.DeadAfter)
			rescued, next = e.Rescue(), e.Join()
		}
		now := e.Clock.Now()
		e.Equal("rescued", rescued, []store.RescuedJob{{
			Job: run.Job.ID, Namespace: env.Namespace, Kind: "push", Node: run.Lease.Node, State: store.Retryable,
			Reason: store.ReasonNodeLost, Queue: "a", RunAt: now,
		}})
		want := store.Record{Job: run.Job, State: store.Retryable, ClaimedAt: run.ClaimedAt}
		want.RunAt = now
		want.Attempts = []store.Attempt{{
			Number: 1, LeaseNumber: 1, Node: run.Lease.Node, Build: env.Build, ClaimedAt: run.ClaimedAt, EndedAt: now,
			Outcome: store.Retryable, Reason: store.ReasonNodeLost,
		}}
		// What the store writes about a run that was not reported is its own.
		words := cmpopts.IgnoreFields(store.Attempt{}, "Error", "Trace")
		e.Equal("record", e.Get(run.Job.ID), want, words, cmpopts.IgnoreFields(store.Record{}, "Error"))
		again := e.ClaimOne(next, run.Job.ID)
		if again.Job.Attempt != 2 || again.Lease.Number != 2 {
			e.Fatalf("second run: attempt %d, lease %d", again.Job.Attempt, again.Lease.Number)
		}
		e.End(again, store.Completed)
	}
}

// rescueManyRecords: Reading: Limit bounds a transaction, so a call may return before everything is
// taken; who wants everything asks until nothing comes. The node is dead from the first call on.
func rescueManyRecords(e *env.Env) {
	const n = 2*store.MaxClaimSlots + 3
	jobs := e.Many(n + 4)
	first, second, third := e.Join(), e.Join(), e.Join()
	e.ClaimWith(e.Demand(first, n))
	e.ClaimWith(e.Demand(second, 1))
	e.ClaimWith(e.Demand(second, 3))
	e.Clock.Advance(env.DeadAfter + time.Second)
	e.Beat(third)
	params := e.RescueParams()
	params.Limit = 1
	rescued := e.RescueWith(params)
	var ids []store.ID
	for _, r := range rescued {
		ids = append(ids, r.Job)
		e.WantState(r.Job, store.Retryable)
	}
	e.WantSameIDs("rescued", ids, env.IDsOf(jobs)...)
	e.Clock.Advance(env.RescueBackoff)
	e.Beat(third)
	if claimed := e.Claim(third, n+10); len(claimed) != n+4 {
		e.Fatalf("claimed %d of the rescued jobs, want %d", len(claimed), n+4)
	}
}

// rescueNoProgress: what an earlier run wrote, what was copied by a fork, and what a job that
// continued as new was given, is no progress of it. Neither is a checkpoint.
func rescueNoProgress(e *env.Env) {
	durable, anew := e.Durable(3, env.Attempts(5)), e.Durable(3, env.Attempts(5))
	e.End(durable, store.Available)
	e.End(anew, store.Available, func(o *store.Outcome) { o.Continue = &store.Continue{Args: []byte("1")} })
	ids := []store.ID{durable.Job.ID, e.Fork(durable.Job.ID, 2, env.Attempts(5)), anew.Job.ID, e.Add(env.Attempts(5))}
	node := e.Join()
	for _, run := range e.Claim(node, 10) {
		e.Save(run, store.Checkpoint{Percent: 10})
	}
	e.Clock.Advance(env.DeadAfter + time.Second)
	e.Rescue()
	for i, id := range ids {
		if record := e.Get(id); record.State != store.Retryable || record.Attempt != 1 {
			e.Fatalf("job %d is %v with %d attempts", i, record.State, record.Attempt)
		}
	}
}

// rescueSparesAlive: a leader may name a node by an earlier beat than its last one. That node
// lives.
func rescueSparesAlive(e *env.Env) {
	run := e.Started()
	node := run.Lease.Node
	joined := e.LastBeat(node)
	e.Clock.Advance(100 * env.DeadAfter)
	e.Beat(node)
	last := e.LastBeat(node)
	if joined.At.Equal(last.At) {
		e.Fatalf("the node beat at %v and at %v", joined.At, last.At)
	}
	stale := []store.NodeBeat{
		joined, {Node: node}, {Node: node, At: last.At.Add(-time.Microsecond)}, {Node: node, At: last.At.Add(time.Microsecond)},
	}
	if rescued := e.RescueWith(store.RescueParams{Dead: stale}); len(rescued) != 0 {
		e.Fatalf("rescued from a node that beats: %+v", rescued)
	}
	e.Beat(node)
	e.End(run, store.Completed)
}

// rescueNamed: silence alone does not make a node dead; the leader has to name it.
func rescueNamed(e *env.Env) {
	silent, named := e.Started(), e.Started()
	left := e.Join()
	e.Leave(left)
	gone := e.LastBeat(left)
	e.Clock.Advance(1000 * env.DeadAfter)
	if rescued := e.RescueWith(store.RescueParams{}); len(rescued) != 0 {
		e.Fatalf("rescued, and nobody is dead: %+v", rescued)
	}
	nobody := store.NodeBeat{Node: named.Lease.Node + 1000, At: gone.At}
	rescued := e.RescueWith(store.RescueParams{Dead: []store.NodeBeat{nobody, gone, e.LastBeat(named.Lease.Node)}})
	if len(rescued) != 1 || rescued[0].Job != named.Job.ID {
		e.Fatalf("rescued: %+v, want job %v alone", rescued, named.Job.ID)
	}
	e.Beat(silent.Lease.Node)
	e.End(silent, store.Completed)
}

// rescueTells: of nodes that hold something and of those that do not; not of one that lives, or
// that has left.
func rescueTells(e *env.Env) {
	busy, idle, lives, left := e.Started().Lease.Node, e.Join(), e.Join(), e.Join()
	e.Leave(left)
	params := store.RescueParams{}
	for _, node := range []int64{busy, idle, lives, left} {
		params.Dead = append(params.Dead, e.LastBeat(node))
	}
	e.Clock.Advance(env.DeadAfter)
	e.Beat(lives)
	for _, want := range [][]int64{{busy, idle}, nil} {
		rescued, err := e.Store.Rescue(e.Ctx, params)
		e.NoError("Rescue", err)
		slices.Sort(rescued.Died)
		if slices.Sort(want); !slices.Equal(rescued.Died, want) {
			e.Fatalf("declared dead: %v, want %v", rescued.Died, want)
		}
	}
}

// rescueGoesOn: a node is declared dead once. Later rescues find what it still holds without naming
// it again.
func rescueGoesOn(e *env.Env) {
	const records = 5
	node, leader := e.Join(), e.Join()
	var ids []store.ID
	for range records {
		ids = append(ids, e.Add())
		e.ClaimWith(e.Demand(node, 1))
	}
	params := store.RescueParams{Dead: e.Lead(leader).Nodes, Limit: 1}
	var taken []store.ID
	for calls := 0; len(taken) < records; calls++ {
		running := e.ListIDs(store.Filter{States: []store.State{store.Running}})
		if calls > 0 && !e.Lead(leader).Work.Rescue {
			e.Fatalf("a dead node holds %d jobs, and the leader is not told", len(running))
		}
		rescued, err := e.Store.Rescue(e.Ctx, params)
		if err != nil || calls > 0 && len(rescued.Jobs) == 0 || calls > records {
			e.Fatalf("Rescue: %+v, %v; %d jobs run", rescued.Jobs, err, len(running))
		}
		taken = append(taken, env.RescuedIDs(rescued.Jobs)...)
		_, err = e.Store.Claim(e.Ctx, e.Demand(node, 1))
		e.WantErr("Claim of a dead node", err, store.ErrNodeDead)
		params.Dead = nil
	}
	e.WantSameIDs("rescued", taken, ids...)
}
