package env

import (
	"slices"

	"github.com/holdfastdev/holdfast/store"
)

// Ready is the wake-up that tells of something to claim in a queue.
func Ready(namespace, queue string) store.Wake {
	return store.Wake{Kind: store.WakeReady, Namespace: namespace, Queue: queue}
}

// IsReady tells whether wake-ups say that a queue has something to claim.
func IsReady(wakes []store.Wake, namespace, queue string) bool {
	return slices.ContainsFunc(wakes, func(w store.Wake) bool {
		return w.Kind == store.WakeReady && w.Namespace == namespace && w.Queue == queue
	})
}

// Wakes tells whether a batch wakes who claims from a queue.
func Wakes(batch *store.Batch, queue string) bool {
	return slices.ContainsFunc(batch.Woken, func(w store.Wake) bool {
		return w.Kind == store.WakeReady && w.Namespace == Namespace && w.Queue == queue
	})
}

// WantWoken checks that a batch tells of the queues in which a job was woken.
func (e *Env) WantWoken(batch *store.Batch, queues ...string) {
	e.Helper()
	var got []string
	for _, w := range batch.Woken {
		if w.Kind != store.WakeReady || w.Namespace != Namespace {
			e.Fatalf("woken: %+v", batch.Woken)
		}
		got = append(got, w.Queue)
	}
	slices.Sort(got)
	e.Equal("woken queues", got, queues)
}

// Told are the wake-ups that the last verb answered with: what a person did, a node's leave, a
// sweep, a rescue, or the end of children.
func (e *Env) Told() []store.Wake { return *e.told.Load() }
