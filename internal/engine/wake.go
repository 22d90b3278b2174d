package engine

import (
	"github.com/holdfastdev/holdfast/internal/supervise"
	"github.com/holdfastdev/holdfast/store"
)

// wake reacts to a wake-up. It does not block.
func (n *node) wake(w store.Wake) {
	if !w.Concerns(n.runner.namespace) {
		return
	}
	switch w.Kind {
	case store.WakeReady, store.WakeQueue:
		n.tuning.Heard(w)
		if n.slots.Serves(w.Queue) {
			n.dispatch.wake(w.Queue)
		}
	case store.WakeDeferred:
		n.promote.Hint(w.Due)
	case store.WakeCancel:
		supervise.Signal(n.sweepNow)
		if len(w.Jobs) == 0 || n.slots.Ask(w.Jobs) {
			supervise.Signal(n.beatNow)
		}
	case store.WakeAll:
		n.dispatch.wake("")
		n.promote.Hint(n.store.Now())
		supervise.Signal(n.closeNow)
		supervise.Signal(n.countNow)
		n.schedule.Nudge()
		n.grants.Heard(w)
		n.tuning.Heard(w)
		// No beat: it writes, and on SQLite every write of one process wakes the others with
		// WakeAll.
	case store.WakeNode:
		if w.Node == n.id.Load() {
			supervise.Signal(n.beatNow)
		}
	case store.WakeLeader:
		supervise.Signal(n.closeNow)
		supervise.Signal(n.countNow)
		n.schedule.Nudge()
	case store.WakeLimit, store.WakeSlotsWanted, store.WakeSlotsFree:
		n.grants.Heard(w)
	default: // for waiters
	}
}

// wake passes a wake-up of announce, or of another process, to the nodes of this process.
func (e *Engine) wake(w store.Wake) {
	for _, n := range *e.nodes.Load() {
		n.wake(w)
	}
}

// announce tells what a call of the store has made available, due, or known, or wants to stop: the
// nodes of this process, and then the other processes. What processes ask each other about jobs
// that they wait for is sent by internal/news.
func (e *Engine) announce(wakes ...store.Wake) {
	for _, w := range wakes {
		e.wake(w)
	}
	if len(wakes) > 0 {
		e.Store.Notify(wakes...)
	}
}

// toStop are the wake-ups of the nodes that run the jobs of a cancel or pause request.
func toStop(jobs []store.ID) []store.Wake {
	if len(jobs) == 0 {
		return nil
	}
	return []store.Wake{{Kind: store.WakeCancel, Jobs: jobs}}
}
