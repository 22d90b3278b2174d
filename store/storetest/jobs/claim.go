package jobs

import (
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var claimTests = env.Tests{
	"OneOwner_a_claim_hands_out_a_lease_and_nobody_else_gets_it":  claimHandsOutLease,
	"OneOwner_a_large_claim_is_split_into_records":                claimSplitsRecords,
	"only_the_namespace_that_the_node_serves_is_claimed":          claimsOnlyNamespace,
	"LimitsHold_never_more_of_a_queue_than_its_demand_is_claimed": claimQueueDemand,
	"a_paused_queue_is_passed_over":                               claimPaused,
	"a_node_that_is_not_alive_claims_nothing":                     claimNodeDead,
	"a_job_of_an_unknown_kind_does_not_hold_up_those_behind_it":   unknownKindDoesNotBlock,
}

func claimHandsOutLease(e *env.Env) {
	id := e.Add()
	node := e.Join()
	params := e.Demand(node, 5)
	claimed := e.ClaimWith(params)
	e.WantIDs("claimed", env.ClaimedIDs(claimed), id)
	c := claimed[0]
	// The store may choose the slot.
	e.Equal("lease", c.Lease, store.Lease{Job: id, Number: 1, Node: node, Claim: params.Seq, Slot: c.Lease.Slot})
	if !c.ClaimedAt.Equal(e.Clock.Now()) || c.CancelRequested || c.Checkpoint != nil {
		e.Fatalf("claimed: %+v", c)
	}
	record := e.Get(id)
	if record.State != store.Running || record.Lease != c.Lease || !record.ClaimedAt.Equal(c.ClaimedAt) {
		e.Fatalf("record of the running job: %+v", record)
	}
	e.WantNothing(e.Join())
	e.WantNothing(node)
}

func claimSplitsRecords(e *env.Env) {
	const n = 2*store.MaxClaimSlots + 31
	jobs := e.Many(n)
	node := e.Join()
	params := e.Demand(node, n)
	claimed := e.ClaimWith(params)
	e.WantIDs("claimed", env.ClaimedIDs(claimed), env.IDsOf(jobs)...)
	type place struct {
		claim int64
		slot  int
	}
	taken := map[place]bool{}
	for _, c := range claimed {
		p := place{c.Lease.Claim, c.Lease.Slot}
		if p.claim < params.Seq || p.claim > params.Seq+2 || p.slot < 0 || p.slot >= store.MaxClaimSlots || taken[p] {
			e.Fatalf("lease %+v is out of its bounds or doubled", c.Lease)
		}
		taken[p] = true
	}
	// Each lease ends its own job: the last slot of a record is not special, and records do not
	// mix.
	batch := &store.Batch{}
	for i, c := range claimed {
		batch.Outcomes = append(batch.Outcomes, env.Outcome(c, []store.State{store.Completed, store.Failed}[i%2]))
	}
	e.Apply(batch)
	for i, o := range batch.Outcomes {
		if o.Err != nil {
			e.Fatalf("outcome %d: %v", i, o.Err)
		}
		e.WantState(o.Lease.Job, []store.State{store.Completed, store.Failed}[i%2])
	}
}

func claimsOnlyNamespace(e *env.Env) {
	other := e.Add(env.In("other"))
	node := e.Join()
	e.WantNothing(node)
	params := e.Demand(node, 5)
	params.Namespace = "other"
	e.WantIDs("claimed", env.ClaimedIDs(e.ClaimWith(params)), other)
}

func claimQueueDemand(e *env.Env) {
	var a, b, c []store.ID
	for range 4 {
		a = append(a, e.Add(env.Queue("a")))
		b = append(b, e.Add(env.Queue("b"), env.Priority(1)))
		c = append(c, e.Add(env.Queue("c")))
	}
	node := e.Join()
	params := e.Demand(node, 5)
	params.Queues = []store.QueueDemand{{Name: "a", Limit: 3}, {Name: "b", Limit: 1}, {Name: "c", Limit: 0}, {Name: "unknown", Limit: 3}}
	e.WantIDs("claimed", env.ClaimedIDs(e.ClaimWith(params)), b[0], a[0], a[1], a[2])
	// The limit of the claim bounds those of its queues.
	params = e.Demand(node, 2)
	params.Queues = []store.QueueDemand{{Name: "a", Limit: 5}, {Name: "b", Limit: 5}}
	e.WantIDs("claimed", env.ClaimedIDs(e.ClaimWith(params)), b[1], b[2])
	// Reading: only nil means every queue. A node whose queues are all at their limits sends an
	// empty list.
	params = e.Demand(node, 5)
	params.Queues = []store.QueueDemand{}
	if claimed := e.ClaimWith(params); len(claimed) != 0 {
		e.Fatalf("a claim of no queues took %d jobs", len(claimed))
	}
	e.WantIDs("the rest", env.ClaimedIDs(e.Claim(node, 10)), b[3], c[0], c[1], c[2], a[3], c[3])
}

func claimPaused(e *env.Env) {
	node := e.Join()
	running := e.Add(env.Queue("a"))
	run := e.ClaimOne(node, running)
	a, b := e.Add(env.Queue("a"), env.Priority(1)), e.Add(env.Queue("b"))
	e.Pause("a", true)
	e.WantIDs("claimed", env.ClaimedIDs(e.Claim(node, 5)), b)
	// A claim that names a paused queue takes nothing from it, and the run goes on.
	params := e.Demand(node, 5)
	params.Queues = []store.QueueDemand{{Name: "a", Limit: 5}}
	if claimed := e.ClaimWith(params); len(claimed) != 0 {
		e.Fatal("claimed from a paused queue")
	}
	e.End(run, store.Completed)
	e.WantState(a, store.Available)
	e.Pause("a", false)
	e.ClaimOne(node, a)
}

func claimNodeDead(e *env.Env) {
	id := e.Add()
	left, dead, alive := e.Join(), e.Join(), e.Join()
	e.NoError("Leave", env.ErrOf(e.Store.Leave(e.Ctx, left)))
	e.Clock.Advance(time.Minute)
	e.Beat(alive)
	e.Rescue()
	for _, node := range []int64{left, dead, alive + 1000} {
		_, err := e.Store.Claim(e.Ctx, e.Demand(node, 1))
		e.WantErr(fmt.Sprintf("Claim of node %d", node), err, store.ErrNodeDead)
		params := e.Demand(node, 1)
		params.Repeat = true
		_, err = e.Store.Claim(e.Ctx, params)
		e.WantErr(fmt.Sprintf("repeated Claim of node %d", node), err, store.ErrNodeDead)
	}
	e.ClaimOne(alive, id)
}

// unknownKindDoesNotBlock: during a rolling deploy, jobs of a new kind wait and do not hold up
// others.
func unknownKindDoesNotBlock(e *env.Env) {
	unknown := e.Many(50, env.Kind("unknown"), env.Priority(1))
	id := e.Add(env.Priority(4))
	node := e.Join()
	params := e.Demand(node, 5)
	params.Kinds = nil
	if claimed := append(e.ClaimWith(params), e.ClaimWith(e.Demand(node, 0))...); len(claimed) != 0 {
		e.Fatalf("claims without kinds, and of none, took %d jobs", len(claimed))
	}
	e.ClaimOne(node, id)
	e.WantNothing(node)
	e.WantState(unknown[0].Job.ID, store.Available)
}
