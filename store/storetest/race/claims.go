package race

import (
	"fmt"
	"sync/atomic"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/crowd"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

func raceClaims(e *env.Env) {
	const producers, claimers, batches, size = 4, 4, 8, 12
	nodes := crowd.Joined(e, claimers)
	var made, claimed crowd.Tally
	var producing atomic.Int64
	producing.Store(producers)
	crowd.Together(e, producers+claimers, func(i int) error {
		if i < producers {
			defer producing.Add(-1)
			for range batches {
				batch := &store.Batch{}
				for j := range size {
					// All of them need the same queues at the same time, none of which is there
					// yet.
					batch.Enqueues = append(batch.Enqueues,
						e.Job(env.Queue(fmt.Sprintf("q%d", j%5)), env.Priority(1+j%4), env.Kind([]string{"send", "push"}[j%2])))
				}
				if err := crowd.TryNow(e, batch); err != nil {
					return err
				}
				made.Add(env.IDsOf(batch.Enqueues)...)
			}
			return nil
		}
		for {
			last := producing.Load() == 0
			runs, err := crowd.ClaimNow(e, e.Demand(nodes[i-producers], 7))
			if err != nil {
				return err
			}
			claimed.Add(env.ClaimedIDs(runs)...)
			if err := crowd.EndNow(e, &store.Batch{Outcomes: crowd.Completions(runs)}); err != nil {
				return err
			}
			if last && len(runs) == 0 {
				return nil
			}
		}
	})
	// A claimer may find nothing while another one looks at the same jobs; they are there
	// afterwards.
	crowd.FinishRest(e, &claimed)
	if len(made.Seen) != producers*batches*size {
		e.Fatalf("made %d jobs", len(made.Seen))
	}
	crowd.WantOnce(e, "claimed", &claimed, made.IDs())
	if done := e.ListIDs(store.Filter{States: []store.State{store.Completed}}); len(done) != len(made.Seen) {
		e.Fatalf("%d jobs are completed, want %d", len(done), len(made.Seen))
	}
}

// raceRepeatedClaim: a claim whose answer does not come is asked again while the first request is
// still under way, and may overtake it. Reading: a store may then refuse the first request, whose
// answer is not waited for any more, or let it take nothing, or say for a moment that it is
// unavailable; but it may not hand out two batches under one number, for the jobs of one of them
// would be unknown to their node, which lives.
func raceRepeatedClaim(e *env.Env) {
	for range 10 {
		e.Many(6)
		node := e.Join()
		params := e.Demand(node, 3)
		answers := make([][]store.Claimed, 4)
		crowd.Together(e, len(answers), func(i int) error {
			params := params
			params.Repeat = i > 0
			for {
				runs, err := e.Store.Claim(e.Ctx, params)
				if err == nil {
					answers[i] = runs
					return nil
				}
				if params.Repeat && !store.IsRetryable(err) {
					return fmt.Errorf("Claim: %w", err)
				}
				params.Repeat = true
			}
		})
		if len(answers[1]) != 3 {
			e.Fatalf("a repeated claim of 3 jobs has brought %d", len(answers[1]))
		}
		for i, runs := range answers {
			if i > 0 || len(runs) > 0 {
				e.Equal("answer", runs, answers[1])
			}
		}
		if n := len(e.ListIDs(store.Filter{States: []store.State{store.Running}})); n != 3 {
			e.Fatalf("%d jobs run, want 3", n)
		}
		e.Leave(node)
		for _, id := range e.ListIDs(store.Filter{States: []store.State{store.Available}}) {
			e.Cancel(id)
		}
	}
}
