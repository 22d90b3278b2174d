package scenario

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/bench/internal/figures"
	"github.com/holdfastdev/holdfast/bench/internal/system"
)

// pickupPatience is how long the last jobs may take to start, beyond three times the span: River's
// defaults allow a third of the highest rate.
const pickupPatience = 30 * time.Second

// pickup inserts jobs singly at an even rate, whatever becomes of them, and measures from the
// beginning of each insert, its commit included, to the first line of its handler, in one process.
func pickup(perSecond int) func(context.Context, *Env) (figures.Sample, error) {
	return pickupOf(perSecond, system.Options{})
}

func pickupOf(perSecond int, opts system.Options) func(context.Context, *Env) (figures.Sample, error) {
	return func(ctx context.Context, e *Env) (figures.Sample, error) {
		return pickupWith(perSecond)(ctx, e, 0, opts)
	}
}

func pickupWith(perSecond int) measured {
	return func(ctx context.Context, e *Env, part int, opts system.Options) (figures.Sample, error) {
		return e.try(ctx, part, opts, func(t *trial) (int64, error) {
			var mu sync.Mutex
			var took []time.Duration
			if err := t.client.Settle(ctx); err != nil {
				return 0, err
			}
			worker, err := t.work(ctx, func(args system.Args) {
				d := time.Duration(time.Now().UnixNano() - args.At)
				mu.Lock()
				took = append(took, d)
				mu.Unlock()
			})
			if err != nil {
				return 0, err
			}
			if err := system.Pause(ctx, 500*time.Millisecond); err != nil {
				return 0, err
			}
			if err := t.begin(ctx); err != nil {
				return 0, err
			}
			sent, err := evenly(ctx, perSecond, seconds(e.Sizes.Seconds), func() error {
				return t.client.Insert(ctx, system.Args{At: time.Now().UnixNano()})
			})
			if err != nil {
				return 0, err
			}
			late, cancel := context.WithTimeout(ctx, pickupPatience+3*seconds(e.Sizes.Seconds))
			defer cancel()
			if err := worker.Wait(late, sent); err != nil {
				return 0, fmt.Errorf("%d of %d jobs ran: %w", worker.Done(), sent, err)
			}
			if err := t.empty(ctx); err != nil {
				return 0, err
			}
			mu.Lock()
			defer mu.Unlock()
			figures.Latencies(t.figures, took)
			return sent, nil
		})
	}
}

// evenly calls f so often a second, each call in a goroutine of its own, and returns how often when
// all have returned.
func evenly(ctx context.Context, perSecond int, span time.Duration, f func() error) (calls int64, err error) {
	interval := time.Second / time.Duration(perSecond)
	total := max(int64(span/interval), 1)
	failed := make(chan error, total)
	began := time.Now()
	for i := range total {
		if wait := time.Until(began.Add(time.Duration(i) * interval)); wait > 0 {
			if err := system.Pause(ctx, wait); err != nil {
				return i, err
			}
		}
		go func() { failed <- f() }()
	}
	for range total {
		if e := <-failed; e != nil && err == nil {
			err = e
		}
	}
	return total, err
}
