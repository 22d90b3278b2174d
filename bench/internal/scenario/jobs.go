package scenario

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast/bench/internal/figures"
	"github.com/holdfastdev/holdfast/bench/internal/system"
)

// backlogBound is how many jobs the producer of a steady load may be ahead.
const backlogBound = 10 * batchSize

// drain fills a queue and measures how long a worker needs for it.
func drain(ctx context.Context, e *Env) (figures.Sample, error) {
	return drainWith(ctx, e, 0, system.Options{})
}

func drainWith(ctx context.Context, e *Env, part int, opts system.Options) (figures.Sample, error) {
	return e.try(ctx, part, opts, func(t *trial) (int64, error) {
		if err := t.fill(ctx, e.Sizes.Jobs); err != nil {
			return 0, err
		}
		return t.drain(ctx, e.Sizes.Jobs)
	})
}

// drain measures how long a worker needs for the jobs that are there.
func (t *trial) drain(ctx context.Context, jobs int) (int64, error) {
	if err := t.begin(ctx); err != nil {
		return 0, err
	}
	worker, err := t.work(ctx, ignore)
	if err != nil {
		return 0, err
	}
	if err := worker.Wait(ctx, int64(jobs)); err != nil {
		return 0, err
	}
	return int64(jobs), t.empty(ctx)
}

// steady inserts in batches while a worker works, until the span is over, and then waits for what
// is left.
func steady(ctx context.Context, e *Env) (figures.Sample, error) {
	return steadyWith(ctx, e, 0, system.Options{})
}

func steadyWith(ctx context.Context, e *Env, part int, opts system.Options) (figures.Sample, error) {
	return e.try(ctx, part, opts, func(t *trial) (int64, error) {
		if err := t.begin(ctx); err != nil {
			return 0, err
		}
		worker, err := t.work(ctx, ignore)
		if err != nil {
			return 0, err
		}
		stored, err := t.produce(ctx, worker, backlogBound, time.Now().Add(seconds(e.Sizes.Steady)))
		if err != nil {
			return 0, err
		}
		if err := worker.Wait(ctx, stored); err != nil {
			return 0, err
		}
		return stored, t.empty(ctx)
	})
}

// produce inserts batches until a time, so that about so many jobs are always waiting.
func (t *trial) produce(ctx context.Context, worker system.Worker, waiting int64, until time.Time) (stored int64, err error) {
	batch := make([]system.Args, batchSize)
	for time.Now().Before(until) {
		if stored-worker.Done() > waiting-batchSize {
			if err := system.Pause(ctx, time.Millisecond); err != nil {
				return stored, err
			}
			continue
		}
		if err := t.client.InsertMany(ctx, batch); err != nil {
			return stored, err
		}
		stored += batchSize
	}
	return stored, nil
}

func insertScenario(name, title string, producers, batch int) Scenario {
	return Scenario{Name: name, Title: title, Peers: inserters, measure: jobsPerSecond(), run: insert(producers, batch)}
}

// insert lets producers insert for the span; a job counts when its insert has returned.
func insert(producers, batch int) func(context.Context, *Env) (figures.Sample, error) {
	return func(ctx context.Context, e *Env) (figures.Sample, error) {
		return e.try(ctx, 0, system.Options{}, func(t *trial) (int64, error) {
			var mu sync.Mutex
			var stored atomic.Int64
			var took []time.Duration
			one := func() error { return t.client.Insert(ctx, system.Args{}) }
			if batch > 1 {
				one = func() error { return t.client.InsertMany(ctx, make([]system.Args, batch)) }
			}
			if err := t.begin(ctx); err != nil {
				return 0, err
			}
			until := time.Now().Add(seconds(e.Sizes.Seconds))
			err := together(producers, func() error {
				var mine []time.Duration
				for began := time.Now(); began.Before(until); {
					if err := one(); err != nil {
						return err
					}
					now := time.Now()
					mine, began = append(mine, now.Sub(began)), now
					stored.Add(int64(batch))
				}
				mu.Lock()
				defer mu.Unlock()
				took = append(took, mine...)
				return nil
			})
			t.span.Mark()
			figures.Latencies(t.figures, took)
			return stored.Load(), err
		})
	}
}

// together runs f in n goroutines and returns the first error.
func together(n int, f func() error) error {
	errs := make(chan error, n)
	for range n {
		go func() { errs <- f() }()
	}
	var first error
	for range n {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	return first
}
