package scenario

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/bench/internal/figures"
	"github.com/holdfastdev/holdfast/bench/internal/system"
)

// The jobs of these scenarios, and the queues that they are in.
const (
	queueJobs = 5000
	inUse     = 100
	turnJobs  = 500
	keyed     = 10 // jobs of each ordering key
)

func (t *trial) naming() (system.Naming, error) {
	client, ok := t.client.(system.Naming)
	if !ok {
		return nil, fmt.Errorf("queues and keys: %w", system.ErrUnsupported)
	}
	return client, nil
}

// queues drains jobs out of a hundred queues, where so many have had a job in their time.
func queues(count int) func(context.Context, *Env) (figures.Sample, error) {
	return func(ctx context.Context, e *Env) (figures.Sample, error) {
		if err := e.prepare(ctx, 0, func(t *trial) error { return t.useQueues(ctx, count) }); err != nil {
			return figures.Sample{}, err
		}
		return e.try(ctx, 0, system.Options{}, func(t *trial) (int64, error) {
			jobs := min(queueJobs, e.Sizes.Jobs)
			if err := t.fillQueues(ctx, jobs, inUse); err != nil {
				return 0, err
			}
			n, err := t.drain(ctx, jobs)
			t.figures["drain_s"] = t.span.Elapsed().Seconds()
			return n, err
		})
	}
}

// useQueues runs a job in each of so many queues.
func (t *trial) useQueues(ctx context.Context, count int) error {
	if err := t.fillQueues(ctx, count, count); err != nil {
		return err
	}
	worker, err := t.client.Work(ctx, ignore)
	if err != nil {
		return err
	}
	return worker.Wait(ctx, int64(count))
}

// fillQueues stores jobs, one after the other in the next of so many queues.
func (t *trial) fillQueues(ctx context.Context, jobs, queues int) error {
	client, err := t.naming()
	if err != nil {
		return err
	}
	for sent := 0; sent < jobs; sent += batchSize {
		batch := make([]system.Args, min(batchSize, jobs-sent))
		name := func(i int) string { return queueName((sent + i) % queues) }
		if err := client.InsertInto(ctx, batch, name); err != nil {
			return fmt.Errorf("filling queues: %w", err)
		}
	}
	return nil
}

// keys drains jobs of many ordering keys, some of each, and as many without.
func keys(ctx context.Context, e *Env) (figures.Sample, error) {
	drained := func(part int, fill func(t *trial) error) (figures.Sample, error) {
		return e.try(ctx, part, system.Options{}, func(t *trial) (int64, error) {
			if err := fill(t); err != nil {
				return 0, err
			}
			return t.drain(ctx, e.Sizes.Jobs)
		})
	}
	without, err := drained(0, func(t *trial) error { return t.fill(ctx, e.Sizes.Jobs) })
	if err != nil {
		return without, err
	}
	with, err := drained(1, func(t *trial) error { return t.fillKeys(ctx, e.Sizes.Jobs) })
	if err != nil {
		return with, err
	}
	compare(with, without)
	return with, nil
}

// fillKeys stores jobs of ordering keys, of each in turn.
func (t *trial) fillKeys(ctx context.Context, jobs int) error {
	client, err := t.naming()
	if err != nil {
		return err
	}
	count := max(jobs/keyed, 1)
	for sent := 0; sent < jobs; sent += batchSize {
		batch := make([]system.Args, min(batchSize, jobs-sent))
		key := func(i int) string { return fmt.Sprintf("key-%d", (sent+i)%count) }
		if err := client.InsertOrdered(ctx, batch, key); err != nil {
			return fmt.Errorf("filling keys: %w", err)
		}
	}
	return nil
}

// turns measures how long it takes from the beginning of a job to that of the next one of its
// ordering key, on a node that has nothing else to do.
func turns(ctx context.Context, e *Env) (figures.Sample, error) {
	return e.try(ctx, 0, system.Options{}, func(t *trial) (int64, error) {
		client, err := t.naming()
		if err != nil {
			return 0, err
		}
		jobs := min(turnJobs, e.Sizes.Jobs)
		began := make([]time.Time, 0, jobs) // by one handler at a time
		worker, err := t.work(ctx, func(system.Args) { began = append(began, time.Now()) })
		if err != nil {
			return 0, err
		}
		if err := t.begin(ctx); err != nil {
			return 0, err
		}
		if err := client.InsertOrdered(ctx, make([]system.Args, jobs), func(int) string { return "line" }); err != nil {
			return 0, err
		}
		if err := worker.Wait(ctx, int64(jobs)); err != nil {
			return 0, err
		}
		t.span.Mark()
		took := make([]time.Duration, jobs-1)
		for i := range took {
			took[i] = began[i+1].Sub(began[i])
		}
		figures.Latencies(t.figures, took)
		t.figures["turn_ms"] = figures.Milliseconds(began[jobs-1].Sub(began[0])) / float64(jobs-1)
		return int64(jobs), t.empty(ctx)
	})
}
