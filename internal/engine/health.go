package engine

import (
	"time"

	"github.com/holdfastdev/holdfast/internal/supervise"
	"github.com/holdfastdev/holdfast/store"
)

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
	Loops     map[string]time.Time
	Lag       time.Duration
	Running   int
	Pending   int   // outcomes that are not stored yet
	Dropped   int64 // events that hooks were not told of
	Troubles  []supervise.Trouble
}

// Health returns the state of the node, without asking the database.
func (r *Runner) Health() Health {
	r.engine.mu.Lock()
	n := r.node
	r.engine.mu.Unlock()
	h := Health{Troubles: r.engine.guard.Troubles(), Dropped: r.engine.hooks.Dropped(), AwaySince: r.engine.outage.Since()}
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
