package engine

import (
	"time"

	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/supervise"
	"github.com/holdfastdev/holdfast/store"
)

// failed records a failed beat. After two beat intervals without a success the node stops acting as
// the leader.
func (h *heart) failed(now time.Time, err error) {
	h.mu.Lock()
	silent := now.Sub(h.at)
	h.mu.Unlock()
	h.node.outage.Failed(logs.CallBeat, err)
	if silent > 2*h.node.cfg.Beat {
		h.node.leader.Store(false)
	}
}

func (h *heart) note(now time.Time, took time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at, h.took = now, took
}

// lastBeat is when the last beat succeeded, and how long it took.
func (h *heart) lastBeat() (at time.Time, took time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.at, h.took
}

// setDead requests the rescue of nodes that were found dead.
func (h *heart) setDead(dead []store.NodeBeat) {
	h.mu.Lock()
	h.dead = dead
	h.mu.Unlock()
	if len(dead) > 0 {
		supervise.Signal(h.node.rescueNow)
	}
}

// deadNodes are the nodes that the last beat found dead.
func (h *heart) deadNodes() []store.NodeBeat {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.dead
}

// setLost requests that leaked leases are given up: those that the last beat found, and no others.
func (h *heart) setLost(lost []store.Lease) {
	h.mu.Lock()
	h.lost = lost
	h.mu.Unlock()
	if len(lost) > 0 {
		supervise.Signal(h.node.giveUpNow)
	}
}

// takeLost returns up to limit of them, each once.
func (h *heart) takeLost(limit int) (lost []store.Lease) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := min(limit, len(h.lost))
	lost, h.lost = h.lost[:n:n], h.lost[n:]
	return lost
}

// request triggers the duties of a leader that have work. The next beat reports what failed or came
// later.
func (n *node) request(work store.Work) {
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
