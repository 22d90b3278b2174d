package storetest

import (
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfastdev/holdfast/store"
)

var rescueTests = []test{
	{"NoLoss_jobs_of_a_dead_node_run_again", rescueJobs},
	{"NoLoss_every_claim_record_of_a_dead_node_is_taken", rescueManyRecords},
	{"without_a_limit_the_store_chooses_one", rescueNoLimit},
	{"a_job_that_kills_its_nodes_ends_as_a_crash_loop", rescueCrashLoop},
	{"a_run_whose_journal_has_grown_is_not_counted", rescueProgress},
	{"a_run_that_has_only_read_its_journal_is_counted", rescueNoProgress},
	{"who_decides_sees_the_whole_job", rescueDecides},
	{"a_deadline_ends_what_would_be_rescued_past_it", rescueDeadline},
	{"OneOwner_only_what_is_not_done_is_rescued", rescueOnlyUndone},
	{"a_node_that_beats_is_left_alone", rescueSparesAlive},
	{"FinishedIsFinal_a_second_rescue_does_nothing", rescueTwice},
	{"a_dead_node_is_told_so", rescueDeadIsTold},
}

func rescueJobs(e *env) {
	run := e.started(queue("a"))
	e.clock.Advance(deadAfter)
	rescued := e.rescue()
	due := e.clock.Now().Add(rescueBackoff)
	e.equal("rescued", rescued, []store.Rescued{{
		Job: run.Job.ID, Node: run.Lease.Node, State: store.Retryable, Reason: store.ReasonNodeLost, Queue: "a", RunAt: due,
	}})
	want := store.Record{Job: run.Job, State: store.Retryable, ClaimedAt: run.ClaimedAt}
	want.RunAt = due
	want.Attempts = []store.Attempt{{
		Number: 1, LeaseNumber: 1, Node: run.Lease.Node, ClaimedAt: run.ClaimedAt, EndedAt: e.clock.Now(),
		Outcome: store.Retryable, Reason: store.ReasonNodeLost,
	}}
	// What the store writes about a run that nobody reported is its own.
	words := cmpopts.IgnoreFields(store.Attempt{}, "Error", "Trace")
	e.equal("record", e.get(run.Job.ID), want, words, cmpopts.IgnoreFields(store.Record{}, "Error"))
	node := e.join()
	e.wantNothing(node)
	e.clock.Advance(rescueBackoff)
	if again := e.claimOne(node, run.Job.ID); again.Job.Attempt != 2 || again.Lease.Number != 2 {
		e.Fatalf("second run: attempt %d, lease %d", again.Job.Attempt, again.Lease.Number)
	}
}

// rescueManyRecords: Reading: Limit bounds a transaction, so a call may return before everything is taken; who wants
// everything asks until nothing comes. The node is dead from the first call on.
func rescueManyRecords(e *env) {
	const n = 2*store.MaxClaimSlots + 3
	var jobs []*store.Enqueue
	for range n + 4 {
		jobs = append(jobs, e.job())
	}
	e.enqueue(jobs...)
	first, second, third := e.join(), e.join(), e.join()
	e.claimWith(e.demand(first, n))
	e.claimWith(e.demand(second, 1))
	e.claimWith(e.demand(second, 3))
	e.clock.Advance(deadAfter + time.Second)
	e.beat(third)
	params := rescueParams()
	params.Limit = 1
	rescued := e.rescueWith(params)
	var ids []store.ID
	for _, r := range rescued {
		ids = append(ids, r.Job)
		e.wantState(r.Job, store.Retryable)
	}
	e.wantSameIDs("rescued", ids, idsOf(jobs)...)
	e.clock.Advance(rescueBackoff)
	e.beat(third)
	if claimed := e.claim(third, n+10); len(claimed) != n+4 {
		e.Fatalf("claimed %d of the rescued jobs, want %d", len(claimed), n+4)
	}
}

func rescueNoLimit(e *env) {
	jobs := make([]*store.Enqueue, 0, 3)
	for range cap(jobs) {
		jobs = append(jobs, e.job())
	}
	e.enqueue(jobs...)
	for range jobs {
		e.claimWith(e.demand(e.join(), 1))
	}
	e.clock.Advance(deadAfter + time.Second)
	params := rescueParams()
	params.Limit = 0
	var ids []store.ID
	for _, r := range e.rescueWith(params) {
		ids = append(ids, r.Job)
	}
	e.wantSameIDs("rescued", ids, idsOf(jobs)...)
}

