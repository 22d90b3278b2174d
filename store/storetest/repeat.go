package storetest

import (
	"slices"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfastdev/holdfast/store"
)

// What is asked again after the answer was lost. Repeated enqueues are in enqueue.go and unique.go.
var repeatTests = []test{
	{"OneOwner_a_repeated_claim_returns_the_jobs_that_it_took", repeatClaim},
	{"OneOwner_a_repeated_claim_returns_only_what_is_not_done", repeatClaimPartly},
	{"OneOwner_a_repeated_claim_of_many_records_is_whole", repeatClaimRecords},
	{"NoLoss_a_claim_that_never_happened_happens_when_repeated", repeatClaimFirst},
	{"OneOwner_a_repeated_claim_is_answered_in_parts", repeatClaimInParts},
	{"OneOwner_a_repeated_claim_that_never_happened_takes_less", repeatClaimOfLess},
	{"a_repeated_outcome_is_recognised", repeatOutcome},
	{"a_repeated_outcome_is_recognised_after_the_job_went_on", repeatOutcomeLater},
	{"an_outcome_that_never_happened_happens_when_repeated", repeatOutcomeFirst},
	{"OneOwner_a_repeated_outcome_of_a_lost_lease_is_refused", repeatOutcomeLost},
	{"a_repeated_batch_is_recognised_as_a_whole", repeatBatch},
}

func repeatClaim(e *env) {
	for range 4 {
		e.add(unique(e.ids.next().String()), ordered(e.ids.next().String()))
	}
	e.promote()
	node := e.join()
	params := e.demand(node, 3)
	first := e.claimWith(params)
	e.clock.Advance(time.Second)
	e.add(priority(1))
	params.Repeat = true
	for range 2 {
		e.equal("repeated claim", e.claimWith(params), first)
	}
	if first[0].ClaimedAt.Equal(e.clock.Now()) {
		e.Fatal("the clock did not move")
	}
	// Two are left for a new claim.
	if claimed := e.claim(node, 10); len(claimed) != 2 {
		e.Fatalf("claimed %d, want 2", len(claimed))
	}
}

func repeatClaimPartly(e *env) {
	for range 5 {
		e.add()
	}
	node := e.join()
	params := e.demand(node, 5)
	first := e.claimWith(params)
	e.end(first[0], store.Completed)
	e.end(first[3], store.Retryable)
	saved := e.save(first[1], store.Checkpoint{Percent: 5})
	e.cancel(first[2].Job.ID)
	params.Repeat = true
	second := e.claimWith(params)
	e.wantIDs("repeated claim", claimedIDs(second), first[1].Job.ID, first[2].Job.ID, first[4].Job.ID)
	e.equal("checkpoint", second[0].Checkpoint, saved)
	for _, run := range second {
		i := slices.IndexFunc(first, func(c store.Claimed) bool { return c.Job.ID == run.Job.ID })
		e.equal("run", run, first[i], cmpopts.IgnoreFields(store.Claimed{}, "CancelRequested", "CancelReason", "Checkpoint"))
		if asked := run.Job.ID == first[2].Job.ID; run.CancelRequested != asked {
			e.Fatalf("the claim of %v tells of a cancel: %v", run.Job.ID, run.CancelRequested)
		}
		e.end(run, store.Completed)
	}
}

// claimSeveralRecords claims more jobs than two records hold, and not all there are.
func (e *env) claimSeveralRecords() (params store.ClaimParams, claimed []store.Claimed) {
	e.Helper()
	const n = 2*store.MaxClaimSlots + 10
	var jobs []*store.Enqueue
	for range n + 5 {
		jobs = append(jobs, e.job())
	}
	e.enqueue(jobs...)
	params = e.demand(e.join(), n)
	return params, e.claimWith(params)
}

// repeatClaimRecords: also if the first of several records is done and gone.
func repeatClaimRecords(e *env) {
	params, first := e.claimSeveralRecords()
	params.Repeat = true
	e.equal("repeated claim", e.claimWith(params), first)
	batch, done := &store.Batch{}, 0
	for _, run := range first {
		if run.Lease.Claim == params.Seq {
			batch.Outcomes = append(batch.Outcomes, outcome(run, store.Completed))
			done++
		}
	}
	e.apply(batch)
	e.equal("repeated claim", e.claimWith(params), first[done:])
}

