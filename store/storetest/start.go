package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/faults"
)

// Jobs that run as soon as they are enqueued. What keeps them from it is in start_wait.go, those that start while others claim and nodes
// end in race_start.go. Reading: a store may let them wait for reasons of its own, but not where these tests want them to run, or the
// feature would be none.
var startTests = slices.Concat([]test{
	{"OneOwner_a_job_that_starts_is_what_a_claim_returns_and_nobody_else_gets_it", startRuns},
	{"NoLoss_every_field_of_the_body_is_there_when_a_job_starts", startBody},
	{"OneOwner_outcomes_end_what_was_started_and_leases_count_on", startOutcomes},
	{"OneOwner_many_jobs_start_in_several_records", startRecords},
	{"CancelArrives_at_jobs_that_were_started", startCancel},
	{"NoLoss_jobs_that_were_started_outlive_their_node", startRescue},
	{"a_node_that_leaves_gives_back_what_it_started", startLeave},
	{"OneOwner_a_repeated_batch_returns_the_jobs_that_it_started", startRepeated},
	{"OneOwner_a_repeated_batch_returns_only_what_is_not_done", startRepeatedPartly},
	{"OneOwner_a_repeated_batch_of_many_records_is_whole", startRepeatedRecords},
	{"a_repeated_batch_of_a_node_that_is_dead_returns_nothing", startRepeatedDead},
	{"NoLoss_a_batch_that_never_happened_starts_its_jobs_when_repeated", startFirst},
	{"a_batch_that_started_nothing_starts_nothing_when_repeated", startNotAgain},
	{"OneOwner_batches_with_other_numbers_are_independent", startNumbers},
}, startWaitTests)

// starting returns a batch whose jobs are all to run at once on a node, with a number of its own.
func (e *env) starting(node int64, enqueues ...*store.Enqueue) *store.Batch {
	for _, q := range enqueues {
		q.Start = true
	}
	return e.mixed(node, enqueues...)
}

// mixed returns such a batch in which the enqueues themselves say whether they are to run at once.
func (e *env) mixed(node int64, enqueues ...*store.Enqueue) *store.Batch {
	return &store.Batch{Enqueues: enqueues, Start: &store.Start{Node: node, Seq: e.demand(node, len(enqueues)).Seq}}
}

// repeatedClaim returns what a claim with the numbers of a batch's Start says when it is repeated.
func (e *env) repeatedClaim(batch *store.Batch) []store.Claimed {
	e.Helper()
	params := e.demand(batch.Start.Node, len(batch.Enqueues))
	params.Seq, params.Repeat = batch.Start.Seq, true
	return e.claimWith(params)
}

// startAll applies a batch all of whose jobs must start, and returns their runs.
func (e *env) startAll(batch *store.Batch) []store.Claimed {
	e.Helper()
	e.apply(batch)
	claimed := batch.Start.Claimed
	e.wantIDs("started", claimedIDs(claimed), idsOf(batch.Enqueues)...)
	for i, q := range batch.Enqueues {
		if q.Err != nil {
			e.Fatalf("enqueue %d: %v", i, q.Err)
		}
		e.equal("result", q.Result, store.EnqueueResult{ID: q.Job.ID, State: store.Running, RunAt: claimed[i].Job.RunAt})
		if record := e.get(q.Job.ID); record.State != store.Running || record.Lease != claimed[i].Lease {
			e.Fatalf("record of the job that was started under %+v: %+v", claimed[i].Lease, record)
		}
	}
	return claimed
}

// startNow starts jobs on a node, which must succeed, and returns their runs.
func (e *env) startNow(node int64, enqueues ...*store.Enqueue) []store.Claimed {
	e.Helper()
	return e.startAll(e.starting(node, enqueues...))
}

