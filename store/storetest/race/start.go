package race

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/crowd"
	"github.com/holdfastdev/holdfast/store/storetest/env"
	"github.com/holdfastdev/holdfast/store/storetest/faults"
)

// Jobs that start as they are enqueued while others do the same, claim them, or take them away.
var raceStartTests = env.Tests{
	"OneOwner_a_batch_that_starts_jobs_and_its_repetitions_at_once":         raceRepeatedStart,
	"OneOwner_NoLoss_jobs_are_started_and_claimed_at_once":                  raceStartClaims,
	"NoLoss_jobs_are_started_on_a_node_that_is_declared_dead":               raceStartRescue,
	"NoLoss_jobs_are_started_on_a_node_that_leaves":                         raceStartLeave,
	"NoLoss_a_node_leaves_in_the_middle_of_a_large_batch_that_starts_on_it": raceStartLeaveLarge,
}

// tryStart applies a batch, again and again while the store is unavailable, and checks what it says
// of its jobs.
func tryStart(e *env.Env, batch *store.Batch) error {
	for {
		err := store.ApplyEach(e.Ctx, e.Store, batch)
		if err == nil {
			break
		}
		if !store.IsRetryable(err) {
			return fmt.Errorf("Apply: %w", err)
		}
		for _, o := range batch.Outcomes {
			o.Repeat = true
		}
	}
	for _, q := range batch.Enqueues {
		if q.Err != nil || q.Result.ID != q.Job.ID {
			return fmt.Errorf("enqueue of %v: %+v, %w", q.Job.ID, q.Result, q.Err)
		}
	}
	for _, c := range batch.Start.Claimed {
		if c.Lease.Node != batch.Start.Node || c.Lease.Number != 1 || c.Lease.Claim < batch.Start.Seq || c.Job.ID != c.Lease.Job {
			return fmt.Errorf("job %v was started under the lease %+v", c.Job.ID, c.Lease)
		}
	}
	return nil
}

// makeLanes makes the lanes of some kinds: a store may refuse a job for a moment as another
// transaction makes that of it.
func makeLanes(e *env.Env, queue string, priority int, kinds ...string) {
	e.Helper()
	for _, kind := range kinds {
		e.Add(env.Queue(queue), env.Kind(kind), env.Priority(priority), env.Delay(time.Hour))
	}
}

// raceRepeatedStart: a batch whose answer does not come is sent again while the first request is
// still under way. The first call decides what happens, and all are told the same.
func raceRepeatedStart(e *env.Env) {
	const senders = 4
	for round := range 10 {
		node := e.Join()
		name := fmt.Sprint("q", round)
		for priority := 1; priority <= 3; priority++ {
			makeLanes(e, name, priority, "send", "bill", "push")
		}
		var jobs []*store.Enqueue
		for i := range 1 + round*8 {
			jobs = append(jobs, e.Job(env.Queue(name), env.Priority(1+i%3)))
		}
		batch := e.Starting(node, append(jobs,
			e.Job(env.Queue(name), env.Kind("bill")), e.Job(env.Queue(name), env.Kind("push"), env.Delay(time.Hour)))...)
		batch.Enqueues[len(jobs)].Start = false
		copies := make([]*store.Batch, senders)
		for i := range copies {
			copies[i] = faults.Copy(batch)
		}
		crowd.Together(e, senders, func(i int) error { return tryStart(e, copies[i]) })
		var inserted crowd.Tally
		for _, sent := range copies {
			e.Equal("started", sent.Start.Claimed, copies[0].Start.Claimed)
			for _, q := range sent.Enqueues {
				if !q.Result.Existing {
					inserted.Add(q.Job.ID)
				}
			}
		}
		crowd.WantOnce(e, "inserted", &inserted, env.IDsOf(batch.Enqueues))
		runs := copies[0].Start.Claimed
		e.WantIDs("started", env.ClaimedIDs(runs), env.IDsOf(jobs)...)
		e.Equal("a repeated claim", e.RepeatedClaim(batch), runs)
		e.ClaimOne(node, batch.Enqueues[len(jobs)].Job.ID)
		e.EndAll(runs, store.Completed)
	}
}

