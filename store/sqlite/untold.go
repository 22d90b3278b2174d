package sqlite

import (
	"slices"
	"sync"

	"github.com/holdfastdev/holdfast/store"
)

// untold are queues in which jobs became available in transactions whose answer does not tell, such
// as a rescue or the end of children: a turn of an ordering key was handed on, or a parent woken.
// Watch tells of them.
type untold struct {
	more chan struct{} // holds something when there are some

	mu    sync.Mutex
	wakes []store.Wake
}

// maxUntold is how many queues are remembered: in a process without a node nobody asks for them.
const maxUntold = 1000

func (u *untold) add(wakes []store.Wake) {
	if len(wakes) == 0 {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, w := range wakes {
		known := slices.ContainsFunc(u.wakes, func(k store.Wake) bool { return k.Namespace == w.Namespace && k.Queue == w.Queue })
		if len(u.wakes) < maxUntold && !known {
			u.wakes = append(u.wakes, w)
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
