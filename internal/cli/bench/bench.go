package bench

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/app"
	"github.com/holdfastdev/holdfast/internal/cli/arg"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/store/dsn"
)

// benchFlags are the flags of "bench".
type benchFlags struct {
	jobs    int
	seconds float64
	rate    int
	slots   int
	log     app.LogFlags
}

// verbs has the verb of this package.
type verbs struct{ *app.App }

// Command returns the command "bench".
func Command(a *app.App) *cobra.Command { return verbs{a}.benchCommand() }

func (a verbs) benchCommand() *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure the speed of jobs on a database",
		Long: `Measure how many jobs a second a database can enqueue, run, and enqueue and run at the same time,
and how soon a job starts. A job counts when its outcome is committed.

The benchmark does not touch existing jobs: it uses a schema of its own on PostgreSQL, or a file of
its own on SQLite, and removes it at the end. It uses all the resources it can get, so other users
of the database are slower while it runs.`,
		Example: `  holdfast bench
  holdfast bench --database postgres://localhost/app --seconds 10 --jobs 200000
  holdfast bench --output json | jq '.[] | {scenario, per_second}'`,
		Args:        arg.Takes(0, 0),
		Annotations: app.NeedsDatabase(app.Uses(app.FlagDatabase, app.FlagOutput, app.FlagQuiet), "it measures in a place of its own"),
		RunE: a.Do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			return a.bench(ctx, &f)
		}),
	}
	flags := cmd.Flags()
	flags.IntVar(&f.jobs, "jobs", 50_000, "enqueue `N` jobs in batches")
	flags.Float64Var(&f.seconds, "seconds", 3, "run each of the other scenarios for `N` seconds")
	flags.IntVar(&f.rate, "rate", 100, "enqueue `N` jobs a second to measure how soon they start")
	flags.IntVar(&f.slots, "slots", 100, "run at most `N` jobs at once")
	f.log.Add(flags, "warn", app.LogText)
	return cmd
}

// mostSeconds is how long a scenario may last.
const mostSeconds = 24 * 3600

// mostPerSecond bounds --rate.
const mostPerSecond = 1_000_000

func (f *benchFlags) check() error {
	for _, flag := range []struct {
		name  string
		value int
	}{{"jobs", f.jobs}, {"rate", f.rate}, {"slots", f.slots}} {
		if flag.value < 1 {
			return arg.Usagef("--%s %d: must be positive", flag.name, flag.value)
		}
	}
	if f.rate > mostPerSecond {
		return arg.Usagef("--rate %d: at most %d", f.rate, mostPerSecond)
	}
	if !(f.seconds > 0 && f.seconds <= mostSeconds) { // NaN is neither
		return arg.Usagef("--seconds %v: must be positive, and at most %d", f.seconds, mostSeconds)
	}
	return nil
}

// bench measures in a temporary schema or file, which it always removes.
func (a verbs) bench(ctx context.Context, f *benchFlags) (err error) {
	settings, err := a.LogSettings(&f.log)
	if err != nil {
		return err
	}
	log, end := a.Logger(settings)
	defer end()
	place, err := dsn.Apart(a.Database, "holdfast_bench_"+randomName())
	if err != nil {
		return arg.Usage(err)
	}
	opened := false
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), app.OpenTimeout)
		defer cancel()
		e := place.Drop(ctx)
		if away := holdfast.ErrUnavailable; e != nil && (opened || !errors.Is(err, away) || !errors.Is(e, away)) {
			err = errors.Join(err, fmt.Errorf("cannot remove %s: %w", place, e))
		}
	}()
	opening, cancel := context.WithTimeout(ctx, app.OpenTimeout)
	defer cancel()
	client, err := holdfast.Open(opening, place, holdfast.WithSlots(f.slots), holdfast.WithLogger(log))
	if err != nil {
		return err
	}
	opened = true
	return errors.Join(a.measure(ctx, client, f), app.CloseClient(ctx, client))
}

func (a verbs) measure(ctx context.Context, client *holdfast.Client, f *benchFlags) error {
	load, err := newBenchLoad(client)
	if err != nil {
		return err
	}
	span := time.Duration(f.seconds * float64(time.Second))
	out := a.NewList("SCENARIO", "JOBS", "SECONDS", "JOBS/S", "P50", "P99")
	for _, s := range []struct {
		name string
		run  func(context.Context) (benchResult, error)
	}{
		{"enqueue, one by one", func(ctx context.Context) (benchResult, error) { return load.enqueue(ctx, 1, span) }},
		{"enqueue, 16 at once", func(ctx context.Context) (benchResult, error) { return load.enqueue(ctx, 16, span) }},
		{"enqueue, batches of 1000", func(ctx context.Context) (benchResult, error) { return load.enqueueMany(ctx, f.jobs) }},
		{"run", load.drain},
		{"enqueue and run at once", func(ctx context.Context) (benchResult, error) { return load.steady(ctx, span) }},
		{
			fmt.Sprintf("from enqueue to start, %d/s", f.rate),
			func(ctx context.Context) (benchResult, error) { return load.pickup(ctx, f.rate, span) },
		},
	} {
		a.Notef("%s …", s.name)
		r, err := s.run(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err() // the errors that it has caused do not matter
		case err != nil:
			return fmt.Errorf("%s: %w", s.name, err)
		}
		v := r.view(s.name)
		if err := out.Add(v, v.Row); err != nil {
			return err
		}
	}
	return out.End()
}

func (r benchResult) view(scenario string) views.Bench {
	v := views.Bench{Scenario: scenario, Jobs: r.jobs, Seconds: round(r.took.Seconds())}
	if r.took > 0 {
		v.PerSecond = round(float64(r.jobs) / r.took.Seconds())
	}
	if len(r.each) > 0 {
		p50, p99 := milliseconds(percentile(r.each, 50)), milliseconds(percentile(r.each, 99))
		v.P50, v.P99 = &p50, &p99
	}
	return v
}

func randomName() string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
