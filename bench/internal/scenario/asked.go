package scenario

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/bench/internal/figures"
	"github.com/holdfastdev/holdfast/bench/internal/system"
)

// askedAtMost is how many requests one function is asked: it replays what it has handled before.
const askedAtMost = 20

// updates measures from a request to a durable function that is parked to its answer, by one caller
// in the process of the node.
func updates(ctx context.Context, e *Env) (figures.Sample, error) {
	return e.try(ctx, 0, system.Options{}, func(t *trial) (int64, error) {
		client, ok := t.client.(system.Asking)
		if !ok {
			return 0, fmt.Errorf("requests to durable functions: %w", system.ErrUnsupported)
		}
		if _, err := t.work(ctx, ignore); err != nil {
			return 0, err
		}
		if _, err := askParked(ctx, client, time.Now()); err != nil { // the statements are prepared
			return 0, err
		}
		if err := t.begin(ctx); err != nil {
			return 0, err
		}
		var took []time.Duration
		for until := time.Now().Add(seconds(e.Sizes.Seconds)); time.Now().Before(until); {
			more, err := askParked(ctx, client, until)
			if err != nil {
				return 0, err
			}
			took = append(took, more...)
		}
		t.span.Mark()
		figures.Latencies(t.figures, took)
		return int64(len(took)), nil
	})
}

// askParked asks a new function, each time when it is parked, and returns how long the answers
// took.
func askParked(ctx context.Context, client system.Asking, until time.Time) (took []time.Duration, err error) {
	job, err := client.Asked(ctx)
	if err != nil {
		return nil, err
	}
	for i := 0; i < askedAtMost && (i == 0 || time.Now().Before(until)); i++ {
		if err := client.Parked(ctx, job); err != nil {
			return nil, err
		}
		began := time.Now()
		if err := client.Ask(ctx, job); err != nil {
			return nil, err
		}
		took = append(took, time.Since(began))
	}
	return took, nil
}