func startRuns(e *env) {
	node, other := e.join(), e.join()
	batch := e.starting(node, e.job(), e.job(kind("push")), e.job(queue("second"), priority(1)))
	runs := e.startAll(batch)
	e.equal("a repeated claim", e.repeatedClaim(batch), runs)
	for i, run := range runs {
		want := batch.Enqueues[i].Job
		want.CreatedAt, want.RunAt, want.Attempt, want.LeaseNumber = e.clock.Now(), e.clock.Now(), 1, 1
		e.equal("run", run, store.Claimed{
			Job: want, ClaimedAt: e.clock.Now(),
			Lease: store.Lease{Job: want.ID, Number: 1, Node: node, Claim: batch.Start.Seq, Slot: run.Lease.Slot},
		})
		if record := e.get(want.ID); !record.ClaimedAt.Equal(e.clock.Now()) || record.Attempt != 1 || len(record.Attempts) != 0 {
			e.Fatalf("record: %+v", record)
		}
	}
	e.wantSameIDs("listed", e.listIDs(store.Filter{States: []store.State{store.Running}}), claimedIDs(runs)...)
	if counts := e.queue("mail").Counts; counts[store.Running].N != 2 || counts[store.Available].N != 0 {
		e.Fatalf("the queue counts %+v", counts)
	}
	if len(batch.Woken) != 0 {
		e.Fatalf("there is nothing to claim, but the batch woke %+v", batch.Woken)
	}
	e.wantNothing(other)
	e.wantNothing(node)
	nodes, err := e.store.Nodes(e.ctx)
	if err != nil || len(nodes) != 2 || nodes[0].Running != 3 || nodes[1].Running != 0 {
		e.Fatalf("nodes: %+v, %v", nodes, err)
	}
	e.beat(node)
	for _, run := range runs {
		e.end(run, store.Completed)
	}
	e.equal("a repeated claim", e.repeatedClaim(batch), []store.Claimed(nil))
}

// everything gives a job one of each.
func everything(deadline time.Time, parent store.ID) func(*store.Enqueue) {
	return func(q *store.Enqueue) {
		q.Job.Args, q.Job.Codec, q.Job.Tags, q.Job.Metadata = []byte{0, 255, 1}, 3, []string{"b", "a", "b c"}, []byte(`{"n":[1,{"deep":null}]}`)
		q.Job.Options = store.Options{
			Timeout: time.Minute, Deadline: deadline, Backoff: store.Backoff{Base: time.Second, Cap: time.Hour, Jitter: 0.25},
			Trace: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", Source: "nightly",
		}
		q.Job.Parent, q.Job.Answers, q.Job.OnParentClose = parent, true, store.TerminateChild
	}
}

// startBody: also times that are finer than a store keeps them, and bodies without anything.
func startBody(e *env) {
	parent := e.started()
	node := parent.Lease.Node
	deadline, past := e.clock.Now().Add(time.Hour), e.clock.Now().Add(-time.Hour)
	full := e.job(attempts(7), priority(1), everything(deadline.Add(123), parent.Job.ID))
	huge := e.job(queue("second"), func(q *store.Enqueue) { q.Job.Args = slices.Repeat([]byte(`["0123456789"]`), 30_000) })
	bare := e.job(attempts(0), kind("push"), runAt(past.Add(999)), func(q *store.Enqueue) { q.Job.Args = nil })
	batch := e.starting(node, full, huge, bare)
	runs := e.startAll(batch)
	e.equal("a repeated claim", e.repeatedClaim(batch), runs)
	for i, q := range batch.Enqueues {
		want := q.Job
		want.CreatedAt, want.RunAt, want.Attempt, want.LeaseNumber = e.clock.Now(), e.clock.Now(), 1, 1
		if i == 0 {
			want.Options.Deadline = deadline
		}
		if i == 2 {
			want.RunAt = past
		}
		e.equal("body of the run", runs[i].Job, want)
		e.equal("body of the record", e.get(q.Job.ID).Job, want)
	}
	// What the run knows of itself is enough to end it.
	e.end(runs[0], store.Completed)
	if answers := e.answers(parent.Job.ID); len(answers) != 1 || answers[0].From != full.Job.ID {
		e.Fatalf("the parent got %+v", answers)
	}
	e.clock.Advance(time.Minute)
	if o := e.end(runs[1], store.Retryable); o.Final != store.Retryable {
		e.Fatalf("final state is %v", o.Final)
	}
}

