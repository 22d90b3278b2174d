package starts

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
	"github.com/holdfastdev/holdfast/store/storetest/faults"
)

// Jobs that run as soon as they are enqueued. File start_wait.go has what keeps them from it;
// package race has starts beside claims and ends of nodes. Reading: a store may let such jobs wait
// for reasons of its own, but not where these tests want them to run, because then no test could
// rely on it.
var startTests = env.Merged(env.Tests{
	"OneOwner_a_job_that_starts_is_what_a_claim_returns_and_nobody_else_gets_it": startRuns,
	"NoLoss_every_field_of_the_body_is_there_when_a_job_starts":                  startBody,
	"OneOwner_many_jobs_start_in_several_records":                                startRecords,
	"OneOwner_a_repeated_batch_returns_the_jobs_that_it_started":                 startRepeated,
	"OneOwner_a_repeated_batch_returns_only_what_is_not_done":                    startRepeatedPartly,
	"OneOwner_a_repeated_batch_of_many_records_is_whole":                         startRepeatedRecords,
	"a_repeated_batch_of_a_node_that_is_dead_returns_nothing":                    startRepeatedDead,
	"NoLoss_a_batch_that_never_happened_starts_its_jobs_when_repeated":           startFirst,
	"a_batch_that_started_nothing_starts_nothing_when_repeated":                  startNotAgain,
	"OneOwner_batches_with_other_numbers_are_independent":                        startNumbers,
}, startWaitTests)

func startRuns(e *env.Env) {
	node, other := e.Join(), e.Join()
	batch := e.Starting(node, e.Job(), e.Job(env.Kind("push")), e.Job(env.Queue("second"), env.Priority(1)))
	runs := e.StartAll(batch)
	e.Equal("a repeated claim", e.RepeatedClaim(batch), runs)
	for i, run := range runs {
		want := batch.Enqueues[i].Job
		want.CreatedAt, want.RunAt, want.Attempt, want.LeaseNumber = e.Clock.Now(), e.Clock.Now(), 1, 1
		e.Equal("run", run, store.Claimed{
			Job: want, ClaimedAt: e.Clock.Now(),
			Lease: store.Lease{Job: want.ID, Number: 1, Node: node, Claim: batch.Start.Seq, Slot: run.Lease.Slot},
		})
		if record := e.Get(want.ID); !record.ClaimedAt.Equal(e.Clock.Now()) || record.Attempt != 1 || len(record.Attempts) != 0 {
			e.Fatalf("record: %+v", record)
		}
	}
	e.WantSameIDs("listed", e.ListIDs(store.Filter{States: []store.State{store.Running}}), env.ClaimedIDs(runs)...)
	if counts := e.Queue("mail").Counts; counts[store.Running].N != 2 || counts[store.Available].N != 0 {
		e.Fatalf("the queue counts %+v", counts)
	}
	if len(batch.Woken) != 0 {
		e.Fatalf("there is nothing to claim, but the batch woke %+v", batch.Woken)
	}
	e.WantNothing(other)
	e.WantNothing(node)
	nodes, err := e.Store.Nodes(e.Ctx)
	if err != nil || len(nodes) != 2 || nodes[0].Running != 3 || nodes[1].Running != 0 {
		e.Fatalf("nodes: %+v, %v", nodes, err)
	}
	e.Beat(node)
	e.EndAll(runs[:2], store.Completed)
	e.WantIDs("a repeated claim", env.ClaimedIDs(e.RepeatedClaim(batch)), runs[2].Job.ID)
	// What was started goes on when its node has gone.
	e.Leave(node)
	e.WantTakenAway(runs[2])
	if again := e.ClaimOne(other, runs[2].Job.ID); again.Lease.Number != 2 || again.Job.Attempt != 1 {
		e.Fatalf("second run: %+v", again)
	}
}

