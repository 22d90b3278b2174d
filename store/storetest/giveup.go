package storetest

import (
	"slices"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfastdev/holdfast/store"
)

// What a living node gives up because nobody there works on it. Where the jobs go is in
// ending_lost.go: there where they would if the node had died.
var giveUpTests = []test{
	{"NoLoss_a_job_that_is_given_up_runs_again", giveUpJob},
	{"OneOwner_what_a_node_does_not_give_up_goes_on", giveUpSome},
	{"NoLoss_leases_of_many_claims_are_given_up_together", giveUpMany},
	{"OneOwner_a_lease_that_is_not_live_is_passed_over", giveUpStale},
	{"FinishedIsFinal_what_was_given_up_is_not_given_up_again", giveUpTwice},
	{"who_gives_something_up_rescues_from_nobody", giveUpAlone},
	{"what_is_given_up_waits_as_the_node_has_promised", giveUpPolicy},
	{"a_turn_is_kept_by_a_job_that_is_given_up_unless_it_ends", giveUpTurn},
	{"NoLoss_a_parent_is_told_of_a_child_that_was_given_up", giveUpChild},
}

func leasesOf(runs []store.Claimed) []store.Lease {
	var leases []store.Lease
	for _, run := range runs {
		leases = append(leases, run.Lease)
	}
	return leases
}

// giveUp gives up runs, in one call.
func (e *env) giveUp(runs ...store.Claimed) []store.Rescued {
	e.Helper()
	rescued, err := e.store.Rescue(e.ctx, store.RescueParams{Lost: leasesOf(runs)})
	if err != nil {
		e.Fatalf("Rescue of what is given up: %v", err)
	}
	return rescued
}

func rescuedIDs(rescued []store.Rescued) []store.ID {
	var ids []store.ID
	for _, r := range rescued {
		ids = append(ids, r.Job)
	}
	return ids
}

func giveUpJob(e *env) {
	run := e.started(queue("a"), kind("push"))
	now := e.clock.Now()
	e.equal("given up", e.giveUp(run), []store.Rescued{{
		Job: run.Job.ID, Kind: "push", Node: run.Lease.Node, State: store.Retryable, Reason: store.ReasonNodeLost, Queue: "a", RunAt: now,
	}})
	want := store.Record{Job: run.Job, State: store.Retryable, ClaimedAt: run.ClaimedAt}
	want.RunAt = now
	want.Attempts = []store.Attempt{{
		Number: 1, LeaseNumber: 1, Node: run.Lease.Node, ClaimedAt: run.ClaimedAt, EndedAt: now,
		Outcome: store.Retryable, Reason: store.ReasonNodeLost,
	}}
	words := cmpopts.IgnoreFields(store.Attempt{}, "Error", "Trace")
	e.equal("record", e.get(run.Job.ID), want, words, cmpopts.IgnoreFields(store.Record{}, "Error"))
	e.wantLost(run)
	// The node lives, and may have the job again.
	if again := e.claimOne(run.Lease.Node, run.Job.ID); again.Job.Attempt != 2 || again.Lease.Number != 2 {
		e.Fatalf("second run: attempt %d, lease %d", again.Job.Attempt, again.Lease.Number)
	}
}

func giveUpSome(e *env) {
	node, other := e.join(), e.join()
	theirs := e.claims(other, 1)[0]
	e.enqueue(e.job(), e.job(), e.job(), e.job())
	runs := e.claim(node, 4)
	e.end(runs[3], store.Completed)
	e.wantSameIDs("given up", rescuedIDs(e.giveUp(runs[1])), runs[1].Job.ID)
	e.wantLeases(node, everyClaim, runs[0], runs[2])
	e.wantLeases(other, everyClaim, theirs)
	e.wantState(runs[3].Job.ID, store.Completed)
	for _, run := range []store.Claimed{runs[0], runs[2], theirs} {
		e.save(run, store.Checkpoint{Percent: 1})
		e.end(run, store.Completed)
	}
	if n := e.nodes()[node]; !n.DeadAt.IsZero() || n.Running != 0 {
		e.Fatalf("the node: %+v", n)
	}
}

func giveUpMany(e *env) {
	node, other := e.join(), e.join()
	var jobs []*store.Enqueue
	for range 2*store.MaxClaimSlots + 7 {
		jobs = append(jobs, e.job())
	}
	e.enqueue(jobs...)
	large := e.claim(node, len(jobs))
	runs := slices.Concat(large, e.claims(other, 2), e.claims(node, 3))
	left := []store.Claimed{runs[3], runs[store.MaxClaimSlots+1], runs[len(jobs)+1]}
	isLeft := func(run store.Claimed) bool { return slices.Contains(leasesOf(left), run.Lease) }
	lost := slices.DeleteFunc(slices.Clone(runs), isLeft)
	var ids []store.ID
	for _, run := range lost {
		ids = append(ids, run.Job.ID)
	}
	slices.Reverse(lost)
	e.wantSameIDs("given up", rescuedIDs(e.giveUp(lost...)), ids...)
	e.wantLeases(node, everyClaim, left[:2]...)
	e.wantLeases(other, everyClaim, left[2])
	e.wantSameIDs("retryable", e.listIDs(store.Filter{States: []store.State{store.Retryable}}), ids...)
}