// repeatClaimInParts: what was claimed at once arrives in portions, whichever of it are done meanwhile.
func repeatClaimInParts(e *env) {
	params, first := e.claimSeveralRecords()
	params.Repeat, params.Sent, params.Limit = true, params.Limit, store.MaxClaimSlots/2+1
	for len(first) > 0 {
		part := e.claimWith(params)
		e.equal("part of a repeated claim", part, first[:min(params.Limit, len(first))])
		first = first[len(part):]
		params.After = part[len(part)-1].Lease
		e.end(part[0], store.Completed)
		if len(first) > 1 {
			e.end(first[0], store.Completed)
			first = first[1:]
		}
	}
	if more := e.claimWith(params); len(more) != 0 {
		e.Fatalf("%d jobs behind the last one", len(more))
	}
	if claimed := e.claim(params.Node, params.Sent); len(claimed) != 5 {
		e.Fatalf("claimed %d, want 5", len(claimed))
	}
}

// repeatClaimOfLess: nothing of the larger one is left, and the next part of the smaller one is empty.
func repeatClaimOfLess(e *env) {
	for range 5 {
		e.add()
	}
	node := e.join()
	params := e.demand(node, 3*store.MaxClaimSlots)
	params.Repeat, params.Sent, params.Limit = true, params.Limit, 2
	runs := e.claimWith(params)
	if len(runs) != 2 {
		e.Fatalf("claimed %d, want 2", len(runs))
	}
	e.equal("repeated claim", e.claimWith(params), runs)
	params.After = runs[1].Lease
	if more := e.claimWith(params); len(more) != 0 {
		e.Fatalf("%d jobs behind the last one", len(more))
	}
	e.end(runs[0], store.Completed)
	e.end(runs[1], store.Completed)
	if more := e.claimWith(params); len(more) != 0 {
		e.Fatalf("%d jobs behind the last one, which is done", len(more))
	}
	if claimed := e.claim(node, 5); len(claimed) != 3 {
		e.Fatalf("claimed %d, want 3", len(claimed))
	}
}

func repeatClaimFirst(e *env) {
	id := e.add()
	node, other := e.join(), e.join()
	// A claim with the same number by another node has nothing to do with it.
	e.claimOne(other, id)
	id = e.add()
	params := e.demand(node, 3)
	params.Repeat = true
	runs := e.claimWith(params)
	e.wantIDs("claimed", claimedIDs(runs), id)
	e.add()
	e.equal("repeated claim", e.claimWith(params), runs)
	e.end(runs[0], store.Completed)
}

// repeated returns the outcome as it is sent again.
func repeated(o *store.Outcome) *store.Outcome {
	again := *o
	again.Repeat, again.Final, again.Due, again.Err = true, 0, time.Time{}, nil
	return &again
}

func repeatOutcome(e *env) {
	for _, state := range endStates {
		run := e.started(unique(state.String()))
		o := e.end(run, state)
		e.clock.Advance(time.Millisecond)
		before := e.get(run.Job.ID)
		for range 2 {
			again := repeated(o)
			e.apply(&store.Batch{Outcomes: []*store.Outcome{again}})
			if again.Err != nil || again.Final != state {
				e.Fatalf("repeated outcome %v: %v, %v", state, again.Final, again.Err)
			}
		}
		e.equal("job after the repeated outcome", e.get(run.Job.ID), before)
		e.wantLost(run) // which are not marked as repeated
		if state == store.Available {
			e.cancel(run.Job.ID)
		}
	}
	// One that became another: the answer is what it became.
	run := e.started()
	e.cancel(run.Job.ID)
	o := e.end(run, store.Retryable)
	again := repeated(o)
	e.apply(&store.Batch{Outcomes: []*store.Outcome{again}})
	if again.Err != nil || again.Final != store.Cancelled {
		e.Fatalf("repeated outcome: %v, %v", again.Final, again.Err)
	}
}

// repeatOutcomeLater: by the time of the repeat the job may run under another lease, or be finished. Reading: Final is
// then still what this outcome led to, as the lost answer said; not the state in which the job is by now.
func repeatOutcomeLater(e *env) {
	for _, state := range []store.State{store.Retryable, store.Scheduled, store.Available, store.Failed} {
		run := e.started()
		o := e.end(run, state)
		if state == store.Failed {
			e.retry(run.Job.ID)
		}
		e.clock.Advance(time.Minute)
		e.beat(run.Lease.Node)
		next := e.claimOne(run.Lease.Node, run.Job.ID)
		check := func() {
			e.Helper()
			before := e.get(run.Job.ID)
			again := repeated(o)
			e.apply(&store.Batch{Outcomes: []*store.Outcome{again}})
			if again.Err != nil || again.Final != state {
				e.Fatalf("repeated outcome %v: %v, %v", state, again.Final, again.Err)
			}
			e.equal("job", e.get(run.Job.ID), before)
		}
		check()
		e.end(next, store.Completed)
		check()
	}
}

