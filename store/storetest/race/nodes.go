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

// Nodes that join, leave, die and are asked to stop while others work with their jobs.
var raceNodesTests = env.Tests{
	"CancelArrives_while_jobs_are_claimed":                  raceCancelClaim,
	"CancelArrives_while_jobs_end":                          raceCancelEnd,
	"CancelArrives_while_nodes_leave_and_die":               raceCancelGone,
	"OneOwner_two_leaders_rescue_each_job_once":             raceRescue,
	"OneOwner_a_dying_node_writes_or_is_rescued_never_both": raceRescueEnd,
	"OneOwner_a_node_claims_while_it_is_declared_dead":      raceRescueClaim,
	"NoLoss_a_node_leaves_while_it_claims":                  raceLeave,
	"OneOwner_many_nodes_join_and_stand":                    raceJoin,
}

// raceCancelClaim: a job is cancelled before it runs, or it runs and its node is told.
func raceCancelClaim(e *env.Env) {
	const n = 40
	ids := env.IDsOf(e.Many(n))
	node := e.Join()
	answers := map[store.ID]store.State{}
	var claimed crowd.Tally
	crowd.Together(e, 2, func(i int) error {
		for at := 0; at < n; at += 5 {
			if i == 0 {
				runs, err := crowd.ClaimNow(e, e.Demand(node, 5))
				if err != nil {
					return err
				}
				claimed.Add(env.ClaimedIDs(runs)...)
				continue
			}
			results, err := crowd.CancelNow(e, ids[at:at+5])
			if err != nil {
				return err
			}
			for _, r := range results {
				answers[r.Job] = r.State
			}
		}
		return nil
	})
	e.Sweep()
	told := map[store.ID]bool{}
	for _, c := range e.Beat(node).Cancels {
		told[c.Job] = true
	}
	for _, id := range ids {
		state := e.Get(id).State
		switch {
		case claimed.Seen[id] > 1:
			e.Fatalf("job %v was claimed %d times", id, claimed.Seen[id])
		case answers[id] == store.Cancelled && (claimed.Seen[id] != 0 || state != store.Cancelled || told[id]):
			e.Fatalf("job %v was cancelled, and claimed %d times; it is %v", id, claimed.Seen[id], state)
		case answers[id] == store.Running && (claimed.Seen[id] != 1 || state != store.Running || !told[id]):
			e.Fatalf("job %v was asked to stop, claimed %d times, told %v; it is %v", id, claimed.Seen[id], told[id], state)
		case answers[id] != store.Cancelled && answers[id] != store.Running:
			e.Fatalf("cancel of job %v answered %v", id, answers[id])
		}
	}
}

// raceCancelEnd: whatever a cancel was answered comes true, at the latest with the sweep, and an
// outcome that was accepted stays.
func raceCancelEnd(e *env.Env) {
	const n = 40
	runs := e.Running(n)
	answers := map[store.ID]store.State{}
	finals := map[store.ID]store.State{}
	crowd.Together(e, 2, func(i int) error {
		for part := range slices.Chunk(runs, 4) {
			if i == 0 {
				results, err := crowd.CancelNow(e, env.ClaimedIDs(part))
				if err != nil {
					return err
				}
				for _, r := range results {
					answers[r.Job] = r.State
				}
				continue
			}
			batch := &store.Batch{}
			for j, run := range part {
				batch.Outcomes = append(batch.Outcomes, env.Outcome(run, []store.State{store.Completed, store.Retryable}[j%2]))
			}
			if err := crowd.TryNow(e, batch); err != nil {
				return err
			}
			for _, o := range batch.Outcomes {
				if o.Err != nil {
					return fmt.Errorf("outcome: %w", o.Err)
				}
				finals[o.Lease.Job] = o.Final
			}
		}
		return nil
	})
	e.Sweep()
	for i, run := range runs {
		id := run.Job.ID
		record := e.Get(id)
		want := []store.State{store.Completed, store.Cancelled}[i%2]
		answer := answers[id]
		fits := answer == store.Running || answer == want
		if record.State != want || !fits || record.CancelRequested {
			e.Fatalf("job %v was to be %v and is %v; the cancel answered %v, the outcome %v", id, want, record.State, answer, finals[id])
		}
		if i%2 == 0 && finals[id] != store.Completed {
			e.Fatalf("an outcome became %v", finals[id])
		}
	}
	if n := e.Sweep(); n != 0 {
		e.Fatalf("a second sweep applied %d requests", n)
	}
}

