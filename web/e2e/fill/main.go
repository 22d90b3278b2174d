// Command fill runs jobs on a database for measurements of the dashboard (measure.mjs): so many, as
// fast as it can, or at a rate for a time. One of a thousand fails.
//
// # Imports
//
// Of ours, what a user's program has.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store/dsn"
)

func main() {
	f := filling{room: make(chan struct{}, backlog)}
	flag.IntVar(&f.jobs, "jobs", 0, "run `N` jobs, and leave fifty that wait")
	flag.IntVar(&f.rate, "rate", 0, "or `N` jobs a second")
	flag.DurationVar(&f.span, "for", time.Minute, "with -rate: for how long")
	flag.StringVar(&f.namespace, "namespace", "default", "the `NAMESPACE` of the jobs")
	flag.Parse()
	if err := f.run(flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type filling struct {
	jobs, rate int
	span       time.Duration
	namespace  string

	hf    *holdfast.Client
	kinds []holdfast.Kind[int, struct{}]
	made  int
	room  chan struct{} // has one for each job that is not over
}

const (
	batch   = 5000
	backlog = 8 * batch // at most, so that it does not matter how fast enqueues are
	queues  = 20
)

var errFails = errors.New("550 no such address")

func (f *filling) run(database string) (err error) {
	source, err := dsn.Parse(database)
	if err != nil {
		return err
	}
	ctx := context.Background()
	f.hf, err = holdfast.Open(ctx, source, holdfast.WithNamespace(f.namespace), holdfast.WithSlots(1000),
		holdfast.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.hf.Close(ctx)) }()
	for _, name := range []string{"mail", "report", "invoice"} {
		kind := holdfast.NewKind[int, struct{}](name)
		f.kinds = append(f.kinds, kind)
		if err := kind.Handle(f.hf, f.handle); err != nil {
			return err
		}
	}
	if err := f.hf.Start(ctx); err != nil {
		return err
	}
	if f.rate > 0 {
		return f.keepUp(ctx)
	}
	return f.all(ctx)
}

func (f *filling) handle(_ *holdfast.Run, n int) (struct{}, error) {
	select {
	case <-f.room:
	default: // a job that was there before
	}
	if n%1000 == 7 {
		return struct{}{}, holdfast.Fail(fmt.Errorf("%w: %d", errFails, n%5))
	}
	return struct{}{}, nil
}

func (f *filling) enqueue(ctx context.Context, n int) error {
	part := make([]int, n)
	for i := range part {
		f.room <- struct{}{}
		part[i] = f.made + i
	}
	f.made += n
	turn := f.made / n
	_, err := f.kinds[turn%len(f.kinds)].EnqueueMany(ctx, f.hf, part, holdfast.Queue("q"+strconv.Itoa(turn%queues)))
	return err
}

// all runs all jobs, and leaves those that wait.
func (f *filling) all(ctx context.Context) error {
	for f.made < f.jobs {
		if err := f.enqueue(ctx, min(batch, f.jobs-f.made)); err != nil {
			return err
		}
	}
	for range cap(f.room) { // until all are over
		f.room <- struct{}{}
	}
	for i := range 50 {
		if _, err := f.kinds[0].Enqueue(ctx, f.hf, i, holdfast.Queue("q1"), holdfast.Delay(24*time.Hour)); err != nil {
			return err
		}
	}
	return nil
}

// keepUp enqueues ten times a second.
func (f *filling) keepUp(ctx context.Context) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(f.span); time.Now().Before(end); <-tick.C {
		if err := f.enqueue(ctx, max(1, f.rate/10)); err != nil {
			return err
		}
	}
	return nil
}
