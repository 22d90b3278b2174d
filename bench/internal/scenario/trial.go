package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/bench/internal/figures"
	"github.com/holdfastdev/holdfast/bench/internal/meter"
	"github.com/holdfastdev/holdfast/bench/internal/system"
)

// trial is one measurement on one database: begin, then the work, then end.
type trial struct {
	env     *Env
	meter   *meter.Meter
	client  system.Client
	span    *meter.Span
	figures map[string]float64
	after   []func(context.Context) error // what is to be ended when all is measured
}

// open opens the system on one of the databases.
func (e *Env) open(ctx context.Context, part int, opts system.Options) (*trial, error) {
	db := e.Databases[part]
	if opts.Slots == 0 {
		opts.Slots = e.Sizes.Slots
	}
	client, err := e.System.Open(ctx, db, opts)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", e.System.Name(), err)
	}
	m, err := meter.Open(ctx, db)
	if err != nil {
		return nil, errors.Join(err, client.Close(ctx))
	}
	return &trial{env: e, meter: m, client: client, figures: map[string]float64{}}, nil
}

// prepare opens a system, does something that is not timed, and closes it again, so that nothing of
// it is counted later.
func (e *Env) prepare(ctx context.Context, part int, do func(t *trial) error) error {
	t, err := e.open(ctx, part, system.Options{})
	if err != nil {
		return err
	}
	return errors.Join(do(t), t.client.Close(ctx), t.meter.Alone(ctx), t.meter.Close(ctx))
}

// try opens a system, lets it be measured, and closes it.
func (e *Env) try(ctx context.Context, part int, opts system.Options, do func(t *trial) (jobs int64, err error)) (figures.Sample, error) {
	t, err := e.open(ctx, part, opts)
	if err != nil {
		return figures.Sample{}, err
	}
	jobs, err := do(t)
	var used meter.Usage
	if err == nil {
		used, err = t.span.End(ctx)
	}
	for _, f := range t.after {
		err = errors.Join(err, f(ctx))
	}
	err = errors.Join(err, t.client.Close(ctx))
	if err == nil {
		err = t.account(ctx, jobs, used)
	}
	if err = errors.Join(err, t.meter.Close(ctx)); err != nil {
		return figures.Sample{}, err
	}
	return figures.Sample{Jobs: jobs, Seconds: used.Elapsed.Seconds(), Figures: t.figures}, nil
}

// begin starts the clock on a database that is ready.
func (t *trial) begin(ctx context.Context) error {
	if err := t.client.Settle(ctx); err != nil {
		return fmt.Errorf("settling: %w", err)
	}
	dead, err := t.meter.Dead(ctx)
	if err != nil {
		return err
	}
	t.figures[figures.Dead] = -float64(max(dead, 0))
	t.span, err = t.meter.Begin(ctx)
	return err
}

// account adds what the jobs have cost.
func (t *trial) account(ctx context.Context, jobs int64, u meter.Usage) error {
	n := float64(max(jobs, 1))
	f := t.figures
	if _, ok := f[figures.Rate]; !ok {
		f[figures.Rate] = float64(jobs) / u.Elapsed.Seconds()
	}
	f[figures.ClientCPU] = float64(u.ClientCPU.Nanoseconds()) / 1000 / n
	for _, known := range []struct {
		figure string
		value  int64
	}{{figures.WAL, u.WAL}, {figures.Commits, u.Commits}, {figures.Written, u.Written}} {
		if known.value >= 0 {
			f[known.figure] = float64(known.value) / n
		}
	}
	if u.DatabaseCPU >= 0 && u.WAL >= 0 {
		f[figures.DatabaseCPU] = float64(u.DatabaseCPU.Nanoseconds()) / 1000 / n
	}
	if u.OthersCPU >= 0 {
		f[figures.Others] = u.OthersCPU.Seconds() / u.Elapsed.Seconds()
	}
	if err := t.meter.Alone(ctx); err != nil {
		return err
	}
	dead, err := t.meter.Dead(ctx)
	if err != nil {
		return err
	}
	if dead < 0 {
		delete(f, figures.Dead)
	} else {
		f[figures.Dead] = (f[figures.Dead] + float64(dead)) / n
	}
	return nil
}

// fill stores jobs, in batches.
func (t *trial) fill(ctx context.Context, jobs int) error {
	batch := make([]system.Args, batchSize)
	for sent := 0; sent < jobs; sent += batchSize {
		for i := range batch {
			batch[i].Num = sent + i
		}
		if err := t.client.InsertMany(ctx, batch[:min(batchSize, jobs-sent)]); err != nil {
			return fmt.Errorf("filling: %w", err)
		}
	}
	return nil
}

// work starts the worker, and sees to it that it is stopped.
func (t *trial) work(ctx context.Context, handle func(system.Args)) (system.Worker, error) {
	w, err := t.client.Work(ctx, handle)
	if err != nil {
		return nil, err
	}
	t.after = append(t.after, func(ctx context.Context) error {
		_, err := w.Stop(ctx)
		return err
	})
	return w, nil
}

// empty fails if something is left that should be finished. It stops the clock.
func (t *trial) empty(ctx context.Context) error {
	t.span.Mark()
	left, err := t.client.Left(ctx)
	if err == nil && left > 0 {
		err = fmt.Errorf("at least %d jobs are not finished, although %s says that all are", left, t.env.System.Name())
	}
	return err
}

// seconds is a duration of the sizes.
func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// batchSize is that of all batches.
const batchSize = 1000

func ignore(system.Args) {}