// everything fills every field of a job.
func everything(deadline time.Time, parent store.ID) func(*store.Enqueue) {
	return func(q *store.Enqueue) {
		q.Job.Args, q.Job.Codec, q.Job.Tags, q.Job.Metadata = []byte{0, 255, 1}, 3, []string{"b", "a", "b c"}, []byte(`{"n":[1,{"deep":null}]}`)
		q.Job.Options = store.Options{
			Timeout: time.Minute, Deadline: deadline, Backoff: store.Backoff{Base: time.Second, Cap: time.Hour, Jitter: 0.25},
			Source: "nightly",
		}
		q.Job.Parent, q.Job.Answers, q.Job.OnParentClose = parent, true, store.TerminateChild
	}
}

// startBody: the bodies are full, huge and empty, and have times that are finer than a store keeps
// them.
func startBody(e *env.Env) {
	parent := e.Started()
	node := parent.Lease.Node
	deadline, past := e.Clock.Now().Add(time.Hour), e.Clock.Now().Add(-time.Hour)
	full := e.Job(env.Attempts(7), env.Priority(1), everything(deadline.Add(123), parent.Job.ID))
	huge := e.Job(env.Queue("second"), func(q *store.Enqueue) { q.Job.Args = slices.Repeat([]byte(`["0123456789"]`), 30_000) })
	bare := e.Job(env.Attempts(0), env.Kind("push"), env.RunAt(past.Add(999)), func(q *store.Enqueue) { q.Job.Args = nil })
	batch := e.Starting(node, full, huge, bare)
	runs := e.StartAll(batch)
	e.Equal("a repeated claim", e.RepeatedClaim(batch), runs)
	for i, q := range batch.Enqueues {
		want := q.Job
		want.CreatedAt, want.RunAt, want.Attempt, want.LeaseNumber = e.Clock.Now(), e.Clock.Now(), 1, 1
		if i == 0 {
			want.Options.Deadline = deadline
		}
		if i == 2 {
			want.RunAt = past
		}
		e.Equal("body of the run", runs[i].Job, want)
		e.Equal("body of the record", e.Get(q.Job.ID).Job, want)
	}
	// The claimed job is enough to end the run.
	e.End(runs[0], store.Completed)
	if answers := e.Answers(parent.Job.ID); len(answers) != 1 || answers[0].From != full.Job.ID {
		e.Fatalf("the parent got %+v", answers)
	}
	e.Clock.Advance(time.Minute)
	e.EndAs(store.Retryable, runs[1], store.Retryable)
}

// startRecords: a start writes as many records as a claim would, and no record mixes up its slots.
func startRecords(e *env.Env) {
	for _, n := range []int{store.MaxClaimSlots, store.MaxClaimSlots + 1, 2*store.MaxClaimSlots + 31} {
		node := e.Join()
		var jobs []*store.Enqueue
		for i := range n {
			jobs = append(jobs,
				e.Job(env.Queue(fmt.Sprint("q", i%2)), env.Priority(1+i%4), env.Kind([]string{"send", "push"}[i%2]), env.Attempts(1+i)))
		}
		batch := e.Starting(node, jobs...)
		runs := e.StartAll(batch)
		taken := map[store.Lease]bool{}
		for i, run := range runs {
			place := store.Lease{Claim: run.Lease.Claim, Slot: run.Lease.Slot}
			records := int64((n - 1) / store.MaxClaimSlots)
			if place.Claim < batch.Start.Seq || place.Claim > batch.Start.Seq+records || place.Slot < 0 || place.Slot >= store.MaxClaimSlots ||
				taken[place] || run.Lease.Node != node || run.Lease.Number != 1 || run.Job.MaxAttempts != 1+i {
				e.Fatalf("run %d of %d has the lease %+v and %d attempts", i, n, run.Lease, run.Job.MaxAttempts)
			}
			taken[place] = true
		}
		e.Equal("a repeated claim", e.RepeatedClaim(batch), runs)
		ends := &store.Batch{}
		for i, run := range runs {
			ends.Outcomes = append(ends.Outcomes, env.Outcome(run, []store.State{store.Completed, store.Failed}[i%2]))
		}
		e.Apply(ends)
		for i, o := range ends.Outcomes {
			if o.Err != nil {
				e.Fatalf("outcome %d of %d: %v", i, n, o.Err)
			}
			e.WantState(o.Lease.Job, []store.State{store.Completed, store.Failed}[i%2])
		}
	}
}

