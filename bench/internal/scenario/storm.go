package scenario

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast/bench/internal/figures"
	"github.com/holdfastdev/holdfast/bench/internal/meter"
	"github.com/holdfastdev/holdfast/bench/internal/system"
)

// The producers of a storm, the clients that they share, and what they want.
const (
	stormProducers = 64
	stormClients   = 4
	stormKeys      = 5000
	stormBatch     = 10
	// stormDelay is when a job that was stored runs, and so for how long its key is taken at the
	// least: keys are taken and freed all the time.
	stormDelay = time.Second
)

// storm lets many producers insert jobs with unique keys of a small set, of which most are taken.
// Half of them insert batches, in any order.
func storm(ctx context.Context, e *Env) (figures.Sample, error) {
	sample, err := e.try(ctx, 0, system.Options{}, func(t *trial) (int64, error) {
		clients, err := t.clients(ctx, stormClients)
		if err != nil {
			return 0, err
		}
		var ran, asked atomic.Int64
		if _, err := t.work(ctx, func(system.Args) { ran.Add(1) }); err != nil {
			return 0, err
		}
		if err := t.begin(ctx); err != nil {
			return 0, err
		}
		watch := newStopwatch()
		var producer atomic.Int64
		until := time.Now().Add(seconds(e.Sizes.Seconds))
		err = together(stormProducers, func() error {
			i := int(producer.Add(1))
			client, name, size := clients[i%len(clients)], "single", 1
			if i/len(clients)%2 == 0 {
				name, size = "batch", stormBatch
			}
			for batch := make([]system.Args, size); time.Now().Before(until); {
				for n := range batch {
					batch[n].Num = rand.IntN(stormKeys)
				}
				began := time.Now()
				if err := client.InsertUnique(ctx, batch, stormDelay); err != nil {
					return err
				}
				watch.note(name, time.Since(began))
				asked.Add(int64(size))
			}
			return nil
		})
		t.span.Mark()
		if err != nil {
			return 0, err
		}
		watch.tell(t.figures)
		figures.Latencies(t.figures, watch.all("single", "batch"))
		err = t.finished(ctx)
		t.figures["stored_share"] = float64(ran.Load()) / float64(asked.Load())
		return asked.Load(), err
	})
	if err != nil {
		return sample, err
	}
	// Sessions tell it when they end.
	m, err := meter.Open(ctx, e.Databases[0])
	if err != nil {
		return sample, err
	}
	deadlocks, err := m.Deadlocks(ctx)
	if deadlocks >= 0 {
		sample.Figures["deadlocks"] = float64(deadlocks)
	}
	return sample, errors.Join(err, m.Close(ctx))
}

// clients are that of the trial and others with connections of their own.
func (t *trial) clients(ctx context.Context, count int) (list []system.Naming, err error) {
	first, err := t.naming()
	if err != nil {
		return nil, err
	}
	list = append(list, first)
	for len(list) < count {
		c, err := t.env.System.Open(ctx, t.env.Databases[0], system.Options{})
		if err != nil {
			return nil, err
		}
		t.after = append(t.after, c.Close)
		if naming, ok := c.(system.Naming); ok {
			list = append(list, naming)
		}
	}
	return list, nil
}