func repeatOutcomeFirst(e *env) {
	for _, state := range []store.State{store.Completed, store.Retryable, store.Failed} {
		run := e.started()
		o := repeated(outcome(run, state))
		e.apply(&store.Batch{Outcomes: []*store.Outcome{o}})
		if o.Err != nil || o.Final != state {
			e.Fatalf("outcome %v: %v, %v", state, o.Final, o.Err)
		}
		e.wantState(run.Job.ID, state)
	}
}

// repeatOutcomeLost: the first sending never arrived, and meanwhile the job was taken away. To say "applied" would
// lose a result.
func repeatOutcomeLost(e *env) {
	lost := func(run store.Claimed, states ...store.State) {
		e.Helper()
		before := e.get(run.Job.ID)
		for _, state := range states {
			o := repeated(outcome(run, state))
			e.apply(&store.Batch{Outcomes: []*store.Outcome{o}})
			e.wantErr("repeated "+state.String(), o.Err, store.ErrLeaseLost)
		}
		e.equal("job", e.get(run.Job.ID), before)
	}
	run := e.started()
	e.clock.Advance(deadAfter + time.Second)
	e.rescue()
	lost(run, store.Completed, store.Failed, store.Scheduled)
	e.clock.Advance(rescueBackoff)
	node := e.join()
	next := e.claimOne(node, run.Job.ID)
	lost(run, store.Completed, store.Failed, store.Scheduled)
	e.end(next, store.Completed)
	lost(run, store.Completed, store.Failed, store.Scheduled)

	run = e.started()
	e.leave(run.Lease.Node)
	lost(run, store.Completed, store.Failed, store.Retryable)

	unknown := run
	unknown.Lease.Job = e.ids.next()
	o := repeated(outcome(unknown, store.Completed))
	e.apply(&store.Batch{Outcomes: []*store.Outcome{o}})
	e.wantErr("repeated outcome of an unknown job", o.Err, store.ErrLeaseLost)
}

// repeatBatch: the whole batch is sent again, with news in it. Reading: a checkpoint that comes again after the end of
// its run is refused, for it cannot be told from a stale one; its outcome says that the run is over anyway.
func repeatBatch(e *env) {
	a, b, c := e.started(unique("k")), e.started(), e.started()
	batch := func() *store.Batch {
		return &store.Batch{
			Checkpoints: []*store.CheckpointWrite{{Lease: c.Lease, Checkpoint: store.Checkpoint{Percent: 1}}},
			Outcomes:    []*store.Outcome{outcome(a, store.Completed), outcome(b, store.Retryable)},
		}
	}
	enqueues := []*store.Enqueue{e.job(unique("k"), onConflict(store.Reject)), e.job(delay(time.Hour)), e.job(ordered("o"))}
	first := batch()
	first.Enqueues = enqueues
	e.apply(first)
	var before []store.Record
	ids := append(idsOf(enqueues), a.Job.ID, b.Job.ID, c.Job.ID)
	for _, id := range ids {
		before = append(before, e.get(id))
	}
	second := batch()
	for _, o := range second.Outcomes {
		o.Repeat = true
	}
	news := e.job()
	for _, q := range append(enqueues, news) {
		again := *q
		again.Result, again.Err = store.EnqueueResult{}, nil
		second.Enqueues = append(second.Enqueues, &again)
	}
	e.apply(second)
	for i, q := range second.Enqueues {
		if q.Err != nil || q.Result.ID != q.Job.ID || q.Result.Existing != (i < 3) {
			e.Fatalf("repeated enqueue %d: %+v, %v", i, q.Result, q.Err)
		}
	}
	for i, o := range second.Outcomes {
		if o.Err != nil || o.Final != o.State {
			e.Fatalf("repeated outcome %d: %v, %v", i, o.Final, o.Err)
		}
	}
	for i, id := range ids {
		e.equal("job", e.get(id), before[i])
	}
	e.wantState(news.Job.ID, store.Available)
}
