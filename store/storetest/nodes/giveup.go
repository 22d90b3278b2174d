package nodes

import (
	"slices"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// What a living node gives up because nobody there works on it. Where the jobs go is in
// package durable, among the ends of lost runs: there where they would if the node had died.
var giveUpTests = env.Tests{
	"NoLoss_a_job_that_is_given_up_runs_again":                giveUpJob,
	"OneOwner_what_a_node_does_not_give_up_goes_on":           giveUpSome,
	"NoLoss_leases_of_many_claims_are_given_up_together":      giveUpMany,
	"OneOwner_a_lease_that_is_not_live_is_passed_over":        giveUpStale,
	"FinishedIsFinal_what_was_given_up_is_not_given_up_again": giveUpTwice,
	"who_gives_something_up_rescues_from_nobody":              giveUpAlone,
	"what_is_given_up_waits_as_the_node_has_promised":         giveUpPolicy,
	"a_turn_is_kept_by_a_job_that_is_given_up_unless_it_ends": giveUpTurn,
	"NoLoss_a_parent_is_told_of_a_child_that_was_given_up":    giveUpChild,
}

func giveUpJob(e *env.Env) {
	run := e.Started(env.Queue("a"), env.Kind("push"))
	now := e.Clock.Now()
	e.Equal("given up", e.GiveUp(run), []store.Rescued{{
		Job: run.Job.ID, Kind: "push", Node: run.Lease.Node, State: store.Retryable, Reason: store.ReasonNodeLost, Queue: "a", RunAt: now,
	}})
	want := store.Record{Job: run.Job, State: store.Retryable, ClaimedAt: run.ClaimedAt}
	want.RunAt = now
	want.Attempts = []store.Attempt{{
		Number: 1, LeaseNumber: 1, Node: run.Lease.Node, ClaimedAt: run.ClaimedAt, EndedAt: now,
		Outcome: store.Retryable, Reason: store.ReasonNodeLost,
	}}
	words := cmpopts.IgnoreFields(store.Attempt{}, "Error", "Trace")
	e.Equal("record", e.Get(run.Job.ID), want, words, cmpopts.IgnoreFields(store.Record{}, "Error"))
	e.WantLost(run)
	// The node lives, and may have the job again.
	if again := e.ClaimOne(run.Lease.Node, run.Job.ID); again.Job.Attempt != 2 || again.Lease.Number != 2 {
		e.Fatalf("second run: attempt %d, lease %d", again.Job.Attempt, again.Lease.Number)
	}
}

func giveUpSome(e *env.Env) {
	node, other := e.Join(), e.Join()
	theirs := claims(e, other, 1)[0]
	e.Enqueue(e.Job(), e.Job(), e.Job(), e.Job())
	runs := e.Claim(node, 4)
	e.End(runs[3], store.Completed)
	e.WantSameIDs("given up", env.RescuedIDs(e.GiveUp(runs[1])), runs[1].Job.ID)
	wantLeases(e, node, everyClaim, runs[0], runs[2])
	wantLeases(e, other, everyClaim, theirs)
	e.WantState(runs[3].Job.ID, store.Completed)
	for _, run := range []store.Claimed{runs[0], runs[2], theirs} {
		e.Save(run, store.Checkpoint{Percent: 1})
		e.End(run, store.Completed)
	}
	if n := e.Nodes()[node]; !n.DeadAt.IsZero() || n.Running != 0 {
		e.Fatalf("the node: %+v", n)
	}
}

func giveUpMany(e *env.Env) {
	node, other := e.Join(), e.Join()
	var jobs []*store.Enqueue
	for range 2*store.MaxClaimSlots + 7 {
		jobs = append(jobs, e.Job())
	}
	e.Enqueue(jobs...)
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

// giveUpStale: one that never was, one that has ended, and one that another run of the job has
// followed. What is live among them is given up all the same.
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
	e.WantSameIDs("given up", env.RescuedIDs(e.GiveUp(append(stale, live)...)), live.Job.ID)
	e.End(now, store.Completed)
}

// giveUpTwice: in one call, and in two.
func giveUpTwice(e *env.Env) {
	run := e.Started()
	e.WantSameIDs("given up", env.RescuedIDs(e.GiveUp(run, run)), run.Job.ID)
	before := e.Get(run.Job.ID)
	if rescued := e.GiveUp(run); len(rescued) != 0 {
		e.Fatalf("given up again: %+v", rescued)
	}
	e.Equal("record", e.Get(run.Job.ID), before)
	again := e.ClaimOne(run.Lease.Node, run.Job.ID)
	if rescued := e.GiveUp(run); len(rescued) != 0 {
		e.Fatalf("given up again: %+v", rescued)
	}
	e.End(again, store.Completed)
}

// giveUpAlone: whoever is named beside it, or was before, is left to a rescue.
func giveUpAlone(e *env.Env) {
	dead, silent, lost := e.Started(), e.Started(), e.Started()
	e.RescueWith(store.RescueParams{Dead: []store.NodeBeat{e.LastBeat(e.Join())}})
	seen := e.LastBeat(silent.Lease.Node)
	params := store.RescueParams{
		Dead: []store.NodeBeat{seen, e.LastBeat(dead.Lease.Node)}, Limit: 1, Lost: env.LeasesOf([]store.Claimed{lost}),
	}
	rescued, err := e.Store.Rescue(e.Ctx, params)
	if err != nil {
		e.Fatalf("Rescue: %v", err)
	}
	e.WantSameIDs("given up", env.RescuedIDs(rescued), lost.Job.ID)
	e.Beat(silent.Lease.Node)
	e.End(silent, store.Completed)
	e.Lose(dead)
}

// giveUpPolicy: which the store knows, whoever asks.
func giveUpPolicy(e *env.Env) {
	slow := e.JoinWith(map[string]store.Policy{"send": {Delays: []time.Duration{time.Hour}}})
	once := e.JoinWith(map[string]store.Policy{"send": {MaxAttempts: 2}})
	second := func(node int64) store.Claimed {
		e.Helper()
		id := e.Add(env.Attempts(0))
		e.GiveUp(e.ClaimOne(node, id))
		return e.ClaimOne(node, id)
	}
	runs := []store.Claimed{second(slow), second(once)}
	if rescued := e.GiveUp(runs...); len(rescued) != 2 {
		e.Fatalf("given up: %+v", rescued)
	}
	if record := e.Get(runs[0].Job.ID); record.State != store.Retryable || !record.RunAt.Equal(e.Clock.Now().Add(time.Hour)) {
		e.Fatalf("the job of a slow kind is %v, due at %v", record.State, record.RunAt)
	}
	if record := e.Get(runs[1].Job.ID); record.State != store.Failed || record.Reason != store.ReasonCrashLoop {
		e.Fatalf("the job that is tried twice is %v: %v", record.State, record.Reason)
	}
}

func giveUpTurn(e *env.Env) {
	node := e.Join()
	first, next := e.Add(env.Ordered("k"), env.Attempts(2)), e.Add(env.Ordered("k"))
	run := e.ClaimOne(node, first)
	e.GiveUp(run)
	run = e.ClaimOne(node, first)
	if rescued := e.GiveUp(run); len(rescued) != 1 || rescued[0].State != store.Failed {
		e.Fatalf("given up: %+v", rescued)
	}
	e.ClaimOne(node, next)
}

func giveUpChild(e *env.Env) {
	parent := e.Durable(1)
	child := e.Bear(&parent, 1, env.Attempts(1))[0]
	wait := env.ForSignals(store.MessageChild)
	e.Park(parent, wait)
	node := e.Join()
	e.GiveUp(e.ClaimOne(node, child))
	messages := e.Messages(parent.Job.ID)
	if len(messages) != 1 || messages[0].From != child || messages[0].State != store.Failed || messages[0].Reason != store.ReasonCrashLoop {
		e.Fatalf("the parent was told %+v", messages)
	}
	e.ClaimOne(node, parent.Job.ID)
}
