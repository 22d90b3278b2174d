package engine

import (
	"github.com/holdfastdev/holdfast/internal/supervise"
	"github.com/holdfastdev/holdfast/store"
)

// wake reacts to a wake-up. It does not block.
func (n *node) wake(w store.Wake) {
	if w.IsAboutQueue() && w.Namespace != n.runner.namespace {
		return
	}
	switch w.Kind {
	case store.WakeReady, store.WakeQueue:
		if n.slots.serves(w.Queue) {
			n.dispatch.wake(w.Queue)
		}
	case store.WakeDeferred:
		n.promote.hint(w.Due)
	case store.WakeCancel:
		supervise.Signal(n.sweepNow)
		if len(w.Jobs) == 0 || n.slots.runs(w.Jobs) {
			supervise.Signal(n.beatNow)
		}
	case store.WakeAll:
		n.dispatch.wake("")
		n.promote.hint(n.store.Now())
		supervise.Signal(n.closeNow)
		// No beat: it writes, and on SQLite every write of one process wakes the others with WakeAll.
	case store.WakeLeader:
		supervise.Signal(n.closeNow)
	default: // for waiters
	}
}

// wake passes a wake-up to the nodes of this process.
func (e *Engine) wake(w store.Wake) {
	for _, n := range *e.nodes.Load() {
		n.wake(w)
	}
}

// lookAgain makes the nodes of this process poll everything after an operation by a person. The
// store notifies all nodes of available jobs, but not at once, and not at all where it has no
// notifications.
func (e *Engine) lookAgain() { e.wake(store.Wake{Kind: store.WakeAll}) }

// notifyRunning tells the nodes that run the jobs of a cancel or pause request.
func (e *Engine) notifyRunning(jobs []store.ID) {
	wake := store.Wake{Kind: store.WakeCancel, Jobs: jobs}
	e.Store.Notify(wake)
	e.wake(wake)
}
