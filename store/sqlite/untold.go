package sqlite

import (
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