// raceStartClaims: each batch ends what the one before has started, as an engine's does, and some
// of its answers are lost. Claimers of the same nodes take what could not start.
func raceStartClaims(e *env.Env) {
	const nodes = 3
	members := crowd.Joined(e, nodes)
	for i := range 2 {
		makeLanes(e, fmt.Sprint("q", i), 2, "send", "push")
	}
	var made, taken, ended crowd.Tally
	crowd.Together(e, 2*nodes, func(i int) error {
		if i < nodes {
			return startBatches(e, members[i], i, &made, &taken, &ended)
		}
		return claimBatches(e, members[i-nodes], &taken, &ended)
	})
	crowd.FinishRest(e, &taken, &ended)
	if len(made.Seen) != nodes*startedBatches*startedSize {
		e.Fatalf("made %d jobs", len(made.Seen))
	}
	crowd.WantOnce(e, "started or claimed", &taken, made.IDs())
	crowd.WantOnce(e, "ended", &ended, made.IDs())
	if running := e.ListIDs(store.Filter{States: []store.State{store.Running}}); len(running) != 0 {
		e.Fatalf("%d jobs still run", len(running))
	}
}

// How many batches each of those who start applies, and of how many jobs.
const startedBatches, startedSize = 12, 8

// startBatches starts jobs, of which one in each batch is to wait, and ends them with the next
// batch.
func startBatches(e *env.Env, node int64, worker int, made, taken, ended *crowd.Tally) error {
	var runs []store.Claimed
	for n := range startedBatches + 1 {
		batch := e.Starting(node)
		if n < startedBatches {
			var jobs []*store.Enqueue
			for i := range startedSize {
				jobs = append(jobs, e.Job(env.Queue(fmt.Sprint("q", (worker+i)%2)), env.Kind([]string{"send", "push"}[i%2])))
			}
			batch = e.Starting(node, jobs...)
			jobs[n%startedSize].Start = false
		}
		batch.Outcomes = crowd.Completions(runs)
		made.Add(env.IDsOf(batch.Enqueues)...)
		if err := tryStart(e, batch); err != nil {
			return err
		}
		if err := crowd.Accepted(batch); err != nil {
			return err
		}
		ended.Add(env.ClaimedIDs(runs)...)
		if runs = batch.Start.Claimed; n%3 == 0 && n < startedBatches {
			again := faults.Copy(batch)
			for _, o := range again.Outcomes {
				o.Repeat = true
			}
			if err := tryStart(e, again); err != nil {
				return err
			}
			if diff := env.Difference(runs, again.Start.Claimed); diff != "" {
				return fmt.Errorf("the repeated batch differs (-first +second):\n%s", diff)
			}
		}
		taken.Add(env.ClaimedIDs(runs)...)
	}
	return nil
}

// claimBatches claims and ends what waits.
func claimBatches(e *env.Env, node int64, taken, ended *crowd.Tally) error {
	for range startedBatches {
		runs, err := crowd.ClaimNow(e, e.Demand(node, 5))
		if err != nil {
			return err
		}
		taken.Add(env.ClaimedIDs(runs)...)
		if err := crowd.EndNow(e, &store.Batch{Outcomes: crowd.Completions(runs)}); err != nil {
			return err
		}
		ended.Add(env.ClaimedIDs(runs)...)
	}
	return nil
}

// startSome starts 16 jobs on a node that is about to end, in 8 batches of which each ends what the
// one before has started, and notes what was made and what was ended.
func startSome(e *env.Env, node int64, name string, made, ended *crowd.Tally) error {
	var runs []store.Claimed
	for range 8 {
		batch := e.Starting(node, e.Job(env.Queue(name), env.Attempts(100)), e.Job(env.Queue(name), env.Attempts(100), env.Kind("push")))
		for _, run := range runs[:min(1, len(runs))] {
			batch.Outcomes = append(batch.Outcomes, env.Outcome(run, store.Completed))
		}
		made.Add(env.IDsOf(batch.Enqueues)...)
		if err := tryStart(e, batch); err != nil {
			return err
		}
		for _, o := range batch.Outcomes {
			if o.Err == nil {
				ended.Add(o.Lease.Job)
			} else if !errors.Is(o.Err, store.ErrLeaseLost) {
				return fmt.Errorf("outcome: %w", o.Err)
			}
		}
		runs = batch.Start.Claimed
	}
	return nil
}

// wantAllThere checks that every job that was made is there, that those that were ended are
// completed, and that nothing runs.
func wantAllThere(e *env.Env, made, ended *crowd.Tally) {
	e.Helper()
	records := e.List(store.Filter{}, 100)
	if len(records) != len(made.Seen) {
		e.Fatalf("NoLoss: %d jobs were enqueued, %d are there", len(made.Seen), len(records))
	}
	for _, r := range records {
		done := ended.Seen[r.ID] == 1
		if ended.Seen[r.ID] > 1 || done != (r.State == store.Completed) || r.State == store.Running {
			e.Fatalf("NoLoss: job %v is %v, and was ended %d times", r.ID, r.State, ended.Seen[r.ID])
		}
	}
}

