package storetest

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// What a node holds, as its beat tells it if it asks: so it finds leases that nobody works on.
var heldTests = []test{
	{"a_node_that_asks_for_nothing_is_told_nothing", heldNothing},
	{"NoLoss_a_node_is_told_what_it_holds_of_the_claims_that_it_names", heldNamed},
	{"a_range_of_claims_is_half_open", heldRange},
	{"what_is_done_is_not_told", heldDone},
	{"OneOwner_what_other_nodes_hold_is_not_told", heldByOthers},
	{"NoLoss_what_was_started_with_its_enqueue_is_told", heldStarted},
	{"NoLoss_every_slot_of_a_large_claim_is_told", heldLarge},
	{"a_job_that_runs_again_is_told_of_its_last_claim_alone", heldAgain},
}

// wantLeases checks what a node is told that it holds of the claims that it asks for.
func (e *env) wantLeases(node int64, asked store.HeldParams, want ...store.Claimed) {
	e.Helper()
	beat, err := e.store.Beat(e.ctx, store.BeatParams{Node: node, Held: asked})
	if err != nil {
		e.Fatalf("Beat: %v", err)
	}
	var leases []store.Lease
	for _, c := range want {
		leases = append(leases, c.Lease)
	}
	byPlace := func(a, b store.Lease) int { return cmp.Or(cmp.Compare(a.Claim, b.Claim), cmp.Compare(a.Slot, b.Slot)) }
	slices.SortFunc(leases, byPlace)
	slices.SortFunc(beat.Held, byPlace)
	e.equal("leases that are held", beat.Held, leases)
}

// everyClaim asks for every claim that there can be.
var everyClaim = store.HeldParams{From: 0, To: 1 << 62}

