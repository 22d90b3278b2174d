package nodes

import (
	"cmp"
	"slices"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// What a node holds, as its beat tells it if it asks: so it finds leases that none of its runs has.
var heldTests = env.Tests{
	"a_node_that_asks_for_nothing_is_told_nothing":                    heldNothing,
	"NoLoss_a_node_is_told_what_it_holds_of_the_claims_that_it_names": heldNamed,
	"a_range_of_claims_is_half_open":                                  heldRange,
	"OneOwner_what_other_nodes_hold_is_not_told":                      heldByOthers,
	"NoLoss_every_slot_of_a_large_claim_is_told":                      heldLarge,
}

// wantLeases checks what a node is told that it holds of the claims that it asks for.
func wantLeases(e *env.Env, node int64, asked store.HeldParams, want ...store.Claimed) {
	e.Helper()
	beat, err := e.Store.Beat(e.Ctx, store.BeatParams{Node: node, Held: asked})
	e.NoError("Beat", err)
	var leases []store.Lease
	for _, c := range want {
		leases = append(leases, c.Lease)
	}
	byPlace := func(a, b store.Lease) int { return cmp.Or(cmp.Compare(a.Claim, b.Claim), cmp.Compare(a.Slot, b.Slot)) }
	slices.SortFunc(leases, byPlace)
	slices.SortFunc(beat.Held, byPlace)
	e.Equal("leases that are held", beat.Held, leases)
}

// everyClaim asks for every claim that there can be.
var everyClaim = store.HeldParams{From: 0, To: 1 << 62}

// claims takes n jobs with a claim each.
func claims(e *env.Env, node int64, n int) []store.Claimed {
	e.Helper()
	var runs []store.Claimed
	for range n {
		runs = append(runs, e.ClaimOne(node, e.Add()))
	}
	return runs
}

func claimsOf(runs ...store.Claimed) []int64 {
	var claims []int64
	for _, run := range runs {
		claims = append(claims, run.Lease.Claim)
	}
	return claims
}

func heldNothing(e *env.Env) {
	node := e.Join()
	wantLeases(e, node, everyClaim)
	runs := claims(e, node, 3)
	claim := runs[1].Lease.Claim
	for _, nothing := range []store.HeldParams{
		{},
		{Claims: []int64{}},
		{From: claim, To: claim},
		{From: claim + 1, To: claim},
		{Claims: []int64{claim + 1000}},
		{From: claim + 1000, To: claim + 2000},
	} {
		wantLeases(e, node, nothing)
	}
}

func heldNamed(e *env.Env) {
	node := e.Join()
	runs := claims(e, node, 4)
	wantLeases(e, node, store.HeldParams{Claims: claimsOf(runs[2], runs[0])}, runs[0], runs[2])
	// In any order, with some that are not there, and some that are in the range as well: each is
	// told once.
	asked := store.HeldParams{
		Claims: append(claimsOf(runs[3], runs[1], runs[3]), runs[3].Lease.Claim+1000), From: runs[0].Lease.Claim, To: runs[2].Lease.Claim,
	}
	wantLeases(e, node, asked, runs[0], runs[1], runs[3])
	wantLeases(e, node, asked, runs[0], runs[1], runs[3])
}

func heldRange(e *env.Env) {
	node := e.Join()
	runs := claims(e, node, 4)
	from, to := runs[1].Lease.Claim, runs[3].Lease.Claim
	wantLeases(e, node, store.HeldParams{From: from, To: to}, runs[1], runs[2])
	wantLeases(e, node, store.HeldParams{From: from, To: to + 1}, runs[1:]...)
	wantLeases(e, node, store.HeldParams{From: from + 1, To: to}, runs[2])
	wantLeases(e, node, store.HeldParams{From: from, To: from + 1}, runs[1])
	wantLeases(e, node, everyClaim, runs...)
}

func heldByOthers(e *env.Env) {
	node, other := e.Join(), e.Join()
	mine, theirs := claims(e, node, 1)[0], claims(e, other, 1)[0]
	// The numbers of two nodes have nothing to do with each other.
	e.Add()
	params := e.Demand(other, 1)
	params.Seq = mine.Lease.Claim
	same := e.ClaimWith(params)[0]
	if same.Lease.Claim != mine.Lease.Claim {
		e.Fatalf("claim %d was written as %d", mine.Lease.Claim, same.Lease.Claim)
	}
	asked := store.HeldParams{Claims: claimsOf(mine, theirs)}
	wantLeases(e, node, asked, mine)
	wantLeases(e, other, asked, theirs, same)
	wantLeases(e, node, everyClaim, mine)
	wantLeases(e, other, everyClaim, theirs, same)
	e.End(mine, store.Completed)
	wantLeases(e, node, everyClaim)
	wantLeases(e, other, everyClaim, theirs, same)
	e.Leave(other)
	wantLeases(e, node, everyClaim)
	_, err := e.Store.Beat(e.Ctx, store.BeatParams{Node: other, Held: everyClaim})
	e.WantErr("Beat of a node that has left", err, store.ErrNodeDead)
}

func heldLarge(e *env.Env) {
	node := e.Join()
	jobs := e.Many(2*store.MaxClaimSlots + 7)
	runs := e.Claim(node, len(jobs))
	wantLeases(e, node, everyClaim, runs...)
	// The numbers are those that the leases name.
	var first []store.Claimed
	for _, run := range runs {
		if run.Lease.Claim == runs[0].Lease.Claim {
			first = append(first, run)
		}
	}
	wantLeases(e, node, store.HeldParams{Claims: claimsOf(runs[0])}, first...)
	batch := &store.Batch{}
	for i, run := range runs {
		if i%3 != 0 {
			batch.Outcomes = append(batch.Outcomes, env.Outcome(run, store.Completed))
		}
	}
	e.Apply(batch)
	var left []store.Claimed
	for i, run := range runs {
		if i%3 == 0 {
			left = append(left, run)
		}
	}
	wantLeases(e, node, everyClaim, left...)
}
