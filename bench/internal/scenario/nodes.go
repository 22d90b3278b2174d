package scenario

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"time"

	"github.com/holdfastdev/holdfast/bench/internal/figures"
	"github.com/holdfastdev/holdfast/bench/internal/system"
)

// nodes drains a queue by one node and another by several, each node a process.
func nodes(ctx context.Context, e *Env) (figures.Sample, error) {
	one, err := drainBy(ctx, e, 0, 1)
	if err != nil {
		return one, err
	}
	many, err := drainBy(ctx, e, 1, e.Sizes.Nodes)
	if err != nil {
		return many, err
	}
	many.Figures["rate_one"] = one.Figures[figures.Rate]
	many.Figures["rate_many"] = many.Figures[figures.Rate]
	many.Figures["many_over_one"] = many.Figures[figures.Rate] / one.Figures[figures.Rate]
	return many, nil
}

func drainBy(ctx context.Context, e *Env, part, count int) (figures.Sample, error) {
	return e.try(ctx, part, system.Options{}, func(t *trial) (int64, error) {
		if err := t.fill(ctx, e.Sizes.Jobs); err != nil {
			return 0, err
		}
		var list []Node
		for range count {
			n, err := e.StartNode(ctx, e.Databases[part])
			if err != nil {
				return 0, fmt.Errorf("starting a node: %w", err)
			}
			list = append(list, n)
		}
		if err := t.begin(ctx); err != nil {
			return 0, err
		}
		for _, n := range list {
			if err := n.Go(); err != nil {
				return 0, err
			}
		}
		for done := int64(0); done < int64(e.Sizes.Jobs); {
			if err := system.Pause(ctx, time.Millisecond); err != nil {
				return 0, err
			}
			done = 0
			for _, n := range list {
				done += n.Done()
			}
		}
		stopped := make(chan error, len(list))
		for _, n := range list {
			go func() {
				_, err := n.Stop(ctx)
				stopped <- err
			}()
		}
		var err error
		for range list {
			err = errors.Join(err, <-stopped)
		}
		t.span.Mark()
		for _, n := range list {
			err = errors.Join(err, n.Close())
		}
		if err != nil {
			return 0, err
		}
		return int64(e.Sizes.Jobs), t.empty(ctx)
	})
}

// idle watches a node that has nothing to do.
func idle(ctx context.Context, e *Env) (figures.Sample, error) {
	sample, err := e.try(ctx, 0, system.Options{}, func(t *trial) (int64, error) {
		if _, err := t.work(ctx, ignore); err != nil {
			return 0, err
		}
		// Until the polls have slowed down.
		if err := system.Pause(ctx, seconds(e.Sizes.IdleWarm)); err != nil {
			return 0, err
		}
		if err := t.begin(ctx); err != nil {
			return 0, err
		}
		before, err := t.meter.Statements(ctx)
		if err != nil {
			return 0, err
		}
		if err := system.Pause(ctx, seconds(e.Sizes.IdleSeconds)); err != nil {
			return 0, err
		}
		t.span.Mark()
		after, err := t.meter.Statements(ctx)
		if err == nil && after >= 0 {
			t.figures["statements_per_s"] = float64(after-before) / e.Sizes.IdleSeconds
		}
		return 0, err
	})
	if err != nil {
		return sample, err
	}
	// There are no jobs: what was counted for one is that of the whole time.
	for _, figure := range []string{figures.Rate, figures.Dead} {
		delete(sample.Figures, figure)
	}
	for from, to := range map[string]string{
		figures.WAL: "wal_bytes_per_s", figures.Commits: "commits_per_s", figures.Written: "written_bytes_per_s",
	} {
		if v, ok := sample.Figures[from]; ok {
			delete(sample.Figures, from)
			sample.Figures[to] = v / sample.Seconds
		}
	}
	cpu := sample.Figures[figures.ClientCPU] + sample.Figures[figures.DatabaseCPU]
	sample.Figures["cpu_percent"] = cpu / 1e6 / sample.Seconds * 100
	delete(sample.Figures, figures.ClientCPU)
	delete(sample.Figures, figures.DatabaseCPU)
	return sample, nil
}

// waiting drains a queue alone, and then another beside many runs that wait. What parking so many
// in a minute has left is cleared away before: autovacuum would do it during the second drain.
func waiting(ctx context.Context, e *Env) (figures.Sample, error) {
	alone, err := e.try(ctx, 0, system.Options{}, func(t *trial) (int64, error) {
		if err := t.fill(ctx, e.Sizes.Jobs); err != nil {
			return 0, err
		}
		return t.drain(ctx, e.Sizes.Jobs)
	})
	if err != nil {
		return alone, err
	}
	costs := map[string]float64{}
	err = e.prepare(ctx, 1, func(t *trial) error {
		if err := t.park(ctx, e.Sizes.Runs, costs); err != nil {
			return err
		}
		return t.meter.Vacuum(ctx)
	})
	if err != nil {
		return figures.Sample{}, err
	}
	beside, err := e.try(ctx, 1, system.Options{}, func(t *trial) (int64, error) {
		if err := t.fill(ctx, e.Sizes.Jobs); err != nil {
			return 0, err
		}
		if err := t.begin(ctx); err != nil {
			return 0, err
		}
		worker, err := t.work(ctx, ignore)
		if err != nil {
			return 0, err
		}
		err = worker.Wait(ctx, int64(e.Sizes.Jobs))
		t.span.Mark()
		return int64(e.Sizes.Jobs), err
	})
	if err != nil {
		return beside, err
	}
	maps.Copy(beside.Figures, costs)
	beside.Figures["rate_alone"] = alone.Figures[figures.Rate]
	beside.Figures["beside_over_alone"] = beside.Figures[figures.Rate] / alone.Figures[figures.Rate]
	return beside, nil
}

// park lets runs wait, and notes what one costs.
func (t *trial) park(ctx context.Context, runs int, costs map[string]float64) error {
	client, ok := t.client.(system.Parking)
	if !ok {
		return fmt.Errorf("runs that wait: %w", system.ErrUnsupported)
	}
	sizeBefore, err := t.meter.Size(ctx)
	if err != nil {
		return err
	}
	heapBefore := heap()
	worker, err := t.client.Work(ctx, ignore)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := client.Park(ctx, runs); err != nil {
		return err
	}
	costs["park_rate"] = float64(runs) / time.Since(began).Seconds()
	costs["node_heap_mb"] = float64(heap()-heapBefore) / 1e6
	sizeAfter, err := t.meter.Size(ctx)
	if err != nil {
		return err
	}
	costs["disk_bytes_per_run"] = float64(sizeAfter-sizeBefore) / float64(runs)
	_, err = worker.Stop(ctx)
	return err
}

func heap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
