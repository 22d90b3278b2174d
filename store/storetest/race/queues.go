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

// raceQueues: jobs come into queues at the very moment in which these are removed. None of them is
// where no claim looks.
func raceQueues(e *env.Env) {
	const rounds, queues, producers = 6, 12, 3
	node := e.Join()
	var names []string
	for i := range queues {
		names = append(names, fmt.Sprint("q", i))
	}
	var ids []store.ID
	for round := range rounds {
		e.Used(node, names...)
		e.Clock.Advance(time.Hour + env.Slack)
		// From some time on the queues may go at any call.
		for range 2 + round {
			e.Beat(node)
			e.Retain(env.Briefly)
			e.Clock.Advance(24 * time.Hour)
		}
		e.Beat(node)
		jobs := make([][]*store.Enqueue, producers)
		ids = ids[:0]
		for i := range jobs {
			for _, name := range names {
				q := e.Job(env.Queue(name), env.Kind([]string{"send", "push"}[i%2]))
				jobs[i], ids = append(jobs[i], q), append(ids, q.Job.ID)
			}
		}
		crowd.Together(e, producers+1, func(i int) error {
			if i == producers {
				for range 4 {
					if _, err := e.Store.Retain(e.Ctx, env.Briefly); err != nil && !errors.Is(err, store.ErrUnavailable) {
						return fmt.Errorf("Retain: %w", err)
					}
				}
				return nil
			}
			for part := range slices.Chunk(jobs[i], 2+i) {
				if err := crowd.TryNow(e, &store.Batch{Enqueues: part}); err != nil {
					return err
				}
				for _, q := range part {
					if q.Err != nil {
						return fmt.Errorf("enqueue: %w", q.Err)
					}
				}
			}
			return nil
		})
		e.WantSameIDs("listed", e.ListIDs(store.Filter{States: []store.State{store.Available}}), ids...)
		for _, name := range names {
			e.Equal("counts of "+name, env.Counted(e.Queue(name)), map[store.State]store.Count{store.Available: {N: producers}})
		}
		runs := e.Claim(node, 2*len(ids))
		e.WantSameIDs("claimed", env.ClaimedIDs(runs), ids...)
		for _, run := range runs {
			e.End(run, store.Completed)
		}
	}
}

// raceDeletes: jobs come into queues at the very moment in which people delete these. Each job is
// claimed, and a queue with jobs that are not finished is listed.
func raceDeletes(e *env.Env) {
	const rounds, queues, producers, deleters = 8, 6, 3, 2
	node := e.Join()
	var names []string
	for i := range queues {
		names = append(names, fmt.Sprint("q", i))
	}
	e.Used(node, names...)
	for range rounds {
		jobs := make([][]*store.Enqueue, producers)
		var ids []store.ID
		for i := range jobs {
			for _, name := range names {
				q := e.Job(env.Queue(name))
				jobs[i], ids = append(jobs[i], q), append(ids, q.Job.ID)
			}
		}
		crowd.Together(e, producers+deleters, func(i int) error {
			if i < producers {
				for part := range slices.Chunk(jobs[i], 1+i) {
					if err := crowd.TryNow(e, &store.Batch{Enqueues: part}); err != nil {
						return err
					}
				}
				return nil
			}
			for _, name := range names {
				err := e.TryDeleteQueue(name)
				if err != nil && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrUnavailable) {
					return fmt.Errorf("DeleteQueue: %w", err)
				}
			}
			return nil
		})
		for _, name := range names {
			e.Equal("counts of "+name, env.Counted(e.Queue(name)), map[store.State]store.Count{store.Available: {N: producers}})
		}
		runs := e.Claim(node, 2*len(ids))
		e.WantSameIDs("claimed", env.ClaimedIDs(runs), ids...)
		for _, run := range runs {
			e.End(run, store.Completed)
		}
	}
}
