package storetest

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/faults"
)

// Jobs that start as they are enqueued while others do the same, claim them, or take them away.
var raceStartTests = []test{
	{"OneOwner_a_batch_that_starts_jobs_and_its_repetitions_at_once", raceRepeatedStart},
	{"OneOwner_NoLoss_jobs_are_started_and_claimed_at_once", raceStartClaims},
	{"NoLoss_jobs_are_started_on_a_node_that_is_declared_dead", raceStartRescue},
	{"NoLoss_jobs_are_started_on_a_node_that_leaves", raceStartLeave},
	{"NoLoss_a_node_leaves_in_the_middle_of_a_large_batch_that_starts_on_it", raceStartLeaveLarge},
}

// tryStart applies a batch, again and again while the store is unavailable, and checks what it says of its jobs.
func (e *env) tryStart(batch *store.Batch) error {
	for {
		err := e.store.Apply(e.ctx, batch)
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

// raceRepeatedStart: a batch whose answer does not come is sent again while the first request is still under way. Whoever is first
// decides what happens, and all are told the same.
func raceRepeatedStart(e *env) {
	const senders = 4
	for round := range 10 {
		node := e.join()
		name := fmt.Sprint("q", round)
		var jobs []*store.Enqueue
		for i := range 1 + round*8 {
			jobs = append(jobs, e.job(queue(name), priority(1+i%3)))
		}
		batch := e.starting(node, append(jobs, e.job(queue(name), kind("bill")), e.job(queue(name), kind("push"), delay(time.Hour)))...)
		batch.Enqueues[len(jobs)].Start = false
		copies := make([]*store.Batch, senders)
		for i := range copies {
			copies[i] = faults.Copy(batch)
		}
		e.together(senders, func(i int) error { return e.tryStart(copies[i]) })
		var inserted tally
		for _, sent := range copies {
			e.equal("started", sent.Start.Claimed, copies[0].Start.Claimed)
			for _, q := range sent.Enqueues {
				if !q.Result.Existing {
					inserted.add(q.Job.ID)
				}
			}
		}
		e.wantOnce("inserted", &inserted, idsOf(batch.Enqueues))
		runs := copies[0].Start.Claimed
		e.wantIDs("started", claimedIDs(runs), idsOf(jobs)...)
		e.equal("a repeated claim", e.repeatedClaim(batch), runs)
		e.claimOne(node, batch.Enqueues[len(jobs)].Job.ID)
		ends := &store.Batch{}
		for _, run := range runs {
			ends.Outcomes = append(ends.Outcomes, outcome(run, store.Completed))
		}
		e.apply(ends)
		for _, o := range ends.Outcomes {
			if o.Err != nil {
				e.Fatalf("outcome: %v", o.Err)
			}
		}
	}
}

// raceStartClaims: each batch ends what the one before has started, as an engine's does, and some of its answers are lost. Claimers of the
// same nodes take what could not start.
func raceStartClaims(e *env) {
	const nodes, batches, size = 3, 12, 8
	members := make([]int64, nodes)
	for i := range members {
		members[i] = e.join()
	}
	var made, taken, ended tally
	end := func(batch *store.Batch) error {
		for _, o := range batch.Outcomes {
			if o.Err != nil {
				return fmt.Errorf("outcome: %w", o.Err)
			}
			ended.add(o.Lease.Job)
		}
		return nil
	}
	start := func(node int64, worker int) error {
		var runs []store.Claimed
		for n := range batches + 1 {
			batch := e.starting(node)
			if n < batches {
				var jobs []*store.Enqueue
				for i := range size {
					jobs = append(jobs, e.job(queue(fmt.Sprint("q", (worker+i)%2)), kind([]string{"send", "push"}[i%2])))
				}
				batch = e.starting(node, jobs...)
				jobs[n%size].Start = false
			}
			for _, run := range runs {
				batch.Outcomes = append(batch.Outcomes, outcome(run, store.Completed))
			}
			made.add(idsOf(batch.Enqueues)...)
			if err := e.tryStart(batch); err != nil {
				return err
			}
			if err := end(batch); err != nil {
				return err
			}
			if runs = batch.Start.Claimed; n%3 == 0 && n < batches {
				again := faults.Copy(batch)
				for _, o := range again.Outcomes {
					o.Repeat = true
				}
				if err := e.tryStart(again); err != nil {
					return err
				}
				if diff := difference(runs, again.Start.Claimed); diff != "" {
					return fmt.Errorf("the repeated batch differs (-first +second):\n%s", diff)
				}
			}
			taken.add(claimedIDs(runs)...)
		}
		return nil
	}
	claim := func(node int64) error {
		for range batches {
			runs, err := e.store.Claim(e.ctx, e.demand(node, 5))
			if err != nil {
				return fmt.Errorf("Claim: %w", err)
			}
			taken.add(claimedIDs(runs)...)
			batch := &store.Batch{}
			for _, run := range runs {
				batch.Outcomes = append(batch.Outcomes, outcome(run, store.Completed))
			}
			if err := e.tryNow(e.ctx, batch); err != nil {
				return err
			}
			if err := end(batch); err != nil {
				return err
			}
		}
		return nil
	}
	e.together(2*nodes, func(i int) error {
		if i < nodes {
			return start(members[i], i)
		}
		return claim(members[i-nodes])
	})
	for node := e.join(); ; {
		runs := e.claim(node, 100)
		if len(runs) == 0 {
			break
		}
		taken.add(claimedIDs(runs)...)
		for _, run := range runs {
			e.end(run, store.Completed)
			ended.add(run.Job.ID)
		}
	}
	var ids []store.ID
	for id := range made.seen {
		ids = append(ids, id)
	}
	if len(ids) != nodes*batches*size {
		e.Fatalf("made %d jobs", len(ids))
	}
	e.wantOnce("started or claimed", &taken, ids)
	e.wantOnce("ended", &ended, ids)
	if running := e.listIDs(store.Filter{States: []store.State{store.Running}}); len(running) != 0 {
		e.Fatalf("%d jobs still run", len(running))
	}
}

// waitFor waits until so many jobs were seen.
func (t *tally) waitFor(n int) {
	for {
		t.mu.Lock()
		seen := len(t.seen)
		t.mu.Unlock()
		if seen >= n {
			return
		}
		runtime.Gosched()
	}
}

// startSome starts 16 jobs on a node that is about to end, in 8 batches of which each ends what the one before has started, and notes what
// was made and what was ended.
func (e *env) startSome(node int64, name string, made, ended *tally) error {
	var runs []store.Claimed
	for range 8 {
		batch := e.starting(node, e.job(queue(name), attempts(100)), e.job(queue(name), attempts(100), kind("push")))
		for _, run := range runs[:min(1, len(runs))] {
			batch.Outcomes = append(batch.Outcomes, outcome(run, store.Completed))
		}
		made.add(idsOf(batch.Enqueues)...)
		if err := e.tryStart(batch); err != nil {
			return err
		}
		for _, o := range batch.Outcomes {
			if o.Err == nil {
				ended.add(o.Lease.Job)
			} else if !errors.Is(o.Err, store.ErrLeaseLost) {
				return fmt.Errorf("outcome: %w", o.Err)
			}
		}
		runs = batch.Start.Claimed
	}
	return nil
}

// wantAllThere checks that every job that was made is there, that those that were ended are completed, and that nothing runs.
func (e *env) wantAllThere(made, ended *tally) {
	e.Helper()
	records := e.list(store.Filter{}, 100)
	if len(records) != len(made.seen) {
		e.Fatalf("NoLoss: %d jobs were enqueued, %d are there", len(made.seen), len(records))
	}
	for _, r := range records {
		done := ended.seen[r.ID] == 1
		if ended.seen[r.ID] > 1 || done != (r.State == store.Completed) || r.State == store.Running {
			e.Fatalf("NoLoss: job %v is %v, and was ended %d times", r.ID, r.State, ended.seen[r.ID])
		}
	}
}

// raceStartRescue: what is started on a node that is declared dead in the same moment is rescued, or waits.
func raceStartRescue(e *env) {
	var made, ended tally
	for round := range 4 {
		node, before := e.join(), len(made.seen)
		e.clock.Advance(deadAfter + time.Second)
		params := e.rescueParams()
		rescued := map[store.ID]bool{}
		e.together(3, func(i int) error {
			if i > 0 {
				return e.startSome(node, fmt.Sprint("q", round, i), &made, &ended)
			}
			made.waitFor(before + round*7)
			some, err := e.store.Rescue(e.ctx, params)
			for _, r := range some {
				rescued[r.Job] = true
			}
			return err
		})
		for _, r := range e.rescue() {
			if rescued[r.Job] {
				e.Fatalf("job %v was rescued twice", r.Job)
			}
			rescued[r.Job] = true
		}
		e.wantAllThere(&made, &ended)
		e.wantWaiting(e.starting(node, e.made(&made, queue("late"))))
		for id := range rescued {
			if r := e.get(id); r.State != store.Retryable || r.Attempt != 1 || len(r.Attempts) != 1 || r.LeaseNumber != 1 {
				e.Fatalf("the rescued job: %+v", r)
			}
		}
		for _, r := range e.list(store.Filter{States: []store.State{store.Available}}, 100) {
			if r.LeaseNumber != 0 || r.Attempt != 0 {
				e.Fatalf("a job that waits, and has not started: %+v", r)
			}
		}
	}
	e.wantClaimable(&made, &ended)
}

// made is a job that is noted.
func (e *env) made(made *tally, change ...func(*store.Enqueue)) *store.Enqueue {
	q := e.job(change...)
	made.add(q.Job.ID)
	return q
}

// wantClaimable checks that all that was made and not ended can be claimed, once.
func (e *env) wantClaimable(made, ended *tally) {
	e.Helper()
	e.clock.Advance(time.Hour)
	var left []store.ID
	for id := range made.seen {
		if ended.seen[id] == 0 {
			left = append(left, id)
		}
	}
	node := e.join()
	var claimed []store.ID
	for {
		runs := e.claim(node, 100)
		if len(runs) == 0 {
			break
		}
		claimed = append(claimed, claimedIDs(runs)...)
	}
	e.wantSameIDs("claimed", claimed, left...)
}

// raceStartLeave: when a node has left, nothing runs on it, and nothing starts.
func raceStartLeave(e *env) {
	var made, ended tally
	for round := range 4 {
		node, before := e.join(), len(made.seen)
		e.together(3, func(i int) error {
			if i > 0 {
				return e.startSome(node, fmt.Sprint("q", round, i), &made, &ended)
			}
			made.waitFor(before + round*7)
			return e.store.Leave(e.ctx, node)
		})
		e.wantAllThere(&made, &ended)
		e.wantWaiting(e.starting(node, e.made(&made, queue("late"))))
	}
	for _, r := range e.list(store.Filter{}, 100) {
		if slices.ContainsFunc(r.Attempts, func(a store.Attempt) bool { return a.Reason != store.ReasonReleased }) {
			e.Fatalf("a job that was given back: %+v", r)
		}
	}
	e.wantClaimable(&made, &ended)
}

// raceStartLeaveLarge: writing the batch takes longer than the node's leave, which must not overtake it.
func raceStartLeaveLarge(e *env) {
	const size = 600
	var made, ended tally
	for round := range 6 {
		node := e.join()
		var jobs []*store.Enqueue
		for range size {
			jobs = append(jobs, e.job(queue(fmt.Sprint("q", round))))
		}
		made.add(idsOf(jobs)...)
		batch := e.starting(node, jobs...)
		e.together(2, func(i int) error {
			if i == 0 {
				return e.tryStart(batch)
			}
			for range round * 200 {
				runtime.Gosched()
			}
			return e.store.Leave(e.ctx, node)
		})
		if running := e.listIDs(store.Filter{States: []store.State{store.Running}}); len(running) != 0 {
			e.Fatalf("%d jobs run on a node that left", len(running))
		}
	}
	e.wantAllThere(&made, &ended)
}
