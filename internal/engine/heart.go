package engine

import (
	"time"

	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/supervise"
	"github.com/holdfastdev/holdfast/store"
)

// failed notes a beat that did not get through. Whoever cannot beat judges nobody, not even itself.
func (h *heart) failed(now time.Time, err error) {
	h.mu.Lock()
	silent := now.Sub(h.at)
	h.mu.Unlock()
	h.node.outage.Failed(logs.CallBeat, err)
	if silent > 2*h.node.cfg.Beat {
		h.node.leader.Store(false)
	}
}

func (h *heart) noteAt(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at = now
}

// beatAt is when the last beat got through.
func (h *heart) beatAt() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.at
}

// bury has nodes that were found dead rescued.
func (h *heart) bury(dead []store.NodeBeat) {
	h.mu.Lock()
	h.dead = dead
	h.mu.Unlock()
	if len(dead) > 0 {
		supervise.Signal(h.node.rescueNow)
	}
}

// buried are the nodes that the last beat found dead.
func (h *heart) buried() []store.NodeBeat {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.dead
}

// miss has leases given up that nobody works on: those that the last beat found, and no others.
func (h *heart) miss(lost []store.Lease) {
	h.mu.Lock()
	h.lost = lost
	h.mu.Unlock()
	if len(lost) > 0 {
		supervise.Signal(h.node.giveUpNow)
	}
}

// missed returns the next few of them, each once.
func (h *heart) missed(limit int) (lost []store.Lease) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := min(limit, len(h.lost))
	lost, h.lost = h.lost[:n:n], h.lost[n:]
	return lost
}

// tell asks for the duties of a leader that have something to do. What fails, or comes later, is in the answer of the next beat.
func (n *node) tell(work store.Work) {
	if work.Rescue {
		supervise.Signal(n.rescueNow)
	}
	if work.SweepCancels {
		supervise.Signal(n.sweepNow)
	}
	if work.CloseChildren {
		supervise.Signal(n.closeNow)
	}
}
