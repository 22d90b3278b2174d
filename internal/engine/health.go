package engine

import (
	"time"

	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/observer"
	"github.com/holdfastdev/holdfast/internal/supervise"
	"github.com/holdfastdev/holdfast/store"
)

// Unanswered is from when on the database counts as one that does not answer.
const Unanswered = logs.Unanswered

// Health is the state of the node of this process.
type Health struct {
	Node      int64 // 0: no node runs
	Leader    bool
	Mode      store.NodeMode
	BeatAt    time.Time // when its last beat succeeded; zero: none has
	Silent    time.Duration
	DeadBy    time.Duration // how long it may be silent
	RoundTrip time.Duration // of its last beat
	AwaySince time.Time     // since when calls of the store fail; zero: they succeed
	Full      bool          // they do because the disk is full
	Loops     map[string]time.Time
	Lag       time.Duration
	Running   int
	Pending   int   // outcomes that are not stored yet
	Dropped   int64 // events that hooks were not told of
	Troubles  []supervise.Trouble
}

// observed is what the process knows of itself, without asking the database.
func (e *Engine) observed() observer.Process {
	p := observer.Process{HooksDropped: e.hooks.Dropped()}
	if since := e.outage.Since(); !since.IsZero() {
		p.Away = time.Since(since) //nolint:forbidigo // by the clock of the process, as it was noted
	}
	for _, t := range e.guard.Troubles() {
		p.Panics += int64(t.Panics)
	}
	for _, n := range *e.nodes.Load() {
		o := observer.Node{
			Namespace: n.runner.namespace, Leader: n.leader.Load(), Slots: n.cfg.Slots, Running: n.slots.Running(),
			Pending: int(max(n.pending.Load(), 0)), Lag: n.slots.Lag(n.store.Now()),
		}
		if at, _ := n.heart.lastBeat(); !at.IsZero() {
			o.Silent = time.Since(at) //nolint:forbidigo // by the monotonic clock
		}
		p.Nodes = append(p.Nodes, o)
	}
	return p
}

// Health returns the state of the node, without asking the database.
func (r *Runner) Health() Health {
	r.engine.mu.Lock()
	n := r.node
	r.engine.mu.Unlock()
	h := Health{Troubles: r.engine.guard.Troubles(), Dropped: r.engine.hooks.Dropped()}
	h.AwaySince, h.Full = r.engine.outage.Since(), r.engine.outage.IsFull()
	if n == nil {
		return h
	}
	h.Mode = n.mode.known()
	h.Node, h.Leader, h.Running = n.id.Load(), n.leader.Load(), n.slots.Running()
	h.DeadBy, h.Pending = n.cfg.DeadAfter, int(max(n.pending.Load(), 0))
	h.BeatAt, h.RoundTrip = n.heart.lastBeat()
	h.Loops, h.Lag = n.turns.All(), n.slots.Lag(n.store.Now())
	if !h.BeatAt.IsZero() {
		h.Silent = time.Since(h.BeatAt) //nolint:forbidigo // by the monotonic clock
	}
	return h
}
