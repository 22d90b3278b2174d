// Package river is River as a system under measurement: through its public API, on any of its
// drivers. It is at its best settings, or at its defaults.
//
// A job counts as worked when River has told of its completion, which it does after the commit.
package river

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/holdfastdev/holdfast/bench/internal/system"
)

// Settings of a client; zero values are River's defaults.
type Settings struct {
	MaxWorkers int
	Cooldown   time.Duration
	Poll       time.Duration
}

// The settings that are measured: the fastest that River documents, and what one gets who sets
// nothing but the number of workers, which is that of its README.
var (
	Best    = Settings{MaxWorkers: 1000, Cooldown: 2 * time.Millisecond, Poll: 20 * time.Millisecond}
	Default = Settings{MaxWorkers: 100}
)

// Describe returns the settings for the record.
func (s Settings) Describe() map[string]string {
	d := map[string]string{"MaxWorkers": strconv.Itoa(s.MaxWorkers), "inserts many by": "InsertManyFast"}
	if s.Cooldown > 0 {
		d["FetchCooldown"], d["FetchPollInterval"] = s.Cooldown.String(), s.Poll.String()
	}
	return d
}

// Place is a database as a driver sees it.
type Place[TTx any] struct {
	Driver riverdriver.Driver[TTx]
	// Begin is set where InsertManyFast does not work and InsertManyFastTx does: it does something
	// in a transaction.
	Begin       func(ctx context.Context, do func(tx TTx) error) error
	Settle      func(ctx context.Context) error
	FillHistory func(ctx context.Context, jobs int) error
	Left        func(ctx context.Context) (int64, error)
	Close       func() error
}

// Open migrates the database and makes a client.
func Open[TTx any](ctx context.Context, place Place[TTx], s Settings) (system.Client, error) {
	migrator, err := rivermigrate.New(place.Driver, &rivermigrate.Config{Logger: logger()})
	if err != nil {
		return nil, errors.Join(err, place.Close())
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return nil, errors.Join(err, place.Close())
	}
	c := &client[TTx]{place: place}
	workers := river.NewWorkers()
	river.AddWorker(workers, &worker{current: &c.current})
	c.river, err = river.NewClient(place.Driver, &river.Config{
		Logger:            logger(),
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: s.MaxWorkers}},
		FetchCooldown:     s.Cooldown,
		FetchPollInterval: s.Poll,
		Workers:           workers,
	})
	if err != nil {
		return nil, errors.Join(err, place.Close())
	}
	return c, nil
}

func logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// noop is the kind of all jobs.
type noop system.Args

func (noop) Kind() string { return "bench.noop" }

type client[TTx any] struct {
	river   *river.Client[TTx]
	place   Place[TTx]
	current atomic.Pointer[working]
}

func (c *client[TTx]) Insert(ctx context.Context, args system.Args) error {
	_, err := c.river.Insert(ctx, noop(args), nil)
	return err
}

func (c *client[TTx]) InsertMany(ctx context.Context, args []system.Args) error {
	params := make([]river.InsertManyParams, len(args))
	for i, a := range args {
		params[i].Args = noop(a)
	}
	if c.place.Begin != nil {
		return c.place.Begin(ctx, func(tx TTx) error {
			_, err := c.river.InsertManyFastTx(ctx, tx, params)
			return err
		})
	}
	_, err := c.river.InsertManyFast(ctx, params)
	return err
}

func (c *client[TTx]) Settle(ctx context.Context) error { return c.place.Settle(ctx) }

func (c *client[TTx]) FillHistory(ctx context.Context, jobs int) error {
	return c.place.FillHistory(ctx, jobs)
}

func (c *client[TTx]) Left(ctx context.Context) (int64, error) { return c.place.Left(ctx) }

func (c *client[TTx]) Close(context.Context) error { return c.place.Close() }

// eventBuffer is how many events may wait to be counted. River drops what does not fit.
const eventBuffer = 1 << 20

func (c *client[TTx]) Work(ctx context.Context, handle func(system.Args)) (system.Worker, error) {
	w := &working{handle: handle, stop: c.river.Stop}
	c.current.Store(w)
	var events <-chan *river.Event
	events, w.unsubscribe = c.river.SubscribeConfig(&river.SubscribeConfig{
		ChanSize: eventBuffer, Kinds: []river.EventKind{river.EventKindJobCompleted, river.EventKindJobFailed},
	})
	go func() {
		for event := range events {
			if event.Kind == river.EventKindJobCompleted {
				w.completed.Add(1)
			}
		}
	}()
	if err := c.river.Start(ctx); err != nil {
		return nil, fmt.Errorf("starting River: %w", err)
	}
	return w, nil
}

// Looks are the same questions as those to us; River has no counts.
func (c *client[TTx]) Looks() map[string]func(context.Context) error {
	list := func(params *river.JobListParams) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := c.river.JobList(ctx, params.First(pageSize))
			return err
		}
	}
	byID := func() *river.JobListParams {
		return river.NewJobListParams().OrderBy(river.JobListOrderByID, river.SortOrderDesc)
	}
	return map[string]func(context.Context) error{
		"list":           list(byID()),
		"list_completed": list(byID().States("completed")),
		"list_failed":    list(byID().States("discarded")),
		"list_kind":      list(byID().Kinds(noop{}.Kind())),
		"list_queue":     list(byID().Queues(river.QueueDefault)),
	}
}

const pageSize = 50

// working is a started client.
type working struct {
	handle      func(system.Args)
	handled     atomic.Int64
	completed   system.Counter
	stop        func(context.Context) error
	unsubscribe func()
	stopped     bool
}

func (w *working) Done() int64 { return w.completed.Count() }

func (w *working) Wait(ctx context.Context, jobs int64) error {
	return w.completed.Wait(ctx, jobs, nil)
}

// Stop returns how many handlers have returned: River stops when all that they did is committed.
func (w *working) Stop(ctx context.Context) (int64, error) {
	if w.stopped {
		return w.handled.Load(), nil
	}
	w.stopped = true
	err := w.stop(ctx)
	w.unsubscribe()
	return w.handled.Load(), err
}

type worker struct {
	river.WorkerDefaults[noop]
	current *atomic.Pointer[working]
}

func (w *worker) Work(_ context.Context, job *river.Job[noop]) error {
	now := w.current.Load()
	now.handle(system.Args(job.Args))
	now.handled.Add(1)
	return nil
}
