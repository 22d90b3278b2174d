package sqlite

import (
	"slices"
	"sync"

	"github.com/holdfastdev/holdfast/store"
)

// untold are queues in which jobs became available, and the time at which the first is due, in
// transactions whose answer does not tell, such as a retry, a rescue or the end of children. Watch
// tells of them.
type untold struct {
	more chan struct{} // holds something when there are some

	mu    sync.Mutex
	wakes []store.Wake
}

// maxUntold is how many of them are remembered: in a process without a node nobody asks for them.
const maxUntold = 1000

func (u *untold) add(wakes []store.Wake) {
	if len(wakes) == 0 {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, w := range wakes {
		if len(u.wakes) < maxUntold {
			u.wakes = addWake(u.wakes, w)
		}
	}
	select {
	case u.more <- struct{}{}:
	default:
	}
}

// take returns them, and forgets them.
func (u *untold) take() []store.Wake {
	u.mu.Lock()
	defer u.mu.Unlock()
	wakes := u.wakes
	u.wakes = nil
	return wakes
}

// noteDue remembers that nodes should promote what is due at a time.
func (t *tx) noteDue(due int64) {
	t.woken = addWake(t.woken, store.Wake{Kind: store.WakeDeferred, Due: timeOf(due)})
}

// noteWoken remembers that nodes should look at a queue.
func (t *tx) noteWoken(l *lane) {
	t.woken = addWake(t.woken, store.Wake{Kind: store.WakeReady, Namespace: l.namespace, Queue: l.queueName})
}

// addWake adds a wake-up to those that say something else. Of times the earliest is told.
func addWake(wakes []store.Wake, w store.Wake) []store.Wake {
	i := slices.IndexFunc(wakes, func(k store.Wake) bool { return k.Kind == w.Kind && k.Namespace == w.Namespace && k.Queue == w.Queue })
	switch {
	case i < 0:
		return append(wakes, w)
	case w.Due.Before(wakes[i].Due):
		wakes[i].Due = w.Due
	}
	return wakes
}