// claims takes n jobs with a claim each.
func (e *env) claims(node int64, n int) []store.Claimed {
	e.Helper()
	var runs []store.Claimed
	for range n {
		runs = append(runs, e.claimOne(node, e.add()))
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

func heldNothing(e *env) {
	node := e.join()
	e.wantLeases(node, everyClaim)
	runs := e.claims(node, 3)
	claim := runs[1].Lease.Claim
	for _, nothing := range []store.HeldParams{
		{},
		{Claims: []int64{}},
		{From: claim, To: claim},
		{From: claim + 1, To: claim},
		{Claims: []int64{claim + 1000}},
		{From: claim + 1000, To: claim + 2000},
	} {
		e.wantLeases(node, nothing)
	}
}

func heldNamed(e *env) {
	node := e.join()
	runs := e.claims(node, 4)
	e.wantLeases(node, store.HeldParams{Claims: claimsOf(runs[2], runs[0])}, runs[0], runs[2])
	// In any order, with some that are not there, and some that are in the range as well: each is
	// told once.
	asked := store.HeldParams{
		Claims: append(claimsOf(runs[3], runs[1], runs[3]), runs[3].Lease.Claim+1000), From: runs[0].Lease.Claim, To: runs[2].Lease.Claim,
	}
	e.wantLeases(node, asked, runs[0], runs[1], runs[3])
	e.wantLeases(node, asked, runs[0], runs[1], runs[3])
}

func heldRange(e *env) {
	node := e.join()
	runs := e.claims(node, 4)
	from, to := runs[1].Lease.Claim, runs[3].Lease.Claim
	e.wantLeases(node, store.HeldParams{From: from, To: to}, runs[1], runs[2])
	e.wantLeases(node, store.HeldParams{From: from, To: to + 1}, runs[1:]...)
	e.wantLeases(node, store.HeldParams{From: from + 1, To: to}, runs[2])
	e.wantLeases(node, store.HeldParams{From: from, To: from + 1}, runs[1])
	e.wantLeases(node, everyClaim, runs...)
}

// heldDone: however a run has ended; what was asked of one that goes on changes nothing.
func heldDone(e *env) {
	node := e.join()
	states := append(slices.Clone(endStates), store.Waiting)
	for range len(states) + 4 {
		e.add(attempts(9))
	}
	runs := e.claim(node, 100)
	e.wantLeases(node, everyClaim, runs...)
	asked := store.HeldParams{Claims: claimsOf(runs[0])}
	left := slices.Clone(runs)
	for _, state := range states {
		if state == store.Waiting {
			e.write(&left[0], step(1))
			e.park(left[0], &store.Wait{Held: true})
		} else {
			e.end(left[0], state, func(o *store.Outcome) { o.Delay = 1000 * time.Hour })
		}
		left = left[1:]
		e.wantLeases(node, asked, left...)
	}
	e.terminate(left[0].Job.ID)
	left = left[1:]
	e.wantLeases(node, asked, left...)
	e.cancel(left[0].Job.ID)
	e.tryPause(left[1].Job.ID)
	e.save(left[2], store.Checkpoint{Percent: 1})
	e.wantLeases(node, asked, left...)
	for _, run := range left {
		e.end(run, store.Completed)
	}
	e.wantLeases(node, everyClaim)
}

func heldByOthers(e *env) {
	node, other := e.join(), e.join()
	mine, theirs := e.claims(node, 1)[0], e.claims(other, 1)[0]
	// The numbers of two nodes have nothing to do with each other.
	e.add()
	params := e.demand(other, 1)
	params.Seq = mine.Lease.Claim
	same := e.claimWith(params)[0]
	if same.Lease.Claim != mine.Lease.Claim {
		e.Fatalf("claim %d was written as %d", mine.Lease.Claim, same.Lease.Claim)
	}
	asked := store.HeldParams{Claims: claimsOf(mine, theirs)}
	e.wantLeases(node, asked, mine)
	e.wantLeases(other, asked, theirs, same)
	e.wantLeases(node, everyClaim, mine)
	e.wantLeases(other, everyClaim, theirs, same)
	e.end(mine, store.Completed)
	e.wantLeases(node, everyClaim)
	e.wantLeases(other, everyClaim, theirs, same)
	e.leave(other)
	e.wantLeases(node, everyClaim)
	_, err := e.store.Beat(e.ctx, store.BeatParams{Node: other, Held: everyClaim})
	e.wantErr("Beat of a node that has left", err, store.ErrNodeDead)
}

func heldStarted(e *env) {
	node := e.join()
	started := e.startNow(node, e.job(), e.job(kind("push")), e.job(priority(1)))
	claimed := e.claims(node, 1)
	both := append(slices.Clone(started), claimed...)
	e.wantLeases(node, everyClaim, both...)
	e.wantLeases(node, store.HeldParams{Claims: claimsOf(started[0])}, started...)
	e.end(started[1], store.Completed)
	e.wantLeases(node, store.HeldParams{Claims: claimsOf(started[0])}, started[0], started[2])
}

func heldLarge(e *env) {
	node := e.join()
	var jobs []*store.Enqueue
	for range 2*store.MaxClaimSlots + 7 {
		jobs = append(jobs, e.job())
	}
	e.enqueue(jobs...)
	runs := e.claim(node, len(jobs))
	e.wantLeases(node, everyClaim, runs...)
	// The numbers are those that the leases name.
	var first []store.Claimed
	for _, run := range runs {
		if run.Lease.Claim == runs[0].Lease.Claim {
			first = append(first, run)
		}
	}
	e.wantLeases(node, store.HeldParams{Claims: claimsOf(runs[0])}, first...)
	batch := &store.Batch{}
	for i, run := range runs {
		if i%3 != 0 {
			batch.Outcomes = append(batch.Outcomes, outcome(run, store.Completed))
		}
	}
	e.apply(batch)
	var left []store.Claimed
	for i, run := range runs {
		if i%3 == 0 {
			left = append(left, run)
		}
	}
	e.wantLeases(node, everyClaim, left...)
}

func heldAgain(e *env) {
	node := e.join()
	run := e.claims(node, 1)[0]
	e.end(run, store.Available)
	again := e.claimOne(node, run.Job.ID)
	e.wantLeases(node, store.HeldParams{Claims: claimsOf(run)})
	e.wantLeases(node, store.HeldParams{Claims: claimsOf(again)}, again)
	e.wantLeases(node, everyClaim, again)
}
