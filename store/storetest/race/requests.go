package race

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/crowd"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// What is said of a node or asked of a job while that gives another sign of life, or goes somewhere
// else.
var raceRequestsTests = env.Tests{
	"OneOwner_a_node_beats_while_it_is_declared_dead":             raceBeatRescue,
	"what_is_asked_of_a_node_while_it_is_declared_dead":           raceAskRescue,
	"those_who_ask_one_node_agree_on_its_mode":                    raceAsk,
	"CancelArrives_at_jobs_that_remember_while_they_are_put_back": raceCancelPutBack,
	"CancelArrives_at_jobs_that_remember_while_they_are_woken":    raceCancelWake,
}

// raceBeatRescue: either the beat is a sign of life, and the node lives, or it is dead, and is told
// so.
func raceBeatRescue(e *env.Env) {
	lived, died := 0, 0
	for round := range 24 {
		run := e.Started(env.Attempts(100))
		node := run.Lease.Node
		seen := e.LastBeat(node)
		e.Clock.Advance(time.Second)
		var rescued []store.RescuedJob
		var beaten error
		crowd.Together(e, 2, func(i int) error {
			if (i+round)%2 == 0 {
				_, beaten = e.Store.Beat(e.Ctx, store.BeatParams{Node: node})
				return nil
			}
			some, err := e.Store.Rescue(e.Ctx, store.RescueParams{Dead: []store.NodeBeat{seen}})
			rescued = some.Jobs
			return err
		})
		switch {
		case beaten == nil:
			lived++
			if len(rescued) != 0 {
				e.Fatalf("the node has beaten, and %+v was rescued", rescued)
			}
			e.Beat(node)
			e.End(run, store.Completed)
			e.Leave(node)
		case errors.Is(beaten, store.ErrNodeDead):
			died++
			rescued = append(rescued, e.RescueWith(store.RescueParams{})...)
			if len(rescued) != 1 || rescued[0].Job != run.Job.ID {
				e.Fatalf("the node is dead, and %+v was rescued", rescued)
			}
			e.WantLost(run)
			e.Terminate(run.Job.ID)
		default:
			e.Fatalf("Beat: %v", beaten)
		}
	}
	e.Logf("of %d nodes %d lived", lived+died, lived)
}

// raceAskRescue: either the wish was in time, and the process has it when it joins again, or it is
// refused, and the process does not have it.
func raceAskRescue(e *env.Env) {
	inTime, late := 0, 0
	for round := range 24 {
		node := e.Join()
		seen := e.LastBeat(node)
		e.Clock.Advance(time.Second)
		var asked error
		again := int64(0)
		crowd.Together(e, 2, func(i int) error {
			if (i+round)%2 == 0 {
				asked = e.Store.AskNode(e.Ctx, store.AskNodeParams{Node: node, Mode: store.NodeQuiet, Actor: "ada"})
				return nil
			}
			rescued, err := e.Store.Rescue(e.Ctx, store.RescueParams{Dead: []store.NodeBeat{seen}})
			if err != nil || len(rescued.Died) == 0 { // it is being asked at this moment, and lives
				return err
			}
			again, err = e.Store.Join(e.Ctx, store.NodeInfo{Name: "again", Was: node})
			return err
		})
		if again == 0 {
			again = node
		}
		mode := e.Beat(again).Mode
		switch {
		case asked == nil && mode == store.NodeQuiet:
			inTime++
		case errors.Is(asked, store.ErrNodeDead) && mode == store.NodeRuns && again != node:
			late++
		default:
			e.Fatalf("the wish: %v; node %d, which was %d, is %v", asked, again, node, mode)
		}
		e.Leave(again)
	}
	e.Logf("of %d wishes %d came in time", inTime+late, inTime)
}

// raceAsk: those who ask for less than a drain are refused once it was asked for, and a drain is
// final.
func raceAsk(e *env.Env) {
	const n = 4
	for range 12 {
		node := e.Join()
		var errs [n]error
		crowd.Together(e, n, func(i int) error {
			mode := store.NodeQuiet
			if i == n-1 {
				mode = store.NodeDrains
			}
			for range 3 {
				errs[i] = e.Store.AskNode(e.Ctx, store.AskNodeParams{Node: node, Mode: mode})
				if err := errs[i]; err != nil && (mode == store.NodeDrains || !errors.Is(err, store.ErrConflict)) {
					return fmt.Errorf("AskNode: %w", err)
				}
			}
			return nil
		})
		if mode := e.Beat(node).Mode; mode != store.NodeDrains {
			e.Fatalf("the node is %v", mode)
		}
		e.Leave(node)
	}
}