func rescueCrashLoop(e *env) {
	id := e.add(attempts(3))
	for i := range 3 {
		run := e.claimOne(e.join(), id)
		if run.Job.Attempt != i+1 {
			e.Fatalf("attempt is %d, want %d", run.Job.Attempt, i+1)
		}
		e.clock.Advance(deadAfter + time.Second)
		rescued := e.rescue()
		if len(rescued) != 1 {
			e.Fatalf("rescued: %+v", rescued)
		}
		e.clock.Advance(rescueBackoff)
	}
	record := e.get(id)
	if record.State != store.Failed || record.Reason != store.ReasonCrashLoop || record.Attempt != 3 || len(record.Attempts) != 3 {
		e.Fatalf("record: %+v", record)
	}
	e.wantNothing(e.join())
	e.retry(id)
	e.claimOne(e.join(), id)
}

// rescueProgress: a job that gets further before each death of its node never uses up its attempts; one that does not any more ends as
// every other.
func rescueProgress(e *env) {
	id := e.add(attempts(2))
	lose := func(run store.Claimed, counted int, want store.State) {
		e.Helper()
		e.clock.Advance(deadAfter + time.Second)
		var asked []int
		params := rescueParams()
		params.Decide = func(j store.Job) (time.Duration, bool) {
			asked = append(asked, j.Attempt)
			return 0, j.Attempt < j.MaxAttempts
		}
		if rescued := e.rescueWith(params); len(rescued) != 1 || rescued[0].State != want {
			e.Fatalf("rescued: %+v, want it %v", rescued, want)
		}
		e.equal("attempts of which was decided", asked, []int{counted})
		record := e.get(id)
		last := record.Attempts[len(record.Attempts)-1]
		if record.Attempt != counted || last.Number != run.Job.Attempt || last.LeaseNumber != run.Lease.Number || last.Outcome != want {
			e.Fatalf("%d attempts, the last is %+v", record.Attempt, last)
		}
	}
	for i := range int64(4) {
		run := e.claimOne(e.join(), id)
		if run.Job.Attempt != 1 {
			e.Fatalf("run %d is attempt %d", i, run.Job.Attempt)
		}
		e.write(&run, steps(2*i+1, 2*i+2)...)
		lose(run, 0, store.Retryable)
	}
	lose(e.claimOne(e.join(), id), 1, store.Retryable)
	run := e.claimOne(e.join(), id)
	e.write(&run, step(9))
	lose(run, 1, store.Retryable)
	run = e.claimOne(e.join(), id)
	if run.Job.Attempt != 2 {
		e.Fatalf("the last run is attempt %d", run.Job.Attempt)
	}
	lose(run, 2, store.Failed)
	if record := e.get(id); record.Reason != store.ReasonCrashLoop || record.Journal != 9 {
		e.Fatalf("record: %+v", record)
	}
}

// rescueNoProgress: what an earlier run wrote, what was copied by a fork, and what a job that began anew was given, is nobody's progress.
// Neither is a checkpoint.
func rescueNoProgress(e *env) {
	durable, anew := e.durable(3, attempts(5)), e.durable(3, attempts(5))
	e.end(durable, store.Available)
	e.end(anew, store.Available, func(o *store.Outcome) { o.Continue = &store.Continue{Args: []byte("1")} })
	ids := []store.ID{durable.Job.ID, e.fork(durable.Job.ID, 2, attempts(5)), anew.Job.ID, e.add(attempts(5))}
	node := e.join()
	for _, run := range e.claim(node, 10) {
		e.save(run, store.Checkpoint{Percent: 10})
	}
	e.clock.Advance(deadAfter + time.Second)
	e.rescue()
	for i, id := range ids {
		if record := e.get(id); record.State != store.Retryable || record.Attempt != 1 {
			e.Fatalf("job %d is %v with %d attempts", i, record.State, record.Attempt)
		}
	}
}

