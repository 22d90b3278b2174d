package play

import (
	"sync/atomic"
	"time"
)

// start is where the clock of a simulation stands: a time that is not a multiple of anything.
var start = time.Date(2026, time.January, 5, 10, 17, 23, 456789000, time.UTC)

// Clock is a virtual one, in microseconds. Stores may read it from goroutines of their own.
type Clock struct{ now atomic.Int64 }

// NewClock returns a clock.
func NewClock() *Clock {
	c := &Clock{}
	c.now.Store(start.UnixMicro())
	return c
}

// Now returns the time.
func (c *Clock) Now() time.Time { return time.UnixMicro(c.now.Load()).UTC() }

// Move lets time pass, or sets the clock.
func (c *Clock) Move(d time.Duration) { c.now.Add(d.Microseconds()) }
