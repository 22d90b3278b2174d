package engine

import (
	"context"
	"fmt"

	"github.com/holdfastdev/holdfast/internal/commit"
	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/replay"
	"github.com/holdfastdev/holdfast/store"
)

// What is here is for nodes that are not of this process, and whose calls a server makes for them.

// Settings are those of the nodes of this engine.
func (e *Engine) Settings() NodeConfig { return e.cfg.Node }

// MaxJournal is how much a run may remember.
func (e *Engine) MaxJournal() replay.JournalLimit { return e.cfg.MaxJournal }

// StartElsewhere lets jobs start on such nodes: see commit.Committer.
func (e *Engine) StartElsewhere(reserve func([]*store.Enqueue) *commit.Starting) {
	e.commit.ReserveElsewhere(reserve)
}

// Settle commits units of runs, and returns when it is known what became of all of them: each says
// so itself, by its operations' errors, and one that could not be committed by the error of its
// place. If ctx ends before that, the error is ErrUnavailable: they may happen still, and nothing
// in them may be used any more.
func (e *Engine) Settle(ctx context.Context, units []*store.Unit) ([]error, error) {
	if e.isClosed() {
		return nil, store.ErrClosed
	}
	type answer struct {
		at  int
		err error
	}
	answers := make(chan answer, len(units))
	for i, u := range units {
		e.commit.Settle(ctx, u, func(err error) { answers <- answer{i, err} })
	}
	errs := make([]error, len(units))
	for range units {
		select {
		case a := <-answers:
			errs[a.at] = a.err
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: gave up waiting for the commit: %w", store.ErrUnavailable, context.Cause(ctx))
		}
	}
	return errs, nil
}

// StartedElsewhere counts a run that begins on a node that is not of this process, and tells hooks
// of it. It is counted as one of a node of this process, if there is one.
func (e *Engine) StartedElsewhere(c *store.Claimed) {
	if nodes := *e.nodes.Load(); len(nodes) > 0 {
		nodes[0].facts.Started(&c.Job, c.ClaimedAt, waited(c, c.ClaimedAt))
	}
	e.hooks.Started(c, c.ClaimedAt, waited(c, c.ClaimedAt))
}

// EndedElsewhere does the same for one whose outcome was stored.
func (e *Engine) EndedElsewhere(o *store.Outcome, kind string, attempt int) {
	now := e.Store.Now()
	took := max(now.Sub(o.StartedAt), 0)
	if nodes := *e.nodes.Load(); len(nodes) > 0 {
		nodes[0].facts.Ended(now, o, kind, took)
	}
	e.hooks.Ended(o, logs.About{Kind: kind, Attempt: attempt, Job: o.Lease.Job, Queue: o.Queue}, took)
}

// GiveUp gives up leases of living nodes that no run works on: their jobs become what they would if
// the node were dead.
func (e *Engine) GiveUp(ctx context.Context, lost []store.Lease) (store.Rescued, error) {
	rescued, err := e.Store.Rescue(ctx, store.RescueParams{Lost: lost})
	e.hooks.Rescued(&rescued)
	var ended []store.ID
	for _, r := range rescued.Jobs {
		if r.State.Finished() {
			ended = append(ended, r.Job)
		}
	}
	e.announce(append(rescued.Wakes, e.tellEnded(ended)...)...)
	return rescued, err
}

// Leave ends a node that is not of this process, and gives its jobs back.
func (e *Engine) Leave(ctx context.Context, node int64) error {
	wakes, err := e.Store.Leave(ctx, node)
	e.announce(wakes...)
	return err
}

// Tell tells the nodes of this process, and the other processes.
func (e *Engine) Tell(wakes ...store.Wake) { e.announce(wakes...) }
