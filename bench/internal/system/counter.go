package system

import (
	"context"
	"sync"
	"sync/atomic"
)

// Counter counts jobs, and wakes the one who waits for a number of them.
type Counter struct {
	n    atomic.Int64
	want atomic.Int64 // 0: nobody waits

	mu      sync.Mutex
	reached chan struct{}
}

// Add counts jobs.
func (c *Counter) Add(jobs int64) {
	n := c.n.Add(jobs)
	if want := c.want.Load(); want > 0 && n >= want {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.reached != nil {
			close(c.reached)
			c.reached = nil
			c.want.Store(0)
		}
	}
}

// Count is how many there were so far.
func (c *Counter) Count() int64 { return c.n.Load() }

// Wait returns when there were so many, or with the error of the work that ended before.
func (c *Counter) Wait(ctx context.Context, jobs int64, ended <-chan error) error {
	c.mu.Lock()
	reached := make(chan struct{})
	c.reached = reached
	c.want.Store(max(jobs, 1))
	c.mu.Unlock()
	c.Add(0) // it may have been reached before
	if jobs == 0 {
		return nil
	}
	select {
	case <-reached:
		return nil
	case err := <-ended:
		return errEnded(err)
	case <-ctx.Done():
		return ctx.Err()
	}
}
