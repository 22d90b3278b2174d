package engine

import (
	"context"
	"log/slog"
	"time"

	"github.com/holdfastdev/holdfast/internal/duty"
	"github.com/holdfastdev/holdfast/internal/facts"
	"github.com/holdfastdev/holdfast/internal/gauges"
	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/store"
)

const (
	// mergeEvery is how often it is looked whether there are minutes to make hours of.
	mergeEvery = time.Minute
	// lastWrite is how long a node that stops waits for its last minute to be written.
	lastWrite = 2 * time.Second
)

// newFacts returns what counts for the node, or nil if nothing does.
func (n *node) newFacts() *facts.Keeper {
	if n.engine.cfg.NoFacts {
		return nil
	}
	return facts.New(facts.Parts{
		Store: n.store, Namespace: n.runner.namespace, Name: n.cfg.Name,
		Measure: func(values map[string]float64) {
			values[gauges.Slots], values[gauges.SlotsUsed] = float64(n.cfg.Slots), float64(n.slots.Running())
			if _, took := n.heart.lastBeat(); took > 0 {
				values[gauges.BeatSeconds] = took.Seconds()
			}
		},
	})
}

// writeFacts writes what was counted after each beat that got through. A write that hangs holds up
// no beat.
func (n *node) writeFacts(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.factsNow:
		}
		call, cancel := context.WithTimeout(ctx, store.CallTimeout)
		err := n.facts.Write(call, n.leader.Load())
		cancel()
		if err != nil && ctx.Err() == nil {
			n.outage.Stumbled(duty.Facts, err)
		}
	}
}

// lastFacts writes what was counted since the last beat, if the database answers.
func (n *node) lastFacts(ctx context.Context, stop Stop, answers bool) {
	if !answers || stop.Hard.Err() != nil {
		return
	}
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWrite)
	defer cancel()
	n.engine.guard.Try("facts", func() {
		if err := n.facts.Write(call, false); err != nil {
			n.outage.Stumbled(duty.Facts, err)
		}
	})
}

// lostFacts writes what a maintenance has counted as lost. That is told by the number of a node, as
// others may write at the same moment.
func (n *node) lostFacts(ctx context.Context) {
	if n.facts == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWrite)
	defer cancel()
	if n.id.Load() == 0 {
		if err := n.join(ctx); err != nil {
			n.outage.Stumbled(duty.Facts, err)
			return
		}
	}
	n.lastFacts(ctx, Stop{Hard: ctx}, true)
}

// mergeFacts makes hours of minutes that are old.
func (n *node) mergeFacts(ctx context.Context) error {
	if n.facts == nil {
		return nil
	}
	lost, err := facts.Merge(ctx, n.store)
	if lost > 0 {
		n.lines.Say(slog.LevelWarn, logs.About{}, "counts of a later program could not be read and are lost", slog.Int(logs.KeyEntries, lost))
	}
	return err
}