func raceRescue(e *env.Env) {
	const n = 150
	jobs := e.Many(n)
	for range 3 {
		e.ClaimWith(e.Demand(e.Join(), n/3))
	}
	e.Clock.Advance(env.DeadAfter + time.Second)
	dead := e.RescueParams().Dead
	var rescued crowd.Tally
	crowd.Together(e, 4, func(i int) error {
		params := store.RescueParams{Dead: dead, Limit: 1 + i}
		for quiet := 0; quiet < 3; quiet++ {
			some, err := e.Store.Rescue(e.Ctx, params)
			if err != nil {
				return fmt.Errorf("Rescue: %w", err)
			}
			for _, r := range some.Jobs {
				rescued.Add(r.Job)
				quiet = 0
			}
		}
		return nil
	})
	// One leader may pass over what another has in hand.
	rescued.Add(env.RescuedIDs(e.Rescue())...)
	crowd.WantOnce(e, "rescued", &rescued, env.IDsOf(jobs))
	for _, id := range env.IDsOf(jobs) {
		if record := e.Get(id); record.State != store.Retryable || record.Attempt != 1 || len(record.Attempts) != 1 {
			e.Fatalf("record: %+v", record)
		}
	}
}

// raceRescueEnd: the node is slow, not dead, and ends its runs while it is declared dead.
func raceRescueEnd(e *env.Env) {
	const n = 60
	ids := env.IDsOf(e.Many(n))
	runs := e.Claim(e.Join(), n)
	e.Clock.Advance(env.DeadAfter + time.Second)
	params := e.RescueParams()
	var moved crowd.Tally
	var completed crowd.Tally
	crowd.Together(e, 2, func(i int) error {
		if i == 0 {
			some, err := e.Store.Rescue(e.Ctx, params)
			if err != nil {
				return fmt.Errorf("Rescue: %w", err)
			}
			moved.Add(env.RescuedIDs(some.Jobs)...)
			return nil
		}
		for part := range slices.Chunk(runs, 5) {
			batch := &store.Batch{Outcomes: crowd.Completions(part)}
			if err := crowd.TryNow(e, batch); err != nil {
				return err
			}
			for _, o := range batch.Outcomes {
				if o.Err == nil {
					moved.Add(o.Lease.Job)
					completed.Add(o.Lease.Job)
				} else if !errors.Is(o.Err, store.ErrLeaseLost) {
					return fmt.Errorf("outcome: %w", o.Err)
				}
			}
		}
		return nil
	})
	moved.Add(env.RescuedIDs(e.Rescue())...)
	crowd.WantOnce(e, "completed or rescued", &moved, ids)
	for _, id := range ids {
		want := store.Retryable
		if completed.Seen[id] == 1 {
			want = store.Completed
		}
		e.WantState(id, want)
	}
}

func raceLeave(e *env.Env) {
	const n = 60
	ids := env.IDsOf(e.Many(n))
	for range 5 {
		node := e.Join()
		crowd.Together(e, 3, func(i int) error {
			if i == 2 {
				_, err := e.Store.Leave(e.Ctx, node)
				return err
			}
			for range 4 {
				_, err := e.Store.Claim(e.Ctx, e.Demand(node, 3))
				if errors.Is(err, store.ErrNodeDead) {
					return nil
				}
				if err != nil {
					return fmt.Errorf("Claim: %w", err)
				}
			}
			return nil
		})
		if running := e.ListIDs(store.Filter{States: []store.State{store.Running}}); len(running) != 0 {
			e.Fatalf("%d jobs run on a node that left", len(running))
		}
	}
	e.WantSameIDs("claimed", env.ClaimedIDs(e.Claim(e.Join(), 2*n)), ids...)
}