func rescueDecides(e *env) {
	backoff := store.Backoff{Base: 3 * time.Second, Cap: time.Minute, Jitter: 0.5}
	q := e.enqueue(e.job(attempts(9), kind("push"), queue("a"), priority(4), func(q *store.Enqueue) { q.Job.Options.Backoff = backoff }))[0]
	node := e.join()
	e.end(e.claimOne(node, q.Job.ID), store.Retryable)
	e.clock.Advance(time.Minute)
	e.beat(node)
	run := e.claimOne(node, q.Job.ID)
	e.clock.Advance(deadAfter + time.Second)
	var asked []store.Job
	params := rescueParams()
	params.Decide = func(j store.Job) (time.Duration, bool) {
		asked = append(asked, j)
		return 42*time.Second + 999, true
	}
	rescued := e.rescueWith(params)
	// Reading: of the payload nothing is promised here; a rescue of a thousand jobs need not load it.
	payload := cmpopts.IgnoreFields(store.Job{}, "Args", "Codec", "Metadata", "Tags", "UniqueKey", "UniqueStates")
	e.equal("asked about", asked, []store.Job{run.Job}, payload)
	if due := e.clock.Now().Add(42 * time.Second); len(rescued) != 1 || !rescued[0].RunAt.Equal(due) || !e.get(q.Job.ID).RunAt.Equal(due) {
		e.Fatalf("rescued: %+v, want it due at %v", rescued, due)
	}
	// And "no" is taken for an answer, whatever the attempts say.
	e.clock.Advance(time.Minute)
	e.claimOne(e.join(), q.Job.ID)
	e.clock.Advance(deadAfter + time.Second)
	params.Decide = func(store.Job) (time.Duration, bool) { return 0, false }
	rescued = e.rescueWith(params)
	if len(rescued) != 1 || rescued[0].State != store.Failed || rescued[0].Reason != store.ReasonCrashLoop {
		e.Fatalf("rescued: %+v", rescued)
	}
}

func rescueDeadline(e *env) {
	run := e.started(func(q *store.Enqueue) { q.Job.Options.Deadline = e.clock.Now().Add(deadAfter + 5*time.Second) })
	e.clock.Advance(deadAfter)
	rescued := e.rescue()
	if len(rescued) != 1 || rescued[0].State != store.Failed || rescued[0].Reason != store.ReasonDeadline {
		e.Fatalf("rescued: %+v", rescued)
	}
	if record := e.get(run.Job.ID); record.State != store.Failed || record.Reason != store.ReasonDeadline {
		e.Fatalf("record: %+v", record)
	}
}

func rescueOnlyUndone(e *env) {
	e.enqueue(e.job(), e.job(), e.job(), e.job())
	node := e.join()
	runs := e.claim(node, 4)
	e.end(runs[0], store.Completed)
	e.end(runs[2], store.Scheduled)
	e.clock.Advance(deadAfter + time.Second)
	rescued := e.rescue()
	var ids []store.ID
	for _, r := range rescued {
		ids = append(ids, r.Job)
	}
	e.wantSameIDs("rescued", ids, runs[1].Job.ID, runs[3].Job.ID)
	e.wantState(runs[0].Job.ID, store.Completed)
	e.wantState(runs[2].Job.ID, store.Scheduled)
}

func rescueSparesAlive(e *env) {
	run := e.started()
	e.clock.Advance(deadAfter - 2*time.Second)
	e.beat(run.Lease.Node)
	e.clock.Advance(deadAfter - time.Second)
	if rescued := e.rescue(); len(rescued) != 0 {
		e.Fatalf("rescued from a node that beats: %+v", rescued)
	}
	e.end(run, store.Completed)
	// Joining is a beat too.
	node := e.join()
	e.clock.Advance(deadAfter - time.Second)
	e.rescue()
	e.beat(node)
}

func rescueTwice(e *env) {
	run := e.started()
	e.clock.Advance(deadAfter + time.Second)
	e.rescue()
	before := e.get(run.Job.ID)
	if rescued := e.rescue(); len(rescued) != 0 {
		e.Fatalf("rescued again: %+v", rescued)
	}
	e.equal("job", e.get(run.Job.ID), before)
	e.clock.Advance(time.Minute)
	again := e.claimOne(e.join(), run.Job.ID)
	e.rescue()
	e.end(again, store.Completed)
	e.leave(run.Lease.Node)
	e.wantState(run.Job.ID, store.Completed)
}

func rescueDeadIsTold(e *env) {
	node := e.join()
	e.clock.Advance(deadAfter + time.Second)
	other := e.join()
	e.rescue()
	_, err := e.store.Beat(e.ctx, store.BeatParams{Node: node, LeaderTTL: time.Minute})
	e.wantErr("Beat of a dead node", err, store.ErrNodeDead)
	e.leave(node)
	if again := e.join(); again == node || again == other {
		e.Fatalf("the id %d is used again", again)
	}
	e.beat(other)
}