// raceCancelPutBack: the second transition sees the first. The sweep does not mend it, so a job
// that were parked with a request that no run saw would sleep for ever. Those who ask come from the
// front, and those who put back from the other end, so that they meet somewhere.
func raceCancelPutBack(e *env.Env) {
	const rounds, n = 5, 40
	for round := range rounds {
		runs := crowd.Remembering(e, n)
		backwards := slices.Clone(runs)
		slices.Reverse(backwards)
		crowd.Together(e, 2, func(i int) error {
			if (i+round)%2 == 0 {
				return cancelEach(e, runs)
			}
			return putBackEach(e, backwards)
		})
		e.Sweep()
		again := e.ClaimRuns(runs[0].Lease.Node)
		for _, run := range runs {
			if next, claimed := again[run.Job.ID]; !claimed || !next.CancelRequested || next.CancelReason != "not needed" {
				e.Fatalf("a job was claimed: %v, and told to stop: %v; it is %v", claimed, next.CancelRequested, e.Get(run.Job.ID).State)
			}
		}
	}
}

// cancelEach asks to cancel the jobs of runs, one by one. None of them can be ended at once.
func cancelEach(e *env.Env, runs []store.Claimed) error {
	for _, run := range runs {
		params := store.CancelParams{Jobs: []store.ID{run.Job.ID}, Reason: "not needed", Actor: "ada"}
		results, _, err := e.Store.Cancel(e.Ctx, params)
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
func putBackEach(e *env.Env, runs []store.Claimed) error {
	n := 0
	for part := range slices.Chunk(runs, 2) {
		batch := &store.Batch{}
		for _, run := range part {
			state := []store.State{store.Waiting, store.Retryable, store.Waiting, store.Scheduled}[n%4]
			batch.Outcomes = append(batch.Outcomes, env.Outcome(run, state, func(o *store.Outcome) {
				if o.Durable = true; o.State == store.Waiting {
					o.Wait = []*store.Wait{env.ForSignals(), {Held: true}}[n%4/2]
				}
			}))
			n++
		}
		if err := crowd.EndNow(e, batch); err != nil {
			return err
		}
	}
	return nil
}

// raceCancelWake: the same of jobs that wait, and are promoted, woken and claimed meanwhile.
func raceCancelWake(e *env.Env) {
	const n = 48
	runs := crowd.Remembering(e, n)
	node := runs[0].Lease.Node
	batch := &store.Batch{}
	for i, run := range runs {
		wait := env.ForSignals()
		if i%2 == 0 {
			wait.Until = e.Clock.Now().Add(time.Second)
		}
		batch.Outcomes = append(batch.Outcomes, env.Outcome(run, store.Waiting, func(o *store.Outcome) { o.Durable, o.Wait = true, wait }))
	}
	e.Apply(batch)
	e.Clock.Advance(time.Second)
	told := map[store.ID]bool{}
	crowd.Together(e, 4, func(i int) error {
		for part := range slices.Chunk(runs, 4) {
			var err error
			switch i {
			case 0:
				_, _, err = e.Store.Cancel(e.Ctx, store.CancelParams{Jobs: env.ClaimedIDs(part), Reason: "not needed", Actor: "ada"})
			case 1:
				_, err = e.Store.Promote(e.Ctx, 3)
			case 2:
				sends := crowd.Signals(part)
				err = crowd.TryNow(e, sends)
			case 3:
				var some []store.Claimed
				some, err = e.Store.Claim(e.Ctx, e.Demand(node, 3))
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
	e.Sweep()
	for _, c := range e.Beat(node).Cancels {
		told[c.Job] = true
	}
	for id, run := range e.ClaimRuns(node) {
		told[id] = run.CancelRequested
	}
	for i, run := range runs {
		if !told[run.Job.ID] {
			e.Fatalf("nobody is told that job %d is to be cancelled; it is %v", i, e.Get(run.Job.ID).State)
		}
	}
}
