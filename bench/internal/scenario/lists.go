package scenario

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/bench/internal/figures"
	"github.com/holdfastdev/holdfast/bench/internal/system"
)

// lists asks for pages of jobs over very many finished ones, of which each has as many jobs as
// there are, up to its size: an empty page that goes on does not count.
func lists(ctx context.Context, e *Env) (figures.Sample, error) {
	listing := func(t *trial) (system.Listing, error) {
		client, ok := t.client.(system.Listing)
		if !ok {
			return nil, fmt.Errorf("lists over a history: %w", system.ErrUnsupported)
		}
		return client, nil
	}
	err := e.prepare(ctx, 0, func(t *trial) error {
		client, err := listing(t)
		if err != nil {
			return err
		}
		return client.FillLists(ctx, e.Sizes.Finished)
	})
	if err != nil {
		return figures.Sample{}, err
	}
	return e.try(ctx, 0, system.Options{}, func(t *trial) (int64, error) {
		client, err := listing(t)
		if err != nil {
			return 0, err
		}
		if err := t.begin(ctx); err != nil {
			return 0, err
		}
		looks, err := client.Lists(ctx)
		if err != nil {
			return 0, err
		}
		for name, look := range looks {
			took := make([]time.Duration, e.Sizes.Looks)
			for i := range took {
				began := time.Now()
				if err := look(ctx); err != nil {
					return 0, fmt.Errorf("%s: %w", name, err)
				}
				took[i] = time.Since(began)
			}
			p99 := figures.Milliseconds(figures.Percentile(took, 0.99))
			t.figures[name+"_p50_ms"], t.figures[name+"_p99_ms"] = figures.Milliseconds(figures.Percentile(took, 0.5)), p99
			t.figures["worst_p99_ms"] = max(t.figures["worst_p99_ms"], p99)
		}
		t.span.Mark()
		return int64(len(looks) * e.Sizes.Looks), nil
	})
}
