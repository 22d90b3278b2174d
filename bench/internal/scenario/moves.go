package scenario

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast/bench/internal/figures"
	"github.com/holdfastdev/holdfast/bench/internal/system"
)

// moveWork is how long a job has the one slot of the limit for which another one waits.
const moveWork = 20 * time.Millisecond

// moves measures how long a slot takes from one node to another: from the end of the handler that
// has the only one of a limit, before its commit, to the handler that waits for it on the other
// node; and the part of that from when the end is committed, which frees the slot. The nodes have a
// queue each and take turns.
func moves(ctx context.Context, e *Env) (figures.Sample, error) {
	watch := newStopwatch()
	began := make(chan struct{}, 1)
	start := time.Now()
	var ended, freed atomic.Int64 // when the handler that ran before has, and when that was committed, since start
	handle := func(system.Args) {
		if before := ended.Load(); before > 0 {
			now := time.Since(start)
			watch.note("move", now-time.Duration(before))
			if free := freed.Swap(0); free > before {
				watch.note("freed", now-time.Duration(free))
			}
		}
		began <- struct{}{}
		system.Pause(ctx, moveWork) //nolint:errcheck // its work
		ended.Store(int64(time.Since(start)))
	}
	of := func(queue int) system.Options {
		return system.Options{
			Limit: 1, Queues: []system.Queue{{Name: queueName(queue), Slots: defaultSlots}},
			Ended: func() { freed.Store(int64(time.Since(start))) },
		}
	}
	return e.try(ctx, 0, of(0), func(t *trial) (jobs int64, err error) {
		other, err := e.System.Open(ctx, e.Databases[0], of(1))
		if err != nil {
			return 0, err
		}
		t.after = append(t.after, other.Close)
		here, ok := t.client.(system.Naming)
		there, alike := other.(system.Naming)
		if !ok || !alike {
			return 0, fmt.Errorf("queues: %w", system.ErrUnsupported)
		}
		clients, workers := []system.Naming{here, there}, [2]system.Worker{}
		for i, c := range []system.Client{t.client, other} {
			if workers[i], err = c.Work(ctx, handle); err != nil {
				return 0, err
			}
		}
		err = t.begin(ctx)
		for until := time.Now().Add(seconds(e.Sizes.Seconds)); err == nil && time.Now().Before(until); jobs++ {
			into := int(jobs % 2)
			err = clients[into].InsertInto(ctx, make([]system.Args, 1), func(int) string { return queueName(into) })
			if err == nil {
				err = receive(ctx, began)
			}
		}
		for _, w := range workers {
			_, stopped := w.Stop(ctx)
			err = errors.Join(err, stopped)
		}
		if err != nil {
			return jobs, err
		}
		watch.tell(t.figures)
		t.figures[figures.P99] = t.figures["move_p99_ms"]
		return jobs, t.empty(ctx)
	})
}

func receive(ctx context.Context, from <-chan struct{}) error {
	select {
	case <-from:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// whyAsked is how often it is asked why a job does not run.
const whyAsked = 300

// why asks why jobs do not run, of which very many wait that nobody works.
func why(ctx context.Context, e *Env) (figures.Sample, error) {
	return e.try(ctx, 0, system.Options{}, func(t *trial) (int64, error) {
		client, ok := t.client.(system.Explaining)
		if !ok {
			return 0, fmt.Errorf("explaining: %w", system.ErrUnsupported)
		}
		if err := t.fill(ctx, e.Sizes.Large); err != nil {
			return 0, err
		}
		jobs, err := client.SomeWaiting(ctx, whyAsked)
		if err == nil {
			err = t.begin(ctx)
		}
		watch := newStopwatch()
		for _, id := range jobs {
			began := time.Now()
			err = errors.Join(err, client.Why(ctx, id))
			watch.note("why", time.Since(began))
		}
		t.span.Mark()
		watch.tell(t.figures)
		t.figures[figures.P99] = t.figures["why_p99_ms"]
		return int64(len(jobs)), err
	})
}
