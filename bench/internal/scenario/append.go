package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/bench/internal/figures"
	"github.com/holdfastdev/holdfast/bench/internal/system"
)

// severalTimes is how much larger the larger of two appends is.
const severalTimes = 4

// appends lets a durable function store many entries of its journal at once, and another one start
// as many children, while others insert jobs: first as many as one parent has children, and then
// several times as many.
func appends(ctx context.Context, e *Env) (figures.Sample, error) {
	return e.try(ctx, 0, system.Options{}, func(t *trial) (int64, error) {
		remembering, ok := t.client.(system.Remembering)
		parent, hasChildren := t.client.(system.FanOut)
		if !ok || !hasChildren {
			return 0, fmt.Errorf("durable functions: %w", system.ErrUnsupported)
		}
		o := t.others(t.plainly())
		if _, err := t.work(ctx, o.handle); err != nil {
			return 0, err
		}
		if err := o.during(ctx, "warm", e.Sizes.Phase/4); err != nil {
			return 0, err
		}
		if err := t.begin(ctx); err != nil {
			return 0, err
		}
		if err := o.during(ctx, "before", e.Sizes.Phase); err != nil {
			return 0, err
		}
		for _, step := range []struct {
			name  string
			count int
			do    func(context.Context, int) error
		}{
			{"entries", e.Sizes.Children, remembering.Remember},
			{"more_entries", severalTimes * e.Sizes.Children, remembering.Remember},
			{"children", e.Sizes.Children, parent.FanOut},
			{"more_children", severalTimes * e.Sizes.Children, parent.FanOut},
		} {
			end := o.begin(ctx, step.name)
			began := time.Now()
			err := step.do(ctx, step.count)
			t.figures[step.name+"_s"] = time.Since(began).Seconds()
			if err = errors.Join(err, end()); err != nil {
				return 0, fmt.Errorf("%d %s: %w", step.count, step.name, err)
			}
			if err := t.finished(ctx); err != nil {
				return 0, err
			}
		}
		t.span.Mark()
		o.watch.tell(t.figures)
		t.figures["worst_insert_p99_ms"] = max(
			t.figures["insert_entries_p99_ms"], t.figures["insert_more_entries_p99_ms"],
			t.figures["insert_children_p99_ms"], t.figures["insert_more_children_p99_ms"],
		)
		t.figures["gave_up"] = float64(o.gaveUp.Load())
		return o.put.Load(), nil
	})
}
