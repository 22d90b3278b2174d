// Package ours is Holdfast as a system under measurement: through its public API, with the settings
// that a user gets who sets nothing. Only durable functions of which more than the default number
// of slots shall run at once get as many slots.
//
// A handler knows when it has returned, not when its outcome is committed. Work is therefore
// counted as done when the node has stopped, which it does after it has committed what it ran; the
// time of the stop is part of what is measured.
package ours

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/bench/internal/system"
	"github.com/holdfastdev/holdfast/fair"
	"github.com/holdfastdev/holdfast/limit"
	"github.com/holdfastdev/holdfast/store/dsn"
)

// Name is what the results call it.
const Name = "holdfast"

const (
	defaultSlots = 100
	openTimeout  = 30 * time.Second
)

var (
	noop   = holdfast.NewKind[system.Args, struct{}]("bench.noop")
	flow   = holdfast.NewKind[int, struct{}]("bench.flow")
	parent = holdfast.NewKind[int, int]("bench.parent")
	park   = holdfast.NewKind[int, struct{}]("bench.park")
	goOn   = holdfast.NewSignal[struct{}]("go on")
)

// System is Holdfast.
type System struct{}

// Name is its name.
func (System) Name() string { return Name }

// Settings says how many slots a node has.
func (System) Settings(system.Database) map[string]string {
	return map[string]string{"slots": strconv.Itoa(defaultSlots) + " (default)"}
}

// Open opens the database and registers the handlers.
func (System) Open(ctx context.Context, db system.Database, opts system.Options) (system.Client, error) {
	source, err := dsn.Parse(db.URL)
	if err != nil {
		return nil, err
	}
	if opts.Ended != nil {
		source = telling{source, opts.Ended}
	}
	level := slog.LevelWarn
	if opts.Quiet {
		level = slog.LevelError
	}
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	options := []holdfast.Option{holdfast.WithLogger(logger)}
	if opts.Slots > 0 {
		options = append(options, holdfast.WithSlots(opts.Slots))
	}
	for _, q := range opts.Queues {
		options = append(options, holdfast.WithQueue(q.Name, q.Slots))
	}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	hf, err := holdfast.Open(ctx, source, options...)
	if err != nil {
		return nil, err
	}
	c := &client{hf: hf, db: db, steps: opts.Steps, fairKeys: opts.FairKeys, limitKeys: opts.LimitKeys}
	if opts.LimitKeys > 0 {
		_, err = limit.Set(ctx, hf, perKey, limit.PerKey(), limit.Capacity(cmp.Or(opts.KeyCapacity, perKeyCapacity)))
	}
	if err == nil && opts.Rate > 0 {
		_, err = limit.Set(ctx, hf, "rate", limit.Rate(opts.Rate, time.Second))
	}
	if err == nil && opts.Limit > 0 {
		_, err = limit.Set(ctx, hf, "bench", limit.Capacity(opts.Limit))
	}
	if err := errors.Join(err, c.register()); err != nil {
		return nil, errors.Join(err, hf.Close(ctx))
	}
	return c, nil
}

// perKey is a limit per key that does not bind: a node claims fewer jobs of one key at once.
const (
	perKey         = "each"
	perKeyCapacity = 100
)

type client struct {
	hf    *holdfast.Client
	db    system.Database
	steps int

	fairKeys  int
	limitKeys int

	worker  atomic.Pointer[worker]
	callers callers
	holding *holding

	appended atomic.Pointer[func(took time.Duration)] // is told how long appends of streams took
}

func (c *client) register() error {
	return errors.Join(
		noop.Handle(c.hf, func(_ *holdfast.Run, args system.Args) (struct{}, error) {
			w := c.worker.Load()
			w.handle(args)
			w.done.Add(1)
			return struct{}{}, nil
		}),
		flow.Handle(c.hf, func(run *holdfast.Run, _ int) (struct{}, error) {
			for i := range c.steps {
				if _, err := holdfast.Step(run, "step", func(context.Context) (int, error) { return i, nil }); err != nil {
					return struct{}{}, err
				}
			}
			return struct{}{}, nil
		}),
		parent.Handle(c.hf, func(run *holdfast.Run, children int) (int, error) {
			results, err := noop.CallAll(run, make([]system.Args, children), holdfast.FanOut{})
			return len(results), err
		}),
		park.Handle(c.hf, func(run *holdfast.Run, i int) (struct{}, error) {
			if i%2 == 0 {
				return struct{}{}, run.Sleep(240 * time.Hour)
			}
			_, err := goOn.Wait(run)
			return struct{}{}, err
		}),
		asked.Handle(c.hf, answer),
		decides.Handle(c.hf, decide),
		streams.Handle(c.hf, c.stream),
		held.Handle(c.hf, c.hold),
		heldStep.Handle(c.hf, c.holdStep),
	)
}

func (c *client) Insert(ctx context.Context, args system.Args) error {
	_, err := noop.Enqueue(ctx, c.hf, args)
	return told(err)
}

func (c *client) InsertMany(ctx context.Context, args []system.Args) error {
	if c.fairKeys > 0 {
		return c.insertItems(ctx, args, func(i int) holdfast.EnqueueOption { return fair.Key(strconv.Itoa(args[i].Num % c.fairKeys)) })
	}
	if c.limitKeys > 0 {
		return c.insertItems(ctx, args, func(i int) holdfast.EnqueueOption { return limit.By(perKey, strconv.Itoa(args[i].Num%c.limitKeys)) })
	}
	_, err := noop.EnqueueMany(ctx, c.hf, args)
	return err
}

// Settle does nothing: users have no such button.
func (c *client) Settle(context.Context) error { return nil }

func (c *client) Left(ctx context.Context) (int64, error) {
	queues, err := c.hf.Queues(ctx)
	left := int64(0)
	for _, q := range queues {
		for _, count := range q.Counts {
			left += int64(count.N)
		}
	}
	return left, err
}

func (c *client) Close(ctx context.Context) error {
	err := c.hf.Close(ctx)
	c.callers.close()
	return err
}

// Work starts the node.
func (c *client) Work(ctx context.Context, handle func(system.Args)) (system.Worker, error) {
	running, stop := context.WithCancel(ctx)
	w := &worker{client: c, handle: handle, stop: stop, ended: make(chan error, 1)}
	c.worker.Store(w)
	go func() { w.ended <- c.hf.Run(running) }()
	return w, nil
}

type worker struct {
	client  *client
	handle  func(system.Args)
	done    system.Counter
	stop    context.CancelFunc
	ended   chan error
	stopped bool
}

func (w *worker) Done() int64 { return w.done.Count() }

func (w *worker) Wait(ctx context.Context, jobs int64) error {
	if err := w.done.Wait(ctx, jobs, w.ended); err != nil {
		return err
	}
	_, err := w.Stop(ctx)
	return err
}

// Stop lets the node finish what it runs. Not with the client's Stop, which is final: a scenario
// may start another node.
func (w *worker) Stop(ctx context.Context) (int64, error) {
	w.stop()
	if !w.stopped {
		select {
		case err := <-w.ended:
			w.stopped = true
			if err != nil {
				return 0, err
			}
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	return w.done.Count(), nil
}
