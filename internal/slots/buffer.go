package slots

import (
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/internal/supervise"
	"github.com/holdfastdev/holdfast/store"
)

// JobsWait is told when jobs wait for a slot: now or later, once for any number of them.
func (s *Slots) JobsWait() <-chan struct{} { return s.waits }

// TakeBuffer empties the buffer.
func (s *Slots) TakeBuffer() []store.Claimed {
	return s.takeWaiting(func(*store.Claimed) bool { return true })
}

// TakeStale takes the jobs out of the buffer that were claimed before the given time. If others are
// left JobsWait is told again.
func (s *Slots) TakeStale(before time.Time) []store.Claimed {
	return s.takeWaiting(func(c *store.Claimed) bool { return c.ClaimedAt.Before(before) })
}

// TakeQueue takes the jobs of a queue out of the buffer.
func (s *Slots) TakeQueue(queue string) []store.Claimed {
	return s.takeWaiting(func(c *store.Claimed) bool { return c.Job.Queue == queue })
}

// takeWaiting removes jobs from the buffer and returns them.
func (s *Slots) takeWaiting(which func(*store.Claimed) bool) (taken []store.Claimed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.shares {
		q.buffer = slices.DeleteFunc(q.buffer, func(c *store.Claimed) bool {
			takes := which(c)
			if takes {
				taken = append(taken, *c)
			}
			return takes
		})
		if len(q.buffer) > 0 {
			supervise.Signal(s.waits)
		}
	}
	return taken
}
