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
	default: // for those who wait
	}
}

// wake passes a wake-up to the nodes of this process.
func (e *Engine) wake(w store.Wake) {
	for _, n := range *e.nodes.Load() {
		n.wake(w)
	}
}

// lookAgain lets the nodes of this process look at everything after something that people did. The
// store tells every node where jobs became available, but not at once, and where there are no
// notifications it cannot.
func (e *Engine) lookAgain() { e.wake(store.Wake{Kind: store.WakeAll}) }

// tellCancelled tells the nodes that run the jobs that they are to be cancelled, or paused.
func (e *Engine) tellCancelled(jobs []store.ID) {
	wake := store.Wake{Kind: store.WakeCancel, Jobs: jobs}
	e.Store.Notify(wake)
	e.wake(wake)
}