func startOutcomes(e *env) {
	node := e.join()
	for _, state := range endStates {
		run := e.startNow(node, e.job(queue(state.String()), attempts(9)))[0]
		e.clock.Advance(time.Second)
		e.beat(node)
		saved := e.save(run, store.Checkpoint{Percent: 5, Message: "half of it"})
		if o := e.end(run, state); o.Final != state {
			e.Fatalf("final state is %v, want %v", o.Final, state)
		}
		record := e.get(run.Job.ID)
		if record.State != state || record.LeaseNumber != 1 {
			e.Fatalf("record: %+v", record)
		}
		e.wantLost(run)
		if state == store.Completed || state == store.Cancelled {
			continue
		}
		attempt := 1
		if state == store.Failed {
			e.retry(run.Job.ID)
		}
		if state == store.Retryable {
			attempt = 2
		}
		e.clock.Advance(time.Hour)
		e.beat(node)
		again := e.claimOne(node, run.Job.ID)
		if again.Lease.Number != 2 || again.Job.LeaseNumber != 2 || again.Job.Attempt != attempt {
			e.Fatalf("after %v: lease %d, the job says %d, attempt %d", state, again.Lease.Number, again.Job.LeaseNumber, again.Job.Attempt)
		}
		e.equal("checkpoint", again.Checkpoint, saved)
		want := store.Attempt{
			Number: 1, LeaseNumber: 1, Node: node, ClaimedAt: run.ClaimedAt, StartedAt: run.ClaimedAt, EndedAt: run.ClaimedAt.Add(time.Second),
			Outcome: state, Reason: record.Attempts[0].Reason, Error: record.Attempts[0].Error,
		}
		e.equal("attempts", record.Attempts, []store.Attempt{want})
		e.wantLost(run)
		e.end(again, store.Completed)
	}
}

// startRecords: as many records as a claim would write, and none of them mixes up its slots.
func startRecords(e *env) {
	for _, n := range []int{store.MaxClaimSlots, store.MaxClaimSlots + 1, 2*store.MaxClaimSlots + 31} {
		node := e.join()
		var jobs []*store.Enqueue
		for i := range n {
			jobs = append(jobs, e.job(queue(fmt.Sprint("q", i%2)), priority(1+i%4), kind([]string{"send", "push"}[i%2]), attempts(1+i)))
		}
		batch := e.starting(node, jobs...)
		runs := e.startAll(batch)
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
		e.equal("a repeated claim", e.repeatedClaim(batch), runs)
		ends := &store.Batch{}
		for i, run := range runs {
			ends.Outcomes = append(ends.Outcomes, outcome(run, []store.State{store.Completed, store.Failed}[i%2]))
		}
		e.apply(ends)
		for i, o := range ends.Outcomes {
			if o.Err != nil {
				e.Fatalf("outcome %d of %d: %v", i, n, o.Err)
			}
			e.wantState(o.Lease.Job, []store.State{store.Completed, store.Failed}[i%2])
		}
	}
}

func startCancel(e *env) {
	node := e.join()
	runs := e.startNow(node, e.job(), e.job(), e.job())
	e.equal("states", e.cancel(runs[1].Job.ID), []store.State{store.Running})
	cancels := e.beat(node).Cancels
	if len(cancels) != 1 || cancels[0].Job != runs[1].Job.ID {
		e.Fatalf("the node is told of %+v", cancels)
	}
	if o := e.end(runs[1], store.Retryable); o.Final != store.Cancelled {
		e.Fatalf("final state is %v", o.Final)
	}
	e.terminate(runs[2].Job.ID)
	e.wantLost(runs[2])
	e.wantState(runs[2].Job.ID, store.Cancelled)
	e.tryPause(runs[0].Job.ID)
	if o := e.end(runs[0], store.Available); o.Final != store.Waiting {
		e.Fatalf("final state is %v", o.Final)
	}
}

func startRescue(e *env) {
	node := e.join()
	runs := e.startNow(node, e.job(), e.job(attempts(1)), e.job())
	e.end(runs[2], store.Completed)
	e.clock.Advance(deadAfter + time.Second)
	due := e.clock.Now()
	rescued := e.rescue()
	slices.SortFunc(rescued, func(a, b store.Rescued) int { return slices.Compare(a.Job[:], b.Job[:]) })
	e.equal("rescued", rescued, []store.Rescued{
		{Job: runs[0].Job.ID, Kind: "send", Node: node, State: store.Retryable, Reason: store.ReasonNodeLost, Queue: "mail", RunAt: due},
		{Job: runs[1].Job.ID, Kind: "send", Node: node, State: store.Failed, Reason: store.ReasonCrashLoop, Queue: "mail"},
	}, cmpopts.IgnoreFields(store.Rescued{}, "RunAt"))
	record := e.get(runs[0].Job.ID)
	if record.State != store.Retryable || !record.RunAt.Equal(due) || record.Attempt != 1 || len(record.Attempts) != 1 ||
		record.Attempts[0].Reason != store.ReasonNodeLost || record.Attempts[0].LeaseNumber != 1 || record.Attempts[0].Node != node {
		e.Fatalf("the rescued job: %+v", record)
	}
	e.wantLost(runs[0])
	if again := e.claimOne(e.join(), runs[0].Job.ID); again.Job.Attempt != 2 || again.Lease.Number != 2 {
		e.Fatalf("second run: attempt %d, lease %d", again.Job.Attempt, again.Lease.Number)
	}
}

