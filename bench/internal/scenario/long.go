package scenario

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/bench/internal/figures"
	"github.com/holdfastdev/holdfast/bench/internal/system"
)

// backlog compares the rate with many jobs waiting with that with few. As many jobs are inserted as
// are worked.
func backlog(ctx context.Context, e *Env) (figures.Sample, error) {
	rate := func(part, waiting int) (figures.Sample, error) {
		return e.try(ctx, part, system.Options{}, func(t *trial) (int64, error) {
			if err := t.fill(ctx, waiting); err != nil {
				return 0, err
			}
			if err := t.begin(ctx); err != nil {
				return 0, err
			}
			worker, err := t.work(ctx, ignore)
			if err != nil {
				return 0, err
			}
			// What is worked is replaced; a batch more is on its way.
			if _, err := t.produce(ctx, worker, batchSize, time.Now().Add(seconds(e.Sizes.Seconds))); err != nil {
				return 0, err
			}
			if err := atLeast(ctx, worker, 1); err != nil {
				return 0, err
			}
			done, err := worker.Stop(ctx)
			t.span.Mark()
			return done, err
		})
	}
	small, err := rate(0, e.Sizes.Small)
	if err != nil {
		return small, err
	}
	large, err := rate(1, e.Sizes.Large)
	if err != nil {
		return large, err
	}
	large.Figures["rate_small"] = small.Figures[figures.Rate]
	large.Figures["rate_large"] = large.Figures[figures.Rate]
	large.Figures["large_over_small"] = large.Figures[figures.Rate] / small.Figures[figures.Rate]
	return large, nil
}

// pinned works under a steady load, while for a part of the time a transaction of somebody else
// keeps the database from clearing away what died. On SQLite, where nothing dies, it keeps the log
// from being restarted, and the log's size is what is told.
//
// The rates of the three phases are those of handlers, which are ahead of the commits by the jobs
// in flight; that all of them were committed is checked at the end. The CPU of a job, the server's
// included, is told by phase: it does not depend on what else a machine does in so many minutes.
func pinned(ctx context.Context, e *Env) (figures.Sample, error) {
	return e.try(ctx, 0, system.Options{}, func(t *trial) (int64, error) {
		if err := t.begin(ctx); err != nil {
			return 0, err
		}
		worker, err := t.work(ctx, ignore)
		if err != nil {
			return 0, err
		}
		// It has found its pace when it has worked a batch.
		if err := t.fill(ctx, batchSize); err != nil {
			return 0, err
		}
		if err := atLeast(ctx, worker, batchSize); err != nil {
			return 0, err
		}
		stored := int64(batchSize)
		phase := func(name string, lasts float64) error {
			n, err := t.phase(ctx, ahead{worker, stored}, name, lasts)
			stored += n
			return err
		}
		if err := phase("before", e.Sizes.Phase); err != nil {
			return 0, err
		}
		release, err := t.meter.Pin(ctx)
		if err != nil {
			return 0, fmt.Errorf("pinning: %w", err)
		}
		err = phase("during", cmp.Or(e.Sizes.Pin, e.Sizes.Phase))
		if e := release(); err == nil {
			err = e
		}
		if err != nil {
			return 0, err
		}
		if err := phase("after", e.Sizes.Phase); err != nil {
			return 0, err
		}
		if err := worker.Wait(ctx, stored); err != nil {
			return 0, err
		}
		if before := t.figures["rate_before"]; before > 0 {
			t.figures["during_over_before"] = t.figures["rate_during"] / before
			t.figures["after_over_before"] = t.figures["rate_after"] / before
		}
		return stored, t.empty(ctx)
	})
}

// phase works for so many seconds, and notes at which rate and what a job has cost.
func (t *trial) phase(ctx context.Context, worker ahead, name string, lasts float64) (stored int64, err error) {
	span, err := t.meter.Begin(ctx)
	if err != nil {
		return 0, err
	}
	before := worker.Done()
	stored, err = t.produce(ctx, worker, backlogBound, time.Now().Add(seconds(lasts)))
	if err != nil {
		return stored, err
	}
	done := float64(max(worker.Done()-before, 1))
	used, err := span.End(ctx)
	if err != nil {
		return stored, err
	}
	t.figures["rate_"+name] = done / used.Elapsed.Seconds()
	t.figures["cpu_us_"+name] = float64((used.ClientCPU + max(used.DatabaseCPU, 0)).Nanoseconds()) / 1000 / done
	dead, err := t.meter.DeadNow(ctx)
	t.figures[t.deadName()+name] = float64(dead)
	return stored, err
}

// atLeast returns when so many jobs have been worked.
func atLeast(ctx context.Context, worker system.Worker, jobs int64) error {
	for worker.Done() < jobs {
		if err := system.Pause(ctx, time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

func (t *trial) deadName() string {
	if t.env.Databases[0].Store == system.SQLite {
		return "log_bytes_"
	}
	return "dead_tuples_"
}

// ahead is a worker from whose jobs those of earlier phases are taken.
type ahead struct {
	system.Worker
	earlier int64
}

func (a ahead) Done() int64 { return a.Worker.Done() - a.earlier }

// history puts many finished jobs behind a drain, and asks what a dashboard asks meanwhile.
func history(ctx context.Context, e *Env) (figures.Sample, error) {
	if err := e.prepare(ctx, 0, func(t *trial) error { return t.past(ctx, e.Sizes.History) }); err != nil {
		return figures.Sample{}, err
	}
	return e.try(ctx, 0, system.Options{}, func(t *trial) (int64, error) {
		if err := t.client.Settle(ctx); err != nil {
			return 0, err
		}
		if client, ok := t.client.(system.Browsing); ok {
			worst := 0.0
			for name, look := range client.Looks() {
				var took []time.Duration
				for range e.Sizes.Looks {
					began := time.Now()
					if err := look(ctx); err != nil {
						return 0, fmt.Errorf("%s: %w", name, err)
					}
					took = append(took, time.Since(began))
				}
				t.figures[name+"_p99_ms"] = figures.Milliseconds(figures.Percentile(took, 0.99))
				worst = max(worst, t.figures[name+"_p99_ms"])
			}
			t.figures["worst_look_p99_ms"] = worst
		}
		if err := t.fill(ctx, e.Sizes.Jobs); err != nil {
			return 0, err
		}
		return t.drain(ctx, e.Sizes.Jobs)
	})
}

// past makes finished jobs: by running them, unless the system knows a shorter way that leaves the
// same.
func (t *trial) past(ctx context.Context, jobs int) error {
	if h, ok := t.client.(system.Historian); ok {
		return h.FillHistory(ctx, jobs)
	}
	worker, err := t.client.Work(ctx, ignore)
	if err != nil {
		return err
	}
	for stored := 0; stored < jobs; {
		if int64(stored)-worker.Done() > backlogBound {
			if err := system.Pause(ctx, time.Millisecond); err != nil {
				return err
			}
			continue
		}
		n := min(batchSize, jobs-stored)
		if err := t.fill(ctx, n); err != nil {
			return err
		}
		stored += n
	}
	if err := worker.Wait(ctx, int64(jobs)); err != nil {
		return err
	}
	_, err = worker.Stop(ctx)
	return err
}
