package storetest

import (
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

var claimTests = []test{
	{"OneOwner_a_claim_hands_out_a_lease_and_nobody_else_gets_it", claimHandsOutLease},
	{"OneOwner_lease_numbers_grow_with_every_claim", leaseNumbersGrow},
	{"OneOwner_a_large_claim_is_split_into_records", claimSplitsRecords},
	{"only_the_kinds_that_the_node_handles_are_claimed", claimsOnlyKinds},
	{"only_the_namespace_that_the_node_serves_is_claimed", claimsOnlyNamespace},
	{"LimitsHold_never_more_than_the_limit_is_claimed", claimLimit},
	{"LimitsHold_never_more_of_a_queue_than_its_demand_is_claimed", claimQueueDemand},
	{"nothing_is_claimed_before_its_time", claimNotBeforeTime},
	{"a_paused_queue_is_passed_over", claimPaused},
	{"a_node_that_is_not_alive_claims_nothing", claimNodeDead},
	{"a_job_of_an_unknown_kind_does_not_hold_up_those_behind_it", unknownKindDoesNotBlock},
}

func claimHandsOutLease(e *env) {
	id := e.add()
	node := e.join()
	params := e.demand(node, 5)
	claimed := e.claimWith(params)
	e.wantIDs("claimed", claimedIDs(claimed), id)
	c := claimed[0]
	// Which slot it is given is the store's business.
	e.equal("lease", c.Lease, store.Lease{Job: id, Number: 1, Node: node, Claim: params.Seq, Slot: c.Lease.Slot})
	if !c.ClaimedAt.Equal(e.clock.Now()) || c.CancelRequested || c.Checkpoint != nil {
		e.Fatalf("claimed: %+v", c)
	}
	record := e.get(id)
	if record.State != store.Running || record.Lease != c.Lease || !record.ClaimedAt.Equal(c.ClaimedAt) {
		e.Fatalf("record of the running job: %+v", record)
	}
	e.wantNothing(e.join())
	e.wantNothing(node)
}

func leaseNumbersGrow(e *env) {
	id := e.add(attempts(100))
	nodes := []int64{e.join(), e.join()}
	for i := range 8 {
		run := e.claimOne(nodes[i%2], id)
		if run.Lease.Number != int64(i+1) || run.Job.LeaseNumber != run.Lease.Number {
			e.Fatalf("claim %d has the lease number %d, the job says %d", i, run.Lease.Number, run.Job.LeaseNumber)
		}
		state := []store.State{store.Retryable, store.Scheduled, store.Available, store.Failed}[i%4]
		e.end(run, state)
		if n := e.get(id).LeaseNumber; n != int64(i+1) {
			e.Fatalf("after the outcome %v the job's lease number is %d, want %d", state, n, i+1)
		}
		if state == store.Failed {
			e.retry(id)
		}
		e.clock.Advance(time.Hour)
	}
}

func claimSplitsRecords(e *env) {
	const n = 2*store.MaxClaimSlots + 31
	var jobs []*store.Enqueue
	for range n {
		jobs = append(jobs, e.job())
	}
	e.enqueue(jobs...)
	node := e.join()
	params := e.demand(node, n)
	claimed := e.claimWith(params)
	e.wantIDs("claimed", claimedIDs(claimed), idsOf(jobs)...)
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
	// Each lease ends its own job: the last slot of a record is not special, and records do not mix.
	batch := &store.Batch{}
	for i, c := range claimed {
		batch.Outcomes = append(batch.Outcomes, outcome(c, []store.State{store.Completed, store.Failed}[i%2]))
	}
	e.apply(batch)
	for i, o := range batch.Outcomes {
		if o.Err != nil {
			e.Fatalf("outcome %d: %v", i, o.Err)
		}
		e.wantState(o.Lease.Job, []store.State{store.Completed, store.Failed}[i%2])
	}
}

func claimsOnlyKinds(e *env) {
	e.add(kind("unknown"))
	id := e.add(kind("push"))
	node := e.join()
	e.claimOne(node, id)
	e.wantNothing(node)
	params := e.demand(node, 5)
	params.Kinds = nil
	if claimed := e.claimWith(params); len(claimed) != 0 {
		e.Fatal("a claim without kinds took something")
	}
}

func claimsOnlyNamespace(e *env) {
	other := e.add(func(q *store.Enqueue) { q.Job.Namespace = "other" })
	node := e.join()
	e.wantNothing(node)
	params := e.demand(node, 5)
	params.Namespace = "other"
	e.wantIDs("claimed", claimedIDs(e.claimWith(params)), other)
}

func claimLimit(e *env) {
	var jobs []*store.Enqueue
	for i := range 9 {
		jobs = append(jobs, e.job(queue(fmt.Sprintf("q%d", i%3)), kind([]string{"send", "push"}[i%2])))
	}
	e.enqueue(jobs...)
	node := e.join()
	if claimed := e.claimWith(e.demand(node, 0)); len(claimed) != 0 {
		e.Fatalf("a claim of 0 took %d", len(claimed))
	}
	ids := idsOf(jobs)
	e.wantIDs("first", claimedIDs(e.claim(node, 4)), ids[:4]...)
	e.wantIDs("second", claimedIDs(e.claim(node, 4)), ids[4:8]...)
	e.wantIDs("third", claimedIDs(e.claim(node, 4)), ids[8])
}

func claimQueueDemand(e *env) {
	var a, b, c []store.ID
	for range 4 {
		a = append(a, e.add(queue("a")))
		b = append(b, e.add(queue("b"), priority(1)))
		c = append(c, e.add(queue("c")))
	}
	node := e.join()
	params := e.demand(node, 5)
	params.Queues = []store.QueueDemand{{Name: "a", Limit: 3}, {Name: "b", Limit: 1}, {Name: "c", Limit: 0}, {Name: "unknown", Limit: 3}}
	e.wantIDs("claimed", claimedIDs(e.claimWith(params)), b[0], a[0], a[1], a[2])
	// The limit of the whole claim holds over those of the queues.
	params = e.demand(node, 2)
	params.Queues = []store.QueueDemand{{Name: "a", Limit: 5}, {Name: "b", Limit: 5}}
	e.wantIDs("claimed", claimedIDs(e.claimWith(params)), b[1], b[2])
	// Reading: only nil means every queue. A node whose queues are all at their limits sends an empty list.
	params = e.demand(node, 5)
	params.Queues = []store.QueueDemand{}
	if claimed := e.claimWith(params); len(claimed) != 0 {
		e.Fatalf("a claim of no queues took %d jobs", len(claimed))
	}
	e.wantIDs("the rest", claimedIDs(e.claim(node, 10)), b[3], c[0], c[1], c[2], a[3], c[3])
}

func claimNotBeforeTime(e *env) {
	id := e.add(delay(time.Second))
	node := e.join()
	e.wantNothing(node)
	e.clock.Advance(time.Second - time.Microsecond)
	e.wantNothing(node)
	e.clock.Advance(time.Microsecond)
	e.claimOne(node, id)
}

func claimPaused(e *env) {
	node := e.join()
	running := e.add(queue("a"))
	run := e.claimOne(node, running)
	a, b := e.add(queue("a"), priority(1)), e.add(queue("b"))
	e.pause("a", true)
	e.wantIDs("claimed", claimedIDs(e.claim(node, 5)), b)
	// Naming a paused queue does not help; and what runs goes on.
	params := e.demand(node, 5)
	params.Queues = []store.QueueDemand{{Name: "a", Limit: 5}}
	if claimed := e.claimWith(params); len(claimed) != 0 {
		e.Fatal("claimed from a paused queue")
	}
	e.end(run, store.Completed)
	e.wantState(a, store.Available)
	e.pause("a", false)
	e.claimOne(node, a)
}

func claimNodeDead(e *env) {
	id := e.add()
	left, dead, alive := e.join(), e.join(), e.join()
	if err := e.store.Leave(e.ctx, left); err != nil {
		e.Fatalf("Leave: %v", err)
	}
	e.clock.Advance(time.Minute)
	e.beat(alive)
	e.rescue()
	for _, node := range []int64{left, dead, alive + 1000} {
		_, err := e.store.Claim(e.ctx, e.demand(node, 1))
		e.wantErr(fmt.Sprintf("Claim of node %d", node), err, store.ErrNodeDead)
		params := e.demand(node, 1)
		params.Repeat = true
		_, err = e.store.Claim(e.ctx, params)
		e.wantErr(fmt.Sprintf("repeated Claim of node %d", node), err, store.ErrNodeDead)
	}
	e.claimOne(alive, id)
}

// unknownKindDoesNotBlock: a rolling deploy fails nothing and holds up nothing.
func unknownKindDoesNotBlock(e *env) {
	var unknown []*store.Enqueue
	for range 50 {
		unknown = append(unknown, e.job(kind("unknown"), priority(1)))
	}
	e.enqueue(unknown...)
	id := e.add(priority(4))
	e.claimOne(e.join(), id)
	e.wantState(unknown[0].Job.ID, store.Available)
}