func startLeave(e *env) {
	node := e.join()
	runs := e.startNow(node, e.job(), e.job())
	e.leave(node)
	for _, run := range runs {
		record := e.get(run.Job.ID)
		if record.State != store.Available || record.Attempt != 0 || record.LeaseNumber != 1 {
			e.Fatalf("the job that was given back: %+v", record)
		}
		e.wantLost(run)
	}
	again := e.claim(e.join(), 10)
	e.wantSameIDs("claimed", claimedIDs(again), claimedIDs(runs)...)
	if again[0].Job.Attempt != 1 || again[0].Lease.Number != 2 {
		e.Fatalf("second run: attempt %d, lease %d", again[0].Job.Attempt, again[0].Lease.Number)
	}
}

// sendAgain applies a batch as a caller does whose answer was lost: every job of it must be known. It returns what runs.
func (e *env) sendAgain(batch *store.Batch) []store.Claimed {
	e.Helper()
	again := faults.Copy(batch)
	e.apply(again)
	for i, q := range again.Enqueues {
		if q.Err != nil || q.Result.ID != q.Job.ID || !q.Result.Existing {
			e.Fatalf("repeated enqueue %d: %+v, %v", i, q.Result, q.Err)
		}
	}
	return again.Start.Claimed
}

func startRepeated(e *env) {
	node := e.join()
	later := e.job(queue("second"), delay(time.Hour))
	batch := e.mixed(node, e.job(), later, e.job(kind("push"), everything(e.clock.Now().Add(time.Hour), e.ids.next())), e.job(kind("bill")))
	for _, q := range batch.Enqueues[:3] {
		q.Start = true
	}
	first := batch.Enqueues
	e.apply(batch)
	runs := batch.Start.Claimed
	e.wantIDs("started", claimedIDs(runs), first[0].Job.ID, first[2].Job.ID)
	e.clock.Advance(time.Second)
	var before []store.Record
	for _, q := range first {
		before = append(before, e.get(q.Job.ID))
	}
	for range 2 {
		e.equal("started by the repeated batch", e.sendAgain(batch), runs)
	}
	for i, q := range first {
		e.equal("job after the repeated batch", e.get(q.Job.ID), before[i])
	}
	e.claimOne(node, first[3].Job.ID)
	e.wantNothing(node)
	for _, run := range runs {
		e.end(run, store.Completed)
	}
}

func startRepeatedPartly(e *env) {
	node := e.join()
	batch := e.starting(node, e.job(), e.job(), e.job(), e.job(), e.job())
	runs := e.startAll(batch)
	e.end(runs[0], store.Completed)
	e.end(runs[3], store.Retryable)
	saved := e.save(runs[1], store.Checkpoint{Percent: 5})
	again := e.sendAgain(batch)
	want := []store.Claimed{runs[1], runs[2], runs[4]}
	want[0].Checkpoint = saved
	e.equal("started by the repeated batch", again, want)
	// One runs again, under another lease: that is not what the batch started.
	e.clock.Advance(time.Minute)
	e.beat(node)
	e.claimOne(node, runs[3].Job.ID)
	e.wantIDs("started by the repeated batch", claimedIDs(e.sendAgain(batch)), runs[1].Job.ID, runs[2].Job.ID, runs[4].Job.ID)
	for _, run := range again {
		e.end(run, store.Completed)
	}
	if left := e.sendAgain(batch); len(left) != 0 {
		e.Fatalf("a repeated batch whose jobs are done started %v", claimedIDs(left))
	}
}

