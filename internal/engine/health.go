package engine

import (
	"time"

	"github.com/holdfastdev/holdfast/internal/supervise"
)

// Health is how the node of this process is.
type Health struct {
	Node     int64 // 0: there is none
	Leader   bool
	BeatAt   time.Time // when its last beat got through; zero: none did yet
	Silent   time.Duration
	DeadBy   time.Duration // how long it may be silent
	Running  int
	Pending  int // outcomes that are not stored yet
	Troubles []supervise.Trouble
}

// Health tells how the node is, without asking the database.
func (r *Runner) Health() Health {
	r.engine.mu.Lock()
	n := r.node
	r.engine.mu.Unlock()
	h := Health{Troubles: r.engine.guard.Troubles()}
	if n == nil {
		return h
	}
	h.Node, h.Leader, h.Running = n.id.Load(), n.leader.Load(), n.slots.running()
	h.BeatAt, h.DeadBy, h.Pending = n.heart.beatAt(), n.cfg.DeadAfter, int(max(n.pending.Load(), 0))
	if !h.BeatAt.IsZero() {
		h.Silent = time.Since(h.BeatAt) //nolint:forbidigo // by the monotonic clock
	}
	return h
}
