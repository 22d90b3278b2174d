package race

import (
	"errors"
	"fmt"
	"sync"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/crowd"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// A node gives up runs that are still at work after all: each either wrote what it says, or was
// given up before, and the job knows which.
var raceGiveUpTests = env.Tests{
	"OneOwner_a_run_ends_or_is_given_up_never_both":              raceGiveUpEnd,
	"Remembered_what_is_written_before_a_run_is_given_up_counts": raceGiveUpAppend,
}

// givenUp are the jobs that were given up while others wrote.
type givenUp struct {
	mu   sync.Mutex
	jobs map[store.ID]int
}

// giveUpEach gives runs up, a few at a time.
func giveUpEach(e *env.Env, runs []store.Claimed) (*givenUp, func() error) {
	g := &givenUp{jobs: map[store.ID]int{}}
	return g, func() error {
		for i := 0; i < len(runs); i += 3 {
			rescued, err := e.Store.Rescue(e.Ctx, store.RescueParams{Lost: env.LeasesOf(runs[i:min(i+3, len(runs))])})
			if err != nil {
				return fmt.Errorf("Rescue of what is given up: %w", err)
			}
			g.mu.Lock()
			for _, id := range env.RescuedIDs(rescued.Jobs) {
				g.jobs[id]++
			}
			g.mu.Unlock()
		}
		return nil
	}
}

func raceGiveUpEnd(e *env.Env) {
	const n = 90
	runs := e.Running(n)
	given, giveUp := giveUpEach(e, runs)
	errs := make([]error, n)
	crowd.Together(e, 4, func(i int) error {
		if i > 1 {
			return giveUp()
		}
		for k := i; k < n; k += 2 {
			o := env.Outcome(runs[k], store.Completed)
			if err := crowd.TryNow(e, crowd.Ending(o)); err != nil {
				return err
			}
			errs[k] = o.Err
		}
		return nil
	})
	for k, run := range runs {
		times, want := 0, store.Completed
		if errors.Is(errs[k], store.ErrLeaseLost) {
			times, want = 1, store.Retryable
		} else if errs[k] != nil {
			e.Fatalf("outcome: %v", errs[k])
		}
		if given.jobs[run.Job.ID] != times {
			e.Fatalf("OneOwner: the outcome says %v, and the job was given up %d times", errs[k], given.jobs[run.Job.ID])
		}
		e.WantState(run.Job.ID, want)
	}
}

// raceGiveUpAppend: what was accepted is in the journal before it is decided what becomes of the
// job; what comes later is refused.
func raceGiveUpAppend(e *env.Env) {
	const n = 90
	runs := e.Running(n, env.Attempts(1))
	given, giveUp := giveUpEach(e, runs)
	errs := make([]error, n)
	crowd.Together(e, 3, func(i int) error {
		if i > 1 {
			return giveUp()
		}
		for k := i; k < n; k += 2 {
			a := &store.Append{Lease: runs[k].Lease, Entries: env.Steps(1, 1)}
			if err := crowd.TryNow(e, &store.Batch{Appends: []*store.Append{a}}); err != nil {
				return err
			}
			errs[k] = a.Err
		}
		return nil
	})
	for k, run := range runs {
		entries, want := 1, store.Retryable
		if errors.Is(errs[k], store.ErrLeaseLost) {
			entries, want = 0, store.Failed
		} else if errs[k] != nil {
			e.Fatalf("append: %v", errs[k])
		}
		if given.jobs[run.Job.ID] != 1 {
			e.Fatalf("the job was given up %d times", given.jobs[run.Job.ID])
		}
		e.WantEntries(run.Job.ID, entries)
		e.WantState(run.Job.ID, want)
	}
}