// startRepeatedRecords: also if the first of several records is done and gone.
func startRepeatedRecords(e *env) {
	node := e.join()
	var jobs []*store.Enqueue
	for range 2*store.MaxClaimSlots + 10 {
		jobs = append(jobs, e.job())
	}
	batch := e.starting(node, jobs...)
	runs := e.startAll(batch)
	e.equal("started by the repeated batch", e.sendAgain(batch), runs)
	ends := &store.Batch{}
	for _, run := range runs[:store.MaxClaimSlots] {
		ends.Outcomes = append(ends.Outcomes, outcome(run, store.Completed))
	}
	e.apply(ends)
	e.equal("started by the repeated batch", e.sendAgain(batch), runs[store.MaxClaimSlots:])
}

// startRepeatedDead: a node that is dead may not be told to run anything, even while a rescue that takes little at once has not come to
// all of it.
func startRepeatedDead(e *env) {
	left, dead := e.join(), e.join()
	given := e.starting(left, e.job(queue("left")))
	e.startAll(given)
	var jobs []*store.Enqueue
	for range store.MaxClaimSlots + 5 {
		jobs = append(jobs, e.job())
	}
	lost := e.starting(dead, jobs...)
	e.startAll(lost)
	e.leave(left)
	e.clock.Advance(deadAfter + time.Second)
	params := e.rescueParams()
	params.Limit = 1
	if _, err := e.store.Rescue(e.ctx, params); err != nil {
		e.Fatalf("Rescue: %v", err)
	}
	for range 2 {
		for _, batch := range []*store.Batch{given, lost} {
			if runs := e.sendAgain(batch); len(runs) != 0 {
				e.Fatalf("a repeated batch of node %d, which is dead, started %v", batch.Start.Node, claimedIDs(runs))
			}
		}
		e.rescue()
	}
	e.clock.Advance(rescueBackoff)
	e.wantSameIDs("claimed", claimedIDs(e.claim(e.join(), 1000)), append(idsOf(jobs), given.Enqueues[0].Job.ID)...)
}

// startFirst: the numbers that the node has used meanwhile say nothing about it. And a claim that never happened either may find nothing
// when it is repeated after all this, but the next one finds what there is.
func startFirst(e *env) {
	node, other := e.join(), e.join()
	lost := e.demand(node, 5)
	batch := e.starting(node, e.job(queue("a")), e.job(queue("b")))
	waiting := e.add(queue("c"))
	e.claimOne(node, waiting)
	e.startNow(node, e.job(queue("d")))
	// Another node's number is another number.
	same := e.starting(other, e.job(queue("a")))
	same.Start.Seq = batch.Start.Seq
	theirs := e.startAll(same)
	runs := e.startAll(batch)
	e.equal("started by the repeated batch", e.sendAgain(batch), runs)
	e.equal("started by the repeated batch", e.sendAgain(same), theirs)
	id := e.add(queue("e"))
	lost.Repeat = true
	claimed := append(e.claimWith(lost), e.claim(node, 5)...)
	e.wantIDs("claimed", claimedIDs(claimed), id)
}

// startNotAgain: what was in the way is gone when the batch is sent again, but its jobs are known, and wait.
func startNotAgain(e *env) {
	node := e.join()
	id := e.add()
	batch := e.starting(node, e.job(), e.job())
	e.wantWaiting(batch)
	e.claimOne(node, id)
	if runs := e.sendAgain(batch); len(runs) != 0 {
		e.Fatalf("a repeated batch started %v", claimedIDs(runs))
	}
	e.wantIDs("claimed", claimedIDs(e.claim(node, 10)), idsOf(batch.Enqueues)...)
	if runs := e.sendAgain(batch); len(runs) != 0 {
		e.Fatalf("a repeated batch started %v", claimedIDs(runs))
	}
}

func startNumbers(e *env) {
	node, other := e.join(), e.join()
	first, second := e.starting(node, e.job(), e.job()), e.starting(node, e.job())
	theirs := e.starting(other, e.job())
	runs, more, others := e.startAll(first), e.startAll(second), e.startAll(theirs)
	// The known jobs of another batch are not what a batch has started.
	mixed := e.starting(node, first.Enqueues...)
	if claimed := e.sendAgain(mixed); len(claimed) != 0 {
		e.Fatalf("a batch with a new number started %v again", claimedIDs(claimed))
	}
	e.end(runs[0], store.Completed)
	e.equal("started by the first batch", e.sendAgain(first), runs[1:])
	e.equal("started by the second batch", e.sendAgain(second), more)
	e.equal("started by the other node", e.sendAgain(theirs), others)
	for _, run := range slices.Concat(runs[1:], more, others) {
		e.end(run, store.Completed)
	}
}