// giveUpStale: one that never was, one that has ended, and one that another run of the job has
// followed. What is live among them is given up all the same.
func giveUpStale(e *env) {
	ended, again, live := e.started(), e.started(), e.started()
	e.end(ended, store.Completed)
	e.end(again, store.Available)
	now := e.claimOne(e.join(), again.Job.ID)
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
		changed(func(l *store.Lease) { l.Job = e.ids.next() }),
		changed(func(l *store.Lease) { *l = store.Lease{} }),
	}
	before := []store.Record{e.get(ended.Job.ID), e.get(again.Job.ID), e.get(live.Job.ID)}
	for _, run := range stale {
		if rescued := e.giveUp(run); len(rescued) != 0 {
			e.Fatalf("given up under %+v: %+v", run.Lease, rescued)
		}
	}
	if rescued := e.giveUp(stale...); len(rescued) != 0 {
		e.Fatalf("given up: %+v", rescued)
	}
	e.equal("records", []store.Record{e.get(ended.Job.ID), e.get(again.Job.ID), e.get(live.Job.ID)}, before)
	e.wantSameIDs("given up", rescuedIDs(e.giveUp(append(stale, live)...)), live.Job.ID)
	e.end(now, store.Completed)
}

// giveUpTwice: in one call, and in two.
func giveUpTwice(e *env) {
	run := e.started()
	e.wantSameIDs("given up", rescuedIDs(e.giveUp(run, run)), run.Job.ID)
	before := e.get(run.Job.ID)
	if rescued := e.giveUp(run); len(rescued) != 0 {
		e.Fatalf("given up again: %+v", rescued)
	}
	e.equal("record", e.get(run.Job.ID), before)
	again := e.claimOne(run.Lease.Node, run.Job.ID)
	if rescued := e.giveUp(run); len(rescued) != 0 {
		e.Fatalf("given up again: %+v", rescued)
	}
	e.end(again, store.Completed)
}

// giveUpAlone: whoever is named beside it, or was before, is left to a rescue.
func giveUpAlone(e *env) {
	dead, silent, lost := e.started(), e.started(), e.started()
	e.rescueWith(store.RescueParams{Dead: []store.NodeBeat{e.lastBeat(e.join())}})
	seen := e.lastBeat(silent.Lease.Node)
	params := store.RescueParams{Dead: []store.NodeBeat{seen, e.lastBeat(dead.Lease.Node)}, Limit: 1, Lost: leasesOf([]store.Claimed{lost})}
	rescued, err := e.store.Rescue(e.ctx, params)
	if err != nil {
		e.Fatalf("Rescue: %v", err)
	}
	e.wantSameIDs("given up", rescuedIDs(rescued), lost.Job.ID)
	e.beat(silent.Lease.Node)
	e.end(silent, store.Completed)
	e.lose(dead)
}

// giveUpPolicy: which the store knows, whoever asks.
func giveUpPolicy(e *env) {
	slow := e.joinWith(map[string]store.Policy{"send": {Delays: []time.Duration{time.Hour}}})
	once := e.joinWith(map[string]store.Policy{"send": {MaxAttempts: 2}})
	second := func(node int64) store.Claimed {
		e.Helper()
		id := e.add(attempts(0))
		e.giveUp(e.claimOne(node, id))
		return e.claimOne(node, id)
	}
	runs := []store.Claimed{second(slow), second(once)}
	if rescued := e.giveUp(runs...); len(rescued) != 2 {
		e.Fatalf("given up: %+v", rescued)
	}
	if record := e.get(runs[0].Job.ID); record.State != store.Retryable || !record.RunAt.Equal(e.clock.Now().Add(time.Hour)) {
		e.Fatalf("the job of a slow kind is %v, due at %v", record.State, record.RunAt)
	}
	if record := e.get(runs[1].Job.ID); record.State != store.Failed || record.Reason != store.ReasonCrashLoop {
		e.Fatalf("the job that is tried twice is %v: %v", record.State, record.Reason)
	}
}

func giveUpTurn(e *env) {
	node := e.join()
	first, next := e.add(ordered("k"), attempts(2)), e.add(ordered("k"))
	run := e.claimOne(node, first)
	e.giveUp(run)
	run = e.claimOne(node, first)
	if rescued := e.giveUp(run); len(rescued) != 1 || rescued[0].State != store.Failed {
		e.Fatalf("given up: %+v", rescued)
	}
	e.claimOne(node, next)
}

func giveUpChild(e *env) {
	parent := e.durable(1)
	child := e.bear(&parent, 1, attempts(1))[0]
	wait := forSignals(store.MessageChild)
	e.park(parent, wait)
	node := e.join()
	e.giveUp(e.claimOne(node, child))
	messages := e.messages(parent.Job.ID)
	if len(messages) != 1 || messages[0].From != child || messages[0].State != store.Failed || messages[0].Reason != store.ReasonCrashLoop {
		e.Fatalf("the parent was told %+v", messages)
	}
	e.claimOne(node, parent.Job.ID)
}
