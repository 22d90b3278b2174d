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
	// stormDelay is after which time a job runs on average, and so for how long its key is taken:
	// keys are taken and freed all the time, and not in waves.
	stormDelay = time.Second
)

// storm lets many producers insert jobs with unique keys of a small set, of which most are taken.
// Half of them insert batches, in any order. Together they insert so many a second, or, if that is
// 0, as many as they can.
func storm(perSecond int) func(context.Context, *Env) (figures.Sample, error) {
	return func(ctx context.Context, e *Env) (figures.Sample, error) {
		sample, err := e.storm(ctx, perSecond)
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
}

func (e *Env) storm(ctx context.Context, perSecond int) (figures.Sample, error) {
	// A producer of batches inserts as often as one of single jobs.
	var every time.Duration
	if perSecond > 0 {
		every = time.Second * stormProducers * (1 + stormBatch) / 2 / time.Duration(perSecond)
	}
	return e.try(ctx, 0, system.Options{}, func(t *trial) (int64, error) {
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
			due := time.Now().Add(rand.N(every + 1))
			for batch := make([]system.Args, size); time.Now().Before(until); due = due.Add(every) {
				if every == 0 {
					due = time.Now()
				} else if err := system.Pause(ctx, time.Until(due)); err != nil {
					return err
				}
				for n := range batch {
					batch[n].Num = rand.IntN(stormKeys)
				}
				if err := client.InsertUnique(ctx, batch, stormDelay/2+rand.N(stormDelay)); err != nil {
					return err
				}
				watch.note(name, time.Since(due)) // one that was kept from beginning was late, too
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