// sendAgain applies a batch as a caller does whose answer was lost: every job of it must be known.
// It returns what runs.
func sendAgain(e *env.Env, batch *store.Batch) []store.Claimed {
	e.Helper()
	again := faults.Copy(batch)
	e.Apply(again)
	for i, q := range again.Enqueues {
		if q.Err != nil || q.Result.ID != q.Job.ID || !q.Result.Existing {
			e.Fatalf("repeated enqueue %d: %+v, %v", i, q.Result, q.Err)
		}
	}
	return again.Start.Claimed
}

func startRepeated(e *env.Env) {
	node := e.Join()
	later := e.Job(env.Queue("second"), env.Delay(time.Hour))
	batch := e.Mixed(node, e.Job(), later,
		e.Job(env.Kind("push"), everything(e.Clock.Now().Add(time.Hour), e.IDs.Next())), e.Job(env.Kind("bill")))
	for _, q := range batch.Enqueues[:3] {
		q.Start = true
	}
	first := batch.Enqueues
	e.Apply(batch)
	runs := batch.Start.Claimed
	e.WantIDs("started", env.ClaimedIDs(runs), first[0].Job.ID, first[2].Job.ID)
	e.Clock.Advance(time.Second)
	var before []store.Record
	for _, q := range first {
		before = append(before, e.Get(q.Job.ID))
	}
	for range 2 {
		e.Equal("started by the repeated batch", sendAgain(e, batch), runs)
	}
	for i, q := range first {
		e.Equal("job after the repeated batch", e.Get(q.Job.ID), before[i])
	}
	e.ClaimOne(node, first[3].Job.ID)
	e.WantNothing(node)
	for _, run := range runs {
		e.End(run, store.Completed)
	}
}

func startRepeatedPartly(e *env.Env) {
	node := e.Join()
	batch := e.Starting(node, e.Job(), e.Job(), e.Job(), e.Job(), e.Job())
	runs := e.StartAll(batch)
	e.End(runs[0], store.Completed)
	e.End(runs[3], store.Retryable)
	saved := e.Save(runs[1], store.Checkpoint{Percent: 5})
	again := sendAgain(e, batch)
	want := []store.Claimed{runs[1], runs[2], runs[4]}
	want[0].Checkpoint = saved
	e.Equal("started by the repeated batch", again, want)
	// One job runs again under another lease, which the batch has not started.
	e.Clock.Advance(time.Minute)
	e.Beat(node)
	e.ClaimOne(node, runs[3].Job.ID)
	e.WantIDs("started by the repeated batch", env.ClaimedIDs(sendAgain(e, batch)), runs[1].Job.ID, runs[2].Job.ID, runs[4].Job.ID)
	for _, run := range again {
		e.End(run, store.Completed)
	}
	if left := sendAgain(e, batch); len(left) != 0 {
		e.Fatalf("a repeated batch whose jobs are done started %v", env.ClaimedIDs(left))
	}
}

// startRepeatedRecords: the answer is complete even if the first of several records is done and
// removed.
func startRepeatedRecords(e *env.Env) {
	node := e.Join()
	var jobs []*store.Enqueue
	for range 2*store.MaxClaimSlots + 10 {
		jobs = append(jobs, e.Job())
	}
	batch := e.Starting(node, jobs...)
	runs := e.StartAll(batch)
	e.Equal("started by the repeated batch", sendAgain(e, batch), runs)
	e.EndAll(runs[:store.MaxClaimSlots], store.Completed)
	e.Equal("started by the repeated batch", sendAgain(e, batch), runs[store.MaxClaimSlots:])
}

