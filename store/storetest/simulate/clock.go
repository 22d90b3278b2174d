package simulate

import (
	"sync/atomic"
	"time"
)

// start is where the clock of a simulation stands: a time that is not a multiple of anything.
var start = time.Date(2026, time.January, 5, 10, 17, 23, 456789000, time.UTC)

// clock is a virtual one, in microseconds. Stores may read it from goroutines of their own.
type clock struct{ now atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.now.Store(start.UnixMicro())
	return c
}

// Now returns the time.
func (c *clock) Now() time.Time { return time.UnixMicro(c.now.Load()).UTC() }

func (c *clock) move(d time.Duration) { c.now.Add(d.Microseconds()) }
