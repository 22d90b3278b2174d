package env

import (
	"sync"
	"time"
)

// Clock is a virtual clock. It moves only when a test says so, and may be read and moved by many
// goroutines at once.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// Start is where a new clock stands: a Monday morning, and not a multiple of anything.
var Start = time.Date(2026, time.January, 5, 10, 17, 23, 456789000, time.UTC)

// NewClock returns a clock that stands at Start.
func NewClock() *Clock { return &Clock{now: Start} }

// Now returns the clock's time, truncated to microseconds as every time in a store is.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock forward, or back if d is negative, and returns the new time.
func (c *Clock) Advance(d time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d).Truncate(time.Microsecond)
	return c.now
}

// Set moves the clock to t.
func (c *Clock) Set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = t.UTC().Truncate(time.Microsecond)
}
