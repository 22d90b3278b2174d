package scenario

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/bench/internal/figures"
	"github.com/holdfastdev/holdfast/bench/internal/system"
)

// defaultSlots is how many jobs a node of ours runs at once by default.
const defaultSlots = 100

// flows lets so many callers start a durable function each, wait for its end, and start the next
// one. A latency is that of a whole function.
func flows(steps, atOnce int) func(context.Context, *Env) (figures.Sample, error) {
	return func(ctx context.Context, e *Env) (figures.Sample, error) {
		opts := system.Options{Steps: steps}
		if atOnce > defaultSlots {
			opts.Slots = atOnce
		}
		return e.try(ctx, 0, opts, func(t *trial) (int64, error) {
			client, ok := t.client.(system.Flows)
			if !ok {
				return 0, fmt.Errorf("durable functions: %w", system.ErrUnsupported)
			}
			if _, err := t.work(ctx, ignore); err != nil {
				return 0, err
			}
			// The connections are made and the statements are prepared.
			if err := together(min(atOnce, 16), func() error { return client.Flow(ctx) }); err != nil {
				return 0, err
			}
			if err := t.begin(ctx); err != nil {
				return 0, err
			}
			var mu sync.Mutex
			var took []time.Duration
			until := time.Now().Add(seconds(e.Sizes.Seconds))
			err := together(atOnce, func() error {
				var mine []time.Duration
				for began := time.Now(); began.Before(until); {
					if err := client.Flow(ctx); err != nil {
						return err
					}
					now := time.Now()
					mine, began = append(mine, now.Sub(began)), now
				}
				mu.Lock()
				defer mu.Unlock()
				took = append(took, mine...)
				return nil
			})
			t.span.Mark()
			figures.Latencies(t.figures, took)
			return int64(len(took)), err
		})
	}
}

// fanOut lets one durable function start its children and wait for all of them.
func fanOut(ctx context.Context, e *Env) (figures.Sample, error) {
	return e.try(ctx, 0, system.Options{}, func(t *trial) (int64, error) {
		client, ok := t.client.(system.FanOut)
		if !ok {
			return 0, fmt.Errorf("children: %w", system.ErrUnsupported)
		}
		if _, err := t.work(ctx, ignore); err != nil {
			return 0, err
		}
		if err := client.FanOut(ctx, 1); err != nil {
			return 0, err
		}
		if err := t.begin(ctx); err != nil {
			return 0, err
		}
		if err := client.FanOut(ctx, e.Sizes.Children); err != nil {
			return 0, err
		}
		return int64(e.Sizes.Children), t.empty(ctx)
	})
}
