package storetest

import (
	"slices"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfastdev/holdfast/store"
)

// How long the jobs wait that are rescued, and how often, is in rescue_policy.go. What a living node
// gives up is in giveup.go.
var rescueTests = slices.Concat([]test{
	{"NoLoss_jobs_of_a_dead_node_run_again", rescueJobs},
	{"NoLoss_every_claim_record_of_a_dead_node_is_taken", rescueManyRecords},
	{"without_a_limit_the_store_chooses_one", rescueNoLimit},
	{"a_job_that_kills_its_nodes_ends_as_a_crash_loop", rescueCrashLoop},
	{"a_run_whose_journal_has_grown_is_not_counted", rescueProgress},
	{"a_run_that_has_only_read_its_journal_is_counted", rescueNoProgress},
	{"a_deadline_ends_what_would_be_rescued_past_it", rescueDeadline},
	{"OneOwner_only_what_is_not_done_is_rescued", rescueOnlyUndone},
	{"a_node_that_has_given_another_sign_of_life_lives", rescueSparesAlive},
	{"only_nodes_that_are_named_are_declared_dead", rescueNamed},
	{"NoLoss_a_node_that_was_named_once_is_rescued_from_to_the_end", rescueGoesOn},
	{"FinishedIsFinal_a_second_rescue_does_nothing", rescueTwice},
	{"a_dead_node_is_told_so", rescueDeadIsTold},
}, rescuePolicyTests, giveUpTests)

func rescueJobs(e *env) {
	run := e.started(queue("a"))
	e.clock.Advance(deadAfter)
	rescued := e.rescue()
	due := e.clock.Now()
	e.equal("rescued", rescued, []store.Rescued{{
		Job: run.Job.ID, Kind: "send", Node: run.Lease.Node, State: store.Retryable, Reason: store.ReasonNodeLost, Queue: "a", RunAt: due,
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
	if again := e.claimOne(e.join(), run.Job.ID); again.Job.Attempt != 2 || again.Lease.Number != 2 {
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
	params := e.rescueParams()
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
	params := e.rescueParams()
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
		e.clock.Advance(rescueBackoff)
		rescued := e.lose(run)
		if rescued.State != want {
			e.Fatalf("rescued: %+v, want it %v", rescued, want)
		}
		// What is not counted is not waited for either.
		if want == store.Retryable && !rescued.RunAt.Equal(e.clock.Now()) {
			e.Fatalf("attempt %d was lost, and the next run is at %v", counted, rescued.RunAt)
		}
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

// rescueDeadline: of the second attempt that is lost, after which there is a wait.
func rescueDeadline(e *env) {
	deadline := e.clock.Now().Add(rescueBackoff + 2*time.Second)
	run := e.second(attempts(9), func(q *store.Enqueue) { q.Job.Options.Deadline = deadline })
	e.clock.Set(deadline.Add(-rescueBackoff))
	if r := e.lose(run); r.State != store.Failed || r.Reason != store.ReasonDeadline {
		e.Fatalf("rescued: %+v", r)
	}
	if record := e.get(run.Job.ID); record.State != store.Failed || record.Reason != store.ReasonDeadline {
		e.Fatalf("record: %+v", record)
	}
	// One moment before that there is time for another attempt.
	deadline = e.clock.Now().Add(rescueBackoff + 2*time.Second)
	run = e.second(attempts(9), func(q *store.Enqueue) { q.Job.Options.Deadline = deadline })
	e.clock.Set(deadline.Add(-rescueBackoff - time.Microsecond))
	if r := e.lose(run); r.State != store.Retryable || !r.RunAt.Equal(deadline.Add(-time.Microsecond)) {
		e.Fatalf("rescued: %+v", r)
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

// rescueSparesAlive: who watches may have seen an earlier beat than the last one.
func rescueSparesAlive(e *env) {
	run := e.started()
	node := run.Lease.Node
	joined := e.lastBeat(node)
	e.clock.Advance(100 * deadAfter)
	e.beat(node)
	last := e.lastBeat(node)
	if joined.At.Equal(last.At) {
		e.Fatalf("the node beat at %v and at %v", joined.At, last.At)
	}
	stale := []store.NodeBeat{
		joined, {Node: node}, {Node: node, At: last.At.Add(-time.Microsecond)}, {Node: node, At: last.At.Add(time.Microsecond)},
	}
	if rescued := e.rescueWith(store.RescueParams{Dead: stale}); len(rescued) != 0 {
		e.Fatalf("rescued from a node that beats: %+v", rescued)
	}
	e.beat(node)
	e.end(run, store.Completed)
}

// rescueNamed: nobody is dead because of the time that it has been silent for.
func rescueNamed(e *env) {
	silent, named := e.started(), e.started()
	left := e.join()
	e.leave(left)
	gone := e.lastBeat(left)
	e.clock.Advance(1000 * deadAfter)
	if rescued := e.rescueWith(store.RescueParams{}); len(rescued) != 0 {
		e.Fatalf("rescued, and nobody is dead: %+v", rescued)
	}
	nobody := store.NodeBeat{Node: named.Lease.Node + 1000, At: gone.At}
	rescued := e.rescueWith(store.RescueParams{Dead: []store.NodeBeat{nobody, gone, e.lastBeat(named.Lease.Node)}})
	if len(rescued) != 1 || rescued[0].Job != named.Job.ID {
		e.Fatalf("rescued: %+v, want job %v alone", rescued, named.Job.ID)
	}
	e.beat(silent.Lease.Node)
	e.end(silent, store.Completed)
}

// rescueGoesOn: a node is declared dead once; whoever rescues next finds what it still holds, and
// need not know that it was named.
func rescueGoesOn(e *env) {
	const records = 5
	node, leader := e.join(), e.join()
	var ids []store.ID
	for range records {
		ids = append(ids, e.add())
		e.claimWith(e.demand(node, 1))
	}
	params := store.RescueParams{Dead: e.lead(leader).Nodes, Limit: 1}
	var taken []store.ID
	for calls := 0; len(taken) < records; calls++ {
		running := e.listIDs(store.Filter{States: []store.State{store.Running}})
		if calls > 0 && !e.lead(leader).Work.Rescue {
			e.Fatalf("a dead node holds %d jobs, and the leader is not told", len(running))
		}
		rescued, err := e.store.Rescue(e.ctx, params)
		if err != nil || calls > 0 && len(rescued) == 0 || calls > records {
			e.Fatalf("Rescue: %+v, %v; %d jobs run", rescued, err, len(running))
		}
		for _, r := range rescued {
			taken = append(taken, r.Job)
		}
		_, err = e.store.Claim(e.ctx, e.demand(node, 1))
		e.wantErr("Claim of a dead node", err, store.ErrNodeDead)
		params.Dead = nil
	}
	e.wantSameIDs("rescued", taken, ids...)
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
