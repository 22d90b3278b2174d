package race

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/crowd"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

// raceReaders: a job moves from one table to the next while it is looked at. It is never in none of
// them, and never in two.
func raceReaders(e *env.Env) {
	const n = 12
	var ids []store.ID
	for i := range n {
		ids = append(ids, e.Add(env.Attempts(1000), env.Queue(fmt.Sprint("q", i%2)), func(q *store.Enqueue) {
			if i%4 == 0 {
				q.Job.OrderingKey = fmt.Sprint("key", i)
			}
		}))
	}
	node := e.Join()
	var moving atomic.Bool
	moving.Store(true)
	crowd.Together(e, 4, func(i int) error {
		if i == 0 {
			defer moving.Store(false)
			for round := range 40 {
				if _, err := e.Store.Promote(e.Ctx, 100); err != nil {
					return fmt.Errorf("Promote: %w", err)
				}
				runs, err := crowd.ClaimNow(e, e.Demand(node, n))
				if err != nil {
					return err
				}
				batch := &store.Batch{}
				for j, run := range runs {
					state := []store.State{store.Retryable, store.Scheduled, store.Available, store.Failed, store.Cancelled}[(round+j)%5]
					batch.Outcomes = append(batch.Outcomes, env.Outcome(run, state, func(o *store.Outcome) { o.Delay = time.Millisecond }))
				}
				if err := crowd.TryNow(e, batch); err != nil {
					return err
				}
				if _, _, err := e.Store.Retry(e.Ctx, store.RetryParams{Jobs: ids[:n/2], Actor: "ada"}); err != nil {
					return fmt.Errorf("Retry: %w", err)
				}
				e.Clock.Advance(time.Millisecond)
			}
			return nil
		}
		for looks := 0; moving.Load() || looks < 3; looks++ {
			if err := look(e, i, ids); err != nil {
				return err
			}
		}
		return nil
	})
}

// look reads in one of three ways, and returns an error if a job is not there or says what cannot
// be.
func look(e *env.Env, way int, ids []store.ID) error {
	switch way {
	case 1:
		for _, id := range ids {
			r, err := e.Store.Get(e.Ctx, "", id)
			if err != nil {
				return fmt.Errorf("Get: %w", err)
			}
			if err := plausible(r); err != nil {
				return err
			}
		}
	case 2:
		page, err := e.Store.List(e.Ctx, store.ListParams{Filter: store.Filter{Namespace: env.Namespace}, Limit: 100})
		if err != nil {
			return fmt.Errorf("List: %w", err)
		}
		if len(page.Jobs) != len(ids) {
			return fmt.Errorf("NoLoss: %d of %d jobs are listed", len(page.Jobs), len(ids))
		}
		for i, r := range page.Jobs {
			if r.ID != ids[len(ids)-1-i] {
				return fmt.Errorf("place %d of the list has %v", i, r.ID)
			}
			if err := plausible(r); err != nil {
				return err
			}
		}
	default:
		return lookAtCounts(e, ids)
	}
	return nil
}

// plausible is an error if a record says what cannot be.
func plausible(r store.Record) error {
	switch {
	case !slices.Contains(store.States, r.State),
		(r.State == store.Running) != (r.Lease.Job == r.ID && r.Lease.Slot >= 0 && r.Lease.Claim > 0),
		r.State.Finished() == r.FinishedAt.IsZero(),
		r.State == store.Running && r.Attempt == 0:
		return fmt.Errorf("a record that cannot be: %+v", r)
	}
	return nil
}

// lookAtCounts reads who has ended, and how many jobs the two queues say that they have.
func lookAtCounts(e *env.Env, ids []store.ID) error {
	ended, err := e.Store.Ended(e.Ctx, "", ids)
	if err != nil {
		return fmt.Errorf("Ended: %w", err)
	}
	for _, end := range ended {
		if !end.State.Finished() {
			return fmt.Errorf("NoLoss: an ended job is %v", end.State)
		}
	}
	queues, err := e.Store.Queues(e.Ctx, env.Namespace)
	if err != nil || len(queues) != 2 {
		return fmt.Errorf("Queues: %d, %w", len(queues), err)
	}
	for _, q := range queues {
		total := 0
		for _, c := range q.Counts {
			total += c.N
		}
		if total > len(ids)/2 {
			return fmt.Errorf("the queue %s counts %v, but has %d jobs", q.Name, q.Counts, len(ids)/2)
		}
	}
	return nil
}