// raceStartRescue: what is started on a node that is declared dead in the same moment is rescued,
// or waits.
func raceStartRescue(e *env.Env) {
	var made, ended crowd.Tally
	for round := range 4 {
		node, before := e.Join(), len(made.Seen)
		e.Clock.Advance(env.DeadAfter + time.Second)
		params := e.RescueParams()
		rescued := map[store.ID]bool{}
		crowd.Together(e, 3, func(i int) error {
			if i > 0 {
				return startSome(e, node, fmt.Sprint("q", round, i), &made, &ended)
			}
			made.WaitFor(before + round*7)
			some, err := e.Store.Rescue(e.Ctx, params)
			for _, r := range some.Jobs {
				rescued[r.Job] = true
			}
			return err
		})
		for _, r := range e.Rescue() {
			if rescued[r.Job] {
				e.Fatalf("job %v was rescued twice", r.Job)
			}
			rescued[r.Job] = true
		}
		wantAllThere(e, &made, &ended)
		e.WantWaiting(e.Starting(node, tallied(e, &made, env.Queue("late"))))
		for id := range rescued {
			if r := e.Get(id); r.State != store.Retryable || r.Attempt != 1 || len(r.Attempts) != 1 || r.LeaseNumber != 1 {
				e.Fatalf("the rescued job: %+v", r)
			}
		}
		for _, r := range e.List(store.Filter{States: []store.State{store.Available}}, 100) {
			if r.LeaseNumber != 0 || r.Attempt != 0 {
				e.Fatalf("a job that waits, and has not started: %+v", r)
			}
		}
	}
	wantClaimable(e, &made, &ended)
}

// tallied is a job that is noted.
func tallied(e *env.Env, made *crowd.Tally, change ...func(*store.Enqueue)) *store.Enqueue {
	q := e.Job(change...)
	made.Add(q.Job.ID)
	return q
}

// wantClaimable checks that all that was made and not ended can be claimed, once.
func wantClaimable(e *env.Env, made, ended *crowd.Tally) {
	e.Helper()
	e.Clock.Advance(time.Hour)
	var left []store.ID
	for id := range made.Seen {
		if ended.Seen[id] == 0 {
			left = append(left, id)
		}
	}
	node := e.Join()
	var claimed []store.ID
	for {
		runs := e.Claim(node, 100)
		if len(runs) == 0 {
			break
		}
		claimed = append(claimed, env.ClaimedIDs(runs)...)
	}
	e.WantSameIDs("claimed", claimed, left...)
}

// raceStartLeave: when a node has left, nothing runs on it, and nothing starts.
func raceStartLeave(e *env.Env) {
	var made, ended crowd.Tally
	for round := range 4 {
		node, before := e.Join(), len(made.Seen)
		crowd.Together(e, 3, func(i int) error {
			if i > 0 {
				return startSome(e, node, fmt.Sprint("q", round, i), &made, &ended)
			}
			made.WaitFor(before + round*7)
			_, err := e.Store.Leave(e.Ctx, node)
			return err
		})
		wantAllThere(e, &made, &ended)
		e.WantWaiting(e.Starting(node, tallied(e, &made, env.Queue("late"))))
	}
	for _, r := range e.List(store.Filter{}, 100) {
		if slices.ContainsFunc(r.Attempts, func(a store.Attempt) bool { return a.Reason != store.ReasonReleased }) {
			e.Fatalf("a job that was given back: %+v", r)
		}
	}
	wantClaimable(e, &made, &ended)
}

// raceStartLeaveLarge: writing the batch takes longer than the node's leave, which must not
// overtake it.
func raceStartLeaveLarge(e *env.Env) {
	const size = 600
	var made, ended crowd.Tally
	for round := range 6 {
		node := e.Join()
		var jobs []*store.Enqueue
		for range size {
			jobs = append(jobs, e.Job(env.Queue(fmt.Sprint("q", round))))
		}
		made.Add(env.IDsOf(jobs)...)
		batch := e.Starting(node, jobs...)
		crowd.Together(e, 2, func(i int) error {
			if i == 0 {
				return tryStart(e, batch)
			}
			for range round * 200 {
				runtime.Gosched()
			}
			_, err := e.Store.Leave(e.Ctx, node)
			return err
		})
		if running := e.ListIDs(store.Filter{States: []store.State{store.Running}}); len(running) != 0 {
			e.Fatalf("%d jobs run on a node that left", len(running))
		}
	}
	wantAllThere(e, &made, &ended)
}