// startRepeatedDead: a dead node is told to run nothing, even while a rescue in small steps
// has not taken all its runs.
func startRepeatedDead(e *env.Env) {
	left, dead := e.Join(), e.Join()
	given := e.Starting(left, e.Job(env.Queue("left")))
	e.StartAll(given)
	var jobs []*store.Enqueue
	for range store.MaxClaimSlots + 5 {
		jobs = append(jobs, e.Job())
	}
	lost := e.Starting(dead, jobs...)
	e.StartAll(lost)
	e.Leave(left)
	e.Clock.Advance(env.DeadAfter + time.Second)
	params := e.RescueParams()
	params.Limit = 1
	if _, err := e.Store.Rescue(e.Ctx, params); err != nil {
		e.Fatalf("Rescue: %v", err)
	}
	for range 2 {
		for _, batch := range []*store.Batch{given, lost} {
			if runs := sendAgain(e, batch); len(runs) != 0 {
				e.Fatalf("a repeated batch of node %d, which is dead, started %v", batch.Start.Node, env.ClaimedIDs(runs))
			}
		}
		e.Rescue()
	}
	e.Clock.Advance(env.RescueBackoff)
	e.WantSameIDs("claimed", env.ClaimedIDs(e.Claim(e.Join(), 1000)), append(env.IDsOf(jobs), given.Enqueues[0].Job.ID)...)
}

// startFirst: the numbers that the node has used meanwhile say nothing about it. And a claim that
// never happened either may find nothing when it is repeated after all this, but the next one finds
// what there is.
func startFirst(e *env.Env) {
	node, other := e.Join(), e.Join()
	lost := e.Demand(node, 5)
	batch := e.Starting(node, e.Job(env.Queue("a")), e.Job(env.Queue("b")))
	waiting := e.Add(env.Queue("c"))
	e.ClaimOne(node, waiting)
	e.StartNow(node, e.Job(env.Queue("d")))
	// Another node's number is another number.
	same := e.Starting(other, e.Job(env.Queue("a")))
	same.Start.Seq = batch.Start.Seq
	theirs := e.StartAll(same)
	runs := e.StartAll(batch)
	e.Equal("started by the repeated batch", sendAgain(e, batch), runs)
	e.Equal("started by the repeated batch", sendAgain(e, same), theirs)
	id := e.Add(env.Queue("e"))
	lost.Repeat = true
	claimed := append(e.ClaimWith(lost), e.Claim(node, 5)...)
	e.WantIDs("claimed", env.ClaimedIDs(claimed), id)
}

// startNotAgain: when the batch is sent again nothing is in the way any more, but its jobs are
// known, so they wait for a claim.
func startNotAgain(e *env.Env) {
	node := e.Join()
	id := e.Add()
	batch := e.Starting(node, e.Job(), e.Job())
	e.WantWaiting(batch)
	e.ClaimOne(node, id)
	if runs := sendAgain(e, batch); len(runs) != 0 {
		e.Fatalf("a repeated batch started %v", env.ClaimedIDs(runs))
	}
	e.WantIDs("claimed", env.ClaimedIDs(e.Claim(node, 10)), env.IDsOf(batch.Enqueues)...)
	if runs := sendAgain(e, batch); len(runs) != 0 {
		e.Fatalf("a repeated batch started %v", env.ClaimedIDs(runs))
	}
}

func startNumbers(e *env.Env) {
	node, other := e.Join(), e.Join()
	first, second := e.Starting(node, e.Job(), e.Job()), e.Starting(node, e.Job())
	theirs := e.Starting(other, e.Job())
	runs, more, others := e.StartAll(first), e.StartAll(second), e.StartAll(theirs)
	// A batch does not return the known jobs that another batch has started.
	mixed := e.Starting(node, first.Enqueues...)
	if claimed := sendAgain(e, mixed); len(claimed) != 0 {
		e.Fatalf("a batch with a new number started %v again", env.ClaimedIDs(claimed))
	}
	e.End(runs[0], store.Completed)
	e.Equal("started by the first batch", sendAgain(e, first), runs[1:])
	e.Equal("started by the second batch", sendAgain(e, second), more)
	e.Equal("started by the other node", sendAgain(e, theirs), others)
	for _, run := range slices.Concat(runs[1:], more, others) {
		e.End(run, store.Completed)
	}
}
