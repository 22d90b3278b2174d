package storetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// What is said of a node or asked of a job while that gives another sign of life, or goes somewhere
// else.
var raceRequestsTests = []test{
	{"OneOwner_a_node_beats_while_it_is_declared_dead", raceBeatRescue},
	{"CancelArrives_at_jobs_that_remember_while_they_are_put_back", raceCancelPutBack},
	{"CancelArrives_at_jobs_that_remember_while_they_are_woken", raceCancelWake},
}

// raceBeatRescue: either the beat is a sign of life, and the node lives, or it is dead, and is told
// so.
func raceBeatRescue(e *env) {
	lived, died := 0, 0
	for round := range 24 {
		run := e.started(attempts(100))
		node := run.Lease.Node
		seen := e.lastBeat(node)
		e.clock.Advance(time.Second)
		var rescued []store.Rescued
		var beaten error
		e.together(2, func(i int) error {
			if (i+round)%2 == 0 {
				_, beaten = e.store.Beat(e.ctx, store.BeatParams{Node: node})
				return nil
			}
			some, err := e.store.Rescue(e.ctx, store.RescueParams{Dead: []store.NodeBeat{seen}})
			rescued = some
			return err
		})
		switch {
		case beaten == nil:
			lived++
			if len(rescued) != 0 {
				e.Fatalf("the node has beaten, and %+v was rescued", rescued)
			}
			e.beat(node)
			e.end(run, store.Completed)
			e.leave(node)
		case errors.Is(beaten, store.ErrNodeDead):
			died++
			rescued = append(rescued, e.rescueWith(store.RescueParams{})...)
			if len(rescued) != 1 || rescued[0].Job != run.Job.ID {
				e.Fatalf("the node is dead, and %+v was rescued", rescued)
			}
			e.wantLost(run)
			e.terminate(run.Job.ID)
		default:
			e.Fatalf("Beat: %v", beaten)
		}
	}
	e.Logf("of %d nodes %d lived", lived+died, lived)
}

// remembering makes n runs of jobs that remember, on one node.
func (e *env) remembering(n int) []store.Claimed {
	e.Helper()
	for range n {
		e.add(attempts(100))
	}
	runs := e.claim(e.join(), n)
	batch := &store.Batch{}
	for _, run := range runs {
		batch.Appends = append(batch.Appends, &store.Append{Lease: run.Lease, Entries: steps(1, 1)})
	}
	e.apply(batch)
	return runs
}

// raceCancelPutBack: whoever comes second sees the other. The sweep does not mend it, so a job that
// were parked with a request that nobody saw would sleep for ever. Those who ask come from the front,
// and those who put back from the other end, so that they meet somewhere.
func raceCancelPutBack(e *env) {
	const rounds, n = 5, 40
	for round := range rounds {
		runs := e.remembering(n)
		backwards := slices.Clone(runs)
		slices.Reverse(backwards)
		e.together(2, func(i int) error {
			if (i+round)%2 == 0 {
				return e.cancelEach(runs)
			}
			return e.putBackEach(backwards)
		})
		e.sweep()
		again := e.claimRuns(runs[0].Lease.Node)
		for _, run := range runs {
			if next, claimed := again[run.Job.ID]; !claimed || !next.CancelRequested || next.CancelReason != "not needed" {
				e.Fatalf("a job was claimed: %v, and told to stop: %v; it is %v", claimed, next.CancelRequested, e.get(run.Job.ID).State)
			}
		}
	}
}

// cancelEach asks to cancel the jobs of runs, one by one. None of them can be ended at once.
func (e *env) cancelEach(runs []store.Claimed) error {
	for _, run := range runs {
		params := store.CancelParams{Jobs: []store.ID{run.Job.ID}, Reason: "not needed", Actor: "ada"}
		results, err := e.store.Cancel(e.ctx, params)
		if err != nil {
			return fmt.Errorf("Cancel: %w", err)
		}
		if r := results[0]; r.Err != nil || r.State != store.Running && r.State != store.Available {
			return fmt.Errorf("cancel answered %+v", r)
		}
	}
	return nil
}

// putBackEach ends runs in all ways in which a job goes on later, two at a time.
func (e *env) putBackEach(runs []store.Claimed) error {
	n := 0
	for part := range slices.Chunk(runs, 2) {
		batch := &store.Batch{}
		for _, run := range part {
			state := []store.State{store.Waiting, store.Retryable, store.Waiting, store.Scheduled}[n%4]
			batch.Outcomes = append(batch.Outcomes, outcome(run, state, func(o *store.Outcome) {
				if o.Durable = true; o.State == store.Waiting {
					o.Wait = []*store.Wait{forSignals(), {Held: true}}[n%4/2]
				}
			}))
			n++
		}
		if err := e.tryNow(e.ctx, batch); err != nil {
			return err
		}
		for _, o := range batch.Outcomes {
			if o.Err != nil {
				return fmt.Errorf("outcome: %w", o.Err)
			}
		}
	}
	return nil
}

// raceCancelWake: the same of jobs that wait, and are promoted, woken and claimed meanwhile.
func raceCancelWake(e *env) {
	const n = 48
	runs := e.remembering(n)
	node := runs[0].Lease.Node
	batch := &store.Batch{}
	for i, run := range runs {
		wait := forSignals()
		if i%2 == 0 {
			wait.Until = e.clock.Now().Add(time.Second)
		}
		batch.Outcomes = append(batch.Outcomes, outcome(run, store.Waiting, func(o *store.Outcome) { o.Durable, o.Wait = true, wait }))
	}
	e.apply(batch)
	e.clock.Advance(time.Second)
	told := map[store.ID]bool{}
	e.together(4, func(i int) error {
		for part := range slices.Chunk(runs, 4) {
			var err error
			switch i {
			case 0:
				_, err = e.store.Cancel(e.ctx, store.CancelParams{Jobs: claimedIDs(part), Reason: "not needed", Actor: "ada"})
			case 1:
				_, err = e.store.Promote(e.ctx, 3)
			case 2:
				sends := &store.Batch{}
				for _, run := range part {
					sends.Sends = append(sends.Sends, &store.Send{Job: run.Job.ID, Message: signal("s")})
				}
				err = e.tryNow(e.ctx, sends)
			case 3:
				var some []store.Claimed
				some, err = e.store.Claim(e.ctx, e.demand(node, 3))
				for _, run := range some {
					told[run.Job.ID] = run.CancelRequested
				}
			}
			if err != nil {
				return fmt.Errorf("operation %d: %w", i, err)
			}
		}
		return nil
	})
	e.sweep()
	for _, c := range e.beat(node).Cancels {
		told[c.Job] = true
	}
	for id, run := range e.claimRuns(node) {
		told[id] = run.CancelRequested
	}
	for i, run := range runs {
		if !told[run.Job.ID] {
			e.Fatalf("nobody is told that job %d is to be cancelled; it is %v", i, e.get(run.Job.ID).State)
		}
	}
}
