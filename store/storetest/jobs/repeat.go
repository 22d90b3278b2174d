package jobs

import (
	"slices"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// What is asked again after the answer was lost. Repeated enqueues are in enqueue.go and unique.go.
var repeatTests = env.Tests{
	"OneOwner_a_repeated_claim_returns_the_jobs_that_it_took":                   repeatClaim,
	"OneOwner_a_repeated_claim_returns_only_what_is_not_done":                   repeatClaimPartly,
	"OneOwner_a_repeated_claim_of_many_records_is_whole":                        repeatClaimRecords,
	"NoLoss_a_claim_that_never_happened_happens_when_repeated":                  repeatClaimFirst,
	"OneOwner_a_repeated_claim_is_answered_in_parts":                            repeatClaimInParts,
	"OneOwner_a_repeated_claim_that_never_happened_takes_less":                  repeatClaimOfLess,
	"OneOwner_an_outcome_counts_once_and_is_recognised_whatever_comes_after_it": repeatOutcome,
	"an_outcome_that_never_happened_happens_when_repeated":                      repeatOutcomeFirst,
	"a_repeated_batch_is_recognised_as_a_whole":                                 repeatBatch,
}

func repeatClaim(e *env.Env) {
	for range 4 {
		e.Add(env.Unique(e.IDs.Next().String()), env.Ordered(e.IDs.Next().String()))
	}
	e.Promote()
	node := e.Join()
	params := e.Demand(node, 3)
	first := e.ClaimWith(params)
	e.Clock.Advance(time.Second)
	e.Add(env.Priority(1))
	params.Repeat = true
	for range 2 {
		e.Equal("repeated claim", e.ClaimWith(params), first)
	}
	if first[0].ClaimedAt.Equal(e.Clock.Now()) {
		e.Fatal("the clock did not move")
	}
	// Two are left for a new claim.
	if claimed := e.Claim(node, 10); len(claimed) != 2 {
		e.Fatalf("claimed %d, want 2", len(claimed))
	}
}

func repeatClaimPartly(e *env.Env) {
	e.Many(5)
	node := e.Join()
	params := e.Demand(node, 5)
	first := e.ClaimWith(params)
	e.End(first[0], store.Completed)
	e.End(first[3], store.Retryable)
	saved := e.Save(first[1], store.Checkpoint{Percent: 5})
	e.Cancel(first[2].Job.ID)
	params.Repeat = true
	second := e.ClaimWith(params)
	e.WantIDs("repeated claim", env.ClaimedIDs(second), first[1].Job.ID, first[2].Job.ID, first[4].Job.ID)
	e.Equal("checkpoint", second[0].Checkpoint, saved)
	for _, run := range second {
		i := slices.IndexFunc(first, func(c store.Claimed) bool { return c.Job.ID == run.Job.ID })
		e.Equal("run", run, first[i], cmpopts.IgnoreFields(store.Claimed{}, "CancelRequested", "CancelReason", "Checkpoint"))
		if asked := run.Job.ID == first[2].Job.ID; run.CancelRequested != asked {
			e.Fatalf("the claim of %v tells of a cancel: %v", run.Job.ID, run.CancelRequested)
		}
		e.End(run, store.Completed)
	}
}

// claimSeveralRecords claims more jobs than two records hold, and not all there are.
func claimSeveralRecords(e *env.Env) (params store.ClaimParams, claimed []store.Claimed) {
	e.Helper()
	const n = 2*store.MaxClaimSlots + 10
	e.Many(n + 5)
	params = e.Demand(e.Join(), n)
	return params, e.ClaimWith(params)
}

// repeatClaimRecords: the answer is complete even if the first of several records is done and
// removed.
func repeatClaimRecords(e *env.Env) {
	params, first := claimSeveralRecords(e)
	params.Repeat = true
	e.Equal("repeated claim", e.ClaimWith(params), first)
	batch, done := &store.Batch{}, 0
	for _, run := range first {
		if run.Lease.Claim == params.Seq {
			batch.Outcomes = append(batch.Outcomes, env.Outcome(run, store.Completed))
			done++
		}
	}
	e.Apply(batch)
	e.Equal("repeated claim", e.ClaimWith(params), first[done:])
}

// repeatClaimInParts: a large claim is repeated in portions, while some of its runs end.
func repeatClaimInParts(e *env.Env) {
	params, first := claimSeveralRecords(e)
	params.Repeat, params.Sent, params.Limit = true, params.Limit, store.MaxClaimSlots/2+1
	for len(first) > 0 {
		part := e.ClaimWith(params)
		e.Equal("part of a repeated claim", part, first[:min(params.Limit, len(first))])
		first = first[len(part):]
		params.After = part[len(part)-1].Lease
		e.End(part[0], store.Completed)
		if len(first) > 1 {
			e.End(first[0], store.Completed)
			first = first[1:]
		}
	}
	if more := e.ClaimWith(params); len(more) != 0 {
		e.Fatalf("%d jobs behind the last one", len(more))
	}
	if claimed := e.Claim(params.Node, params.Sent); len(claimed) != 5 {
		e.Fatalf("claimed %d, want 5", len(claimed))
	}
}

// repeatClaimOfLess: the larger claim never happened, so the smaller one takes its own jobs, and
// has no next part.
func repeatClaimOfLess(e *env.Env) {
	e.Many(5)
	node := e.Join()
	params := e.Demand(node, 3*store.MaxClaimSlots)
	params.Repeat, params.Sent, params.Limit = true, params.Limit, 2
	runs := e.ClaimWith(params)
	if len(runs) != 2 {
		e.Fatalf("claimed %d, want 2", len(runs))
	}
	e.Equal("repeated claim", e.ClaimWith(params), runs)
	params.After = runs[1].Lease
	if more := e.ClaimWith(params); len(more) != 0 {
		e.Fatalf("%d jobs behind the last one", len(more))
	}
	e.End(runs[0], store.Completed)
	e.End(runs[1], store.Completed)
	if more := e.ClaimWith(params); len(more) != 0 {
		e.Fatalf("%d jobs behind the last one, which is done", len(more))
	}
	if claimed := e.Claim(node, 5); len(claimed) != 3 {
		e.Fatalf("claimed %d, want 3", len(claimed))
	}
}

func repeatClaimFirst(e *env.Env) {
	id := e.Add()
	node, other := e.Join(), e.Join()
	// The claim of another node with the same number is another claim.
	e.ClaimOne(other, id)
	id = e.Add()
	params := e.Demand(node, 3)
	params.Repeat = true
	runs := e.ClaimWith(params)
	e.WantIDs("claimed", env.ClaimedIDs(runs), id)
	e.Add()
	e.Equal("repeated claim", e.ClaimWith(params), runs)
	e.End(runs[0], store.Completed)
}

// repeatOutcome: by the time of the repeat the job may wait, run under another lease, or be
// finished. Reading: Final is then still what this outcome led to, as the lost answer said; not the
// state in which the job is by now. An outcome that is not a repetition is refused, since its run
// is over: the number of the lease says so, not that of the attempt, which a snooze and a retry use
// again.
func repeatOutcome(e *env.Env) {
	for _, state := range append(slices.Clone(env.EndStates), store.Waiting) {
		run := e.Started(env.Unique(state.String()))
		if state == store.Waiting {
			e.Write(&run, env.Step(1))
		}
		o := e.End(run, state, func(o *store.Outcome) {
			if o.Wait != nil {
				o.Wait = env.ForSignals()
			}
		})
		check := func() {
			e.Helper()
			for range 2 {
				e.Clock.Advance(time.Millisecond)
				e.WantKnown(o)
			}
			e.WantLost(run)
		}
		check()
		switch state {
		case store.Completed:
			continue
		case store.Failed, store.Cancelled:
			e.Retry(run.Job.ID)
		case store.Waiting:
			e.Send(run.Job.ID, env.Signal("s"))
		default:
			e.Later(run.Lease.Node, time.Minute)
		}
		check()
		next := e.ClaimOne(run.Lease.Node, run.Job.ID)
		check()
		e.End(next, store.Completed)
		check()
	}
	// If the store changed an outcome, a repetition tells what it became.
	run := e.Started()
	e.Cancel(run.Job.ID)
	o := e.End(run, store.Retryable)
	if o.Final != store.Cancelled {
		e.Fatalf("a run that was to be cancelled became %v", o.Final)
	}
	e.WantKnown(o)
}

func repeatOutcomeFirst(e *env.Env) {
	for _, state := range []store.State{store.Completed, store.Retryable, store.Failed, store.Waiting} {
		run := e.Durable(1)
		o := env.Repeated(env.Outcome(run, state))
		e.Apply(&store.Batch{Outcomes: []*store.Outcome{o}})
		if o.Err != nil || o.Final != state {
			e.Fatalf("outcome %v: %v, %v", state, o.Final, o.Err)
		}
		e.WantState(run.Job.ID, state)
	}
	for _, state := range []store.State{store.Completed, store.Retryable} {
		unknown := e.Started()
		unknown.Lease.Job = e.IDs.Next()
		o := env.Repeated(env.Outcome(unknown, state))
		e.WantErr("repeated outcome of an unknown job", e.TryEnd(o), store.ErrLeaseLost)
	}
}

// repeatBatch: a caller sends the whole batch again and adds a job. Reading: a store refuses a
// checkpoint that comes again after the end of its run, because it cannot tell it from a stale one;
// the outcome beside it says that the run is over.
func repeatBatch(e *env.Env) {
	a, b, c := e.Started(env.Unique("k")), e.Started(), e.Started()
	batch := func() *store.Batch {
		return &store.Batch{
			Checkpoints: []*store.CheckpointWrite{{Lease: c.Lease, Checkpoint: store.Checkpoint{Percent: 1}}},
			Outcomes:    []*store.Outcome{env.Outcome(a, store.Completed), env.Outcome(b, store.Retryable)},
		}
	}
	enqueues := []*store.Enqueue{e.Job(env.Unique("k"), env.OnConflict(store.Reject)), e.Job(env.Delay(time.Hour)), e.Job(env.Ordered("o"))}
	first := batch()
	first.Enqueues = enqueues
	e.Apply(first)
	var before []store.Record
	ids := append(env.IDsOf(enqueues), a.Job.ID, b.Job.ID, c.Job.ID)
	for _, id := range ids {
		before = append(before, e.Get(id))
	}
	second := batch()
	for _, o := range second.Outcomes {
		o.Repeat = true
	}
	news := e.Job()
	for _, q := range append(enqueues, news) {
		again := *q
		again.Result, again.Err = store.EnqueueResult{}, nil
		second.Enqueues = append(second.Enqueues, &again)
	}
	e.Apply(second)
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
		e.Equal("job", e.Get(id), before[i])
	}
	e.WantState(news.Job.ID, store.Available)
}
