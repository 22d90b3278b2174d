package nodes

import (
	"slices"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// What a living node gives up because none of its runs has it. Where the jobs go is in
// package durable, among the ends of lost runs: there where they would if the node had died.
var giveUpTests = env.Tests{
	"NoLoss_leases_of_many_claims_are_given_up_together": giveUpMany,
	"OneOwner_a_lease_that_is_not_live_is_passed_over":   giveUpStale,
	"who_gives_something_up_rescues_from_nobody":         giveUpAlone,
}

func giveUpMany(e *env.Env) {
	node, other := e.Join(), e.Join()
	jobs := e.Many(2*store.MaxClaimSlots + 7)
	large := e.Claim(node, len(jobs))
	runs := slices.Concat(large, claims(e, other, 2), claims(e, node, 3))
	left := []store.Claimed{runs[3], runs[store.MaxClaimSlots+1], runs[len(jobs)+1]}
	isLeft := func(run store.Claimed) bool { return slices.Contains(env.LeasesOf(left), run.Lease) }
	lost := slices.DeleteFunc(slices.Clone(runs), isLeft)
	var ids []store.ID
	for _, run := range lost {
		ids = append(ids, run.Job.ID)
	}
	slices.Reverse(lost)
	e.WantSameIDs("given up", env.RescuedIDs(e.GiveUp(lost...)), ids...)
	wantLeases(e, node, everyClaim, left[:2]...)
	wantLeases(e, other, everyClaim, left[2])
	e.WantSameIDs("retryable", e.ListIDs(store.Filter{States: []store.State{store.Retryable}}), ids...)
}

// giveUpStale: a store passes over leases that never were, that have ended, that another run has
// followed, or that were given up. It gives up the live one among them.
func giveUpStale(e *env.Env) {
	ended, again, live := e.Started(), e.Started(), e.Started()
	e.End(ended, store.Completed)
	e.End(again, store.Available)
	now := e.ClaimOne(e.Join(), again.Job.ID)
	changed := func(change func(*store.Lease)) store.Claimed {
		run := live
		change(&run.Lease)
		return run
	}
	stale := []store.Claimed{
		ended, again,
		changed(func(l *store.Lease) { l.Number++ }),
		changed(func(l *store.Lease) { l.Number-- }),
		changed(func(l *store.Lease) { l.Claim += 1000 }),
		changed(func(l *store.Lease) { l.Slot++ }),
		changed(func(l *store.Lease) { l.Slot = -1 }),
		changed(func(l *store.Lease) { l.Slot = store.MaxClaimSlots }),
		changed(func(l *store.Lease) { l.Slot = 1 << 40 }),
		changed(func(l *store.Lease) { l.Node = now.Lease.Node }),
		changed(func(l *store.Lease) { l.Node += 1000 }),
		changed(func(l *store.Lease) { l.Job = ended.Job.ID }),
		changed(func(l *store.Lease) { l.Job = e.IDs.Next() }),
		changed(func(l *store.Lease) { *l = store.Lease{} }),
	}
	before := []store.Record{e.Get(ended.Job.ID), e.Get(again.Job.ID), e.Get(live.Job.ID)}
	for _, run := range stale {
		if rescued := e.GiveUp(run); len(rescued) != 0 {
			e.Fatalf("given up under %+v: %+v", run.Lease, rescued)
		}
	}
	if rescued := e.GiveUp(stale...); len(rescued) != 0 {
		e.Fatalf("given up: %+v", rescued)
	}
	e.Equal("records", []store.Record{e.Get(ended.Job.ID), e.Get(again.Job.ID), e.Get(live.Job.ID)}, before)
	e.WantSameIDs("given up", env.RescuedIDs(e.GiveUp(append(stale, live, live)...)), live.Job.ID)
	before[2] = e.Get(live.Job.ID)
	if rescued := e.GiveUp(live); len(rescued) != 0 {
		e.Fatalf("given up again: %+v", rescued)
	}
	e.Equal("record", e.Get(live.Job.ID), before[2])
	e.End(now, store.Completed)
}

// giveUpAlone: a call that gives runs up rescues from no node, also if it names some as dead.
func giveUpAlone(e *env.Env) {
	dead, silent, lost := e.Started(), e.Started(), e.Started()
	e.RescueWith(store.RescueParams{Dead: []store.NodeBeat{e.LastBeat(e.Join())}})
	seen := e.LastBeat(silent.Lease.Node)
	params := store.RescueParams{
		Dead: []store.NodeBeat{seen, e.LastBeat(dead.Lease.Node)}, Limit: 1, Lost: env.LeasesOf([]store.Claimed{lost}),
	}
	rescued, err := e.Store.Rescue(e.Ctx, params)
	e.NoError("Rescue", err)
	e.WantSameIDs("given up", env.RescuedIDs(rescued.Jobs), lost.Job.ID)
	e.Beat(silent.Lease.Node)
	e.End(silent, store.Completed)
	e.Lose(dead)
}
