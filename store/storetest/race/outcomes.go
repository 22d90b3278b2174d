package race

import (
	"errors"
	"math/rand/v2"
	"slices"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/crowd"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// raceOutcomes: the handler returns while its node's lease keeper gives the job back, and a copy of
// each is under way because its answer was late. One of the two is applied; its copy is told so.
func raceOutcomes(e *env.Env) {
	const n = 20
	runs := e.Running(n)
	states := []store.State{store.Completed, store.Retryable, store.Completed, store.Retryable}
	outcomes := make([][]*store.Outcome, len(states))
	for i, state := range states {
		for _, run := range runs {
			outcomes[i] = append(outcomes[i], env.Outcome(run, state, func(o *store.Outcome) { o.Error = state.String() }))
		}
		random := rand.New(rand.NewPCG(uint64(i), 2))
		random.Shuffle(n, func(a, b int) { outcomes[i][a], outcomes[i][b] = outcomes[i][b], outcomes[i][a] })
	}
	crowd.Together(e, len(states), func(i int) error {
		for half := range slices.Chunk(outcomes[i], n/4) {
			if err := crowd.TryNow(e, &store.Batch{Outcomes: half}); err != nil {
				return err
			}
		}
		return nil
	})
	accepted := map[store.ID]store.State{}
	for _, list := range outcomes {
		for _, o := range list {
			if o.Err == nil {
				if _, twice := accepted[o.Lease.Job]; twice {
					e.Fatalf("two outcomes of job %v were accepted", o.Lease.Job)
				}
				accepted[o.Lease.Job] = o.Final
			} else if !errors.Is(o.Err, store.ErrLeaseLost) {
				e.Fatalf("outcome: %v", o.Err)
			}
		}
	}
	for _, run := range runs {
		record := e.Get(run.Job.ID)
		if want, ok := accepted[run.Job.ID]; !ok || record.State != want {
			e.Fatalf("job is %v, accepted was %v", record.State, want)
		}
		if (record.State == store.Retryable) != (len(record.Attempts) == 1) {
			e.Fatalf("%v job has the attempts %+v", record.State, record.Attempts)
		}
	}
}

// raceRepeatedOutcome: an answer was lost, or was only late, and the outcome is sent again by
// several at once. The first call applies it, and all are told so.
func raceRepeatedOutcome(e *env.Env) {
	const senders = 4
	states := []store.State{store.Completed, store.Retryable, store.Failed, store.Scheduled, store.Available, store.Waiting}
	for round := range 5 {
		runs := withKeys(e, 4*len(states))
		sent := make([][]*store.Outcome, senders)
		for i, run := range runs {
			first := env.Outcome(run, states[i%len(states)], func(o *store.Outcome) {
				o.Durable = o.State == store.Waiting
				o.Delay *= 1000 // it does not come back in the middle
			})
			for n := range senders {
				o := *first
				o.Repeat = n > 0 || round%2 == 0
				sent[n] = append(sent[n], &o)
			}
		}
		crowd.Together(e, senders, func(n int) error {
			for part := range slices.Chunk(sent[n], 1+(n+round)%len(runs)) {
				if err := crowd.TryNow(e, &store.Batch{Outcomes: part}); err != nil {
					return err
				}
			}
			return nil
		})
		for i, run := range runs {
			state := states[i%len(states)]
			for n := range senders {
				o := sent[n][i]
				late := !o.Repeat && errors.Is(o.Err, store.ErrLeaseLost) // a repetition was first
				if !late && (o.Err != nil || o.Final != state) {
					e.Fatalf("outcome %v, sent %d times, was answered with %v, %v", state, senders, o.Final, o.Err)
				}
			}
			record := e.Get(run.Job.ID)
			want := 1
			if state == store.Completed || state == store.Waiting {
				want = 0
			}
			if record.State != state || len(record.Attempts) != want {
				e.Fatalf("job is %v, want %v, with %d attempts", record.State, state, len(record.Attempts))
			}
		}
		e.Terminate(env.ClaimedIDs(runs)...)
	}
}

// withKeys are runs of jobs some of which have a unique key, or an ordering key.
func withKeys(e *env.Env, n int) []store.Claimed {
	e.Helper()
	var jobs []*store.Enqueue
	for i := range n {
		q := e.Job(env.Attempts(9))
		if i%3 == 0 {
			env.Unique(q.Job.ID.String())(q)
		}
		if i%4 == 0 {
			env.Ordered(q.Job.ID.String())(q)
		}
		jobs = append(jobs, q)
	}
	e.Enqueue(jobs...)
	runs := e.Claim(e.Join(), n)
	if len(runs) != n {
		e.Fatalf("claimed %d jobs, want %d", len(runs), n)
	}
	return runs
}
