package core

import (
	"slices"
	"sync"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// Untold are queues in which jobs became available, and the time at which the first is due, in
// transactions whose answer does not tell, such as a retry, a rescue or the end of children. Watch
// tells of them.
type Untold struct {
	More chan struct{} // holds something when there are some

	mu    sync.Mutex
	wakes []store.Wake
}

// maxUntold is how many of them are remembered: in a process without a node nobody asks for them.
const maxUntold = 1000

func (u *Untold) add(wakes []store.Wake) {
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
	case u.More <- struct{}{}:
	default:
	}
}

// Take returns them, and forgets them.
func (u *Untold) Take() []store.Wake {
	u.mu.Lock()
	defer u.mu.Unlock()
	wakes := u.wakes
	u.wakes = nil
	return wakes
}

// noteDue remembers that nodes should promote what is due at a time.
func (t *Tx) noteDue(due int64) {
	t.Woken = addWake(t.Woken, store.Wake{Kind: store.WakeDeferred, Due: db.TimeOf(due)})
}

// NoteWoken remembers that nodes should look at a queue.
func (t *Tx) NoteWoken(l *Lane) {
	t.Woken = addWake(t.Woken, store.Wake{Kind: store.WakeReady, Namespace: l.Namespace, Queue: l.QueueName})
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
