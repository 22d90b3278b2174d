package race

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/crowd"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var raceDependTests = env.Tests{
	"Order_jobs_come_after_others_that_end_meanwhile": raceSuccessors,
	"no_two_jobs_come_after_each_other":               raceCycles,
}

// following is what is known of jobs that come after others.
type following struct {
	mu       sync.Mutex
	after    map[store.ID][]store.ID
	finished map[store.ID]bool // or are about to be
	ids      []store.ID
	left     atomic.Int64
}

// some are up to n jobs that were enqueued.
func (f *following) some(random *rand.Rand, n int) (ids []store.ID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := 0; i < n && len(f.ids) > 0; i++ {
		// One of the last: many of them run, or are about to.
		ids = append(ids, f.ids[len(f.ids)-1-random.IntN(min(len(f.ids), 12))])
	}
	return ids
}

func (f *following) add(job store.ID, on []store.ID, enqueued bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.after[job] = append(f.after[job], on...)
	if enqueued {
		f.ids = append(f.ids, job)
	}
}

// start is an error if one runs before another that it comes after.
func (f *following) start(runs []store.Claimed) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, run := range runs {
		for _, on := range f.after[run.Job.ID] {
			if !f.finished[on] {
				return fmt.Errorf("%v runs before %v has finished", run.Job.ID, on)
			}
		}
	}
	for _, run := range runs {
		f.finished[run.Job.ID] = true
	}
	return nil
}

// raceSuccessors: jobs are enqueued after others, or made to come after them, while those run and
// finish. None runs too early, and each runs in the end.
func raceSuccessors(e *env.Env) {
	const producers, each, workers = 2, 60, 3
	f := &following{after: map[store.ID][]store.ID{}, finished: map[store.ID]bool{}}
	f.left.Store(producers * each)
	nodes := crowd.Joined(e, workers)
	crowd.Together(e, producers+workers+2, func(i int) error {
		random := rand.New(rand.NewPCG(uint64(i), 19))
		switch {
		case i < workers:
			return followAll(e, f, nodes[i])
		case i < workers+producers:
			return enqueueFollowers(e, f, random, each)
		case i == workers+producers:
			return dependSome(e, f, random)
		}
		for f.left.Load() > 0 {
			if _, err := e.Store.CloseChildren(e.Ctx, 1+random.IntN(20)); err != nil {
				return fmt.Errorf("CloseChildren: %w", err)
			}
			runtime.Gosched()
		}
		return nil
	})
	for _, id := range f.ids {
		e.WantState(id, store.Completed)
	}
}

func followAll(e *env.Env, f *following, node int64) error {
	for idle := 0; f.left.Load() > 0; idle++ {
		if idle > crowd.Patience {
			return fmt.Errorf("NoLoss: %d jobs are left and nobody gets them", f.left.Load())
		}
		runs, err := crowd.ClaimNow(e, e.Demand(node, 4))
		if err != nil {
			return err
		}
		if len(runs) == 0 {
			runtime.Gosched()
			continue
		}
		idle = 0
		if err := f.start(runs); err != nil {
			return err
		}
		if err := crowd.EndNow(e, &store.Batch{Outcomes: crowd.Completions(runs)}); err != nil {
			return err
		}
		f.left.Add(-int64(len(runs)))
	}
	return nil
}

func enqueueFollowers(e *env.Env, f *following, random *rand.Rand, n int) error {
	for range n {
		on := f.some(random, random.IntN(4))
		q := e.Job(env.After(on...))
		// The job may run before the enqueue returns.
		f.add(q.Job.ID, on, false)
		if err := crowd.TryNow(e, &store.Batch{Enqueues: []*store.Enqueue{q}}); err != nil {
			return err
		}
		f.add(q.Job.ID, nil, true)
	}
	return nil
}

// dependSome lets jobs come after others that were enqueued before or after them.
func dependSome(e *env.Env, f *following, random *rand.Rand) error {
	for f.left.Load() > 0 {
		runtime.Gosched()
		ids := f.some(random, 2)
		if len(ids) < 2 {
			continue
		}
		err := dependNow(e, store.DependParams{Job: ids[0], On: env.Dependencies(store.RunIfFailed, ids[1])})
		switch {
		case err == nil:
			f.add(ids[0], ids[1:], false)
		case !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrInvalid) && !errors.Is(err, store.ErrBusy):
			return fmt.Errorf("Depend: %w", err)
		}
	}
	return nil
}

// dependNow is Depend until it is known what became of it: those that add edges wait for each
// other, on a busy machine for longer than a store lets one wait.
func dependNow(e *env.Env, params store.DependParams) error {
	for {
		_, _, err := e.Store.Depend(e.Ctx, params)
		if !errors.Is(err, store.ErrUnavailable) {
			return err
		}
	}
}

// raceCycles: each of some jobs is made to come after the others, in all orders. However many of
// these are refused, all of the jobs are done in the end.
func raceCycles(e *env.Env) {
	jobs := e.Many(6)
	var refused, taken atomic.Int64
	crowd.Together(e, 4, func(i int) error {
		random := rand.New(rand.NewPCG(uint64(i), 20))
		for range 40 {
			job, on := jobs[random.IntN(len(jobs))].Job.ID, jobs[random.IntN(len(jobs))].Job.ID
			err := dependNow(e, store.DependParams{Job: job, On: env.Dependencies(store.CancelIfFailed, on)})
			switch {
			case err == nil:
				taken.Add(1)
			case !errors.Is(err, store.ErrInvalid) && !errors.Is(err, store.ErrBusy):
				return fmt.Errorf("Depend: %w", err)
			default:
				refused.Add(1)
			}
		}
		return nil
	})
	if refused.Load() == 0 || taken.Load() == 0 {
		e.Fatalf("%d were taken and %d refused", taken.Load(), refused.Load())
	}
	// A chain of all of them needs a round for each; what is told a round later needs one more.
	for range 2 * len(jobs) {
		crowd.FinishRest(e)
		e.CloseChildren(10)
	}
	for _, q := range jobs {
		if r := e.Get(q.Job.ID); r.State != store.Completed {
			e.Fatalf("NoLoss: %+v waits for ever, for %+v", r.Wait, r.Predecessors)
		}
	}
}