func raceJoin(e *env.Env) {
	const n = 8
	ids, led := make([]int64, n), make([]int, n)
	crowd.Together(e, n, func(i int) (err error) {
		if ids[i], err = e.Store.Join(e.Ctx, store.NodeInfo{Name: fmt.Sprint("n", i)}); err != nil {
			return fmt.Errorf("Join: %w", err)
		}
		for range 5 {
			beat, err := e.Store.Beat(e.Ctx, store.BeatParams{Node: ids[i], LeaderTTL: env.LeaderTTL})
			if err != nil {
				return fmt.Errorf("Beat: %w", err)
			}
			if beat.Leader {
				led[i]++
			}
		}
		return nil
	})
	slices.Sort(ids)
	if len(slices.Compact(ids)) != n {
		e.Fatalf("node ids: %v", ids)
	}
	// The first that stood leads, from its first beat to its last; the others never did.
	slices.Sort(led)
	if led[n-1] != 5 || led[n-2] != 0 {
		e.Fatalf("the nodes led for %v beats", led)
	}
}

// raceRescueClaim: a node that is declared dead while it claims either gets nothing, or what it
// gets is rescued.
func raceRescueClaim(e *env.Env) {
	const n = 80
	e.Many(n, env.Attempts(100))
	for range 4 {
		node := e.Join()
		e.Clock.Advance(env.DeadAfter + time.Second)
		params := e.RescueParams()
		crowd.Together(e, 3, func(i int) error {
			if i == 0 {
				_, err := e.Store.Rescue(e.Ctx, params)
				return err
			}
			for range 6 {
				_, err := e.Store.Claim(e.Ctx, e.Demand(node, 3))
				if errors.Is(err, store.ErrNodeDead) {
					return nil
				}
				if err != nil {
					return fmt.Errorf("Claim: %w", err)
				}
			}
			return nil
		})
		// A rescue may pass over a node that is just claiming; the next one finds it.
		e.Rescue()
		_, err := e.Store.Claim(e.Ctx, e.Demand(node, 1))
		e.WantErr("Claim of a dead node", err, store.ErrNodeDead)
		if running := e.ListIDs(store.Filter{States: []store.State{store.Running}}); len(running) != 0 {
			e.Fatalf("NoLoss: %d jobs run on a dead node", len(running))
		}
		e.Clock.Advance(env.RescueBackoff)
	}
	if got := len(e.Claim(e.Join(), 2*n)); got != n {
		e.Fatalf("claimed %d jobs, want %d", got, n)
	}
}

// raceCancelGone: a request may just miss the run when its node ends; the sweep applies it then.
func raceCancelGone(e *env.Env) {
	const n = 40
	for round := range 4 {
		ids := env.IDsOf(e.Many(n))
		node := e.Join()
		e.Claim(node, n)
		if round%2 == 1 {
			e.Clock.Advance(env.DeadAfter + time.Second)
		}
		params := e.RescueParams()
		crowd.Together(e, 3, func(i int) error {
			switch {
			case i == 0 && round%2 == 0:
				_, err := e.Store.Leave(e.Ctx, node)
				return err
			case i == 0:
				_, err := e.Store.Rescue(e.Ctx, params)
				return err
			case i == 1:
				for range 5 {
					if _, err := e.Store.SweepCancels(e.Ctx); err != nil {
						return fmt.Errorf("SweepCancels: %w", err)
					}
				}
				return nil
			}
			for part := range slices.Chunk(ids, 4) {
				results, err := crowd.CancelNow(e, part)
				if err != nil {
					return err
				}
				for _, r := range results {
					// An available one was released in this moment: the sweep applies the request.
					if r.Err != nil || r.State != store.Running && r.State != store.Cancelled && r.State != store.Available {
						return fmt.Errorf("cancel answered %+v", r)
					}
				}
			}
			return nil
		})
		e.Rescue()
		e.Sweep()
		for _, id := range ids {
			e.WantState(id, store.Cancelled)
		}
	}
}
