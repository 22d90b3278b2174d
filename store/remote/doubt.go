package remote

import (
	"sync/atomic"
	"time"
)

// trust is how long calls are repeated whose token is not accepted any more: while it is replaced,
// one server may know it and another one not yet.
const trust = time.Minute

// doubt is since when a token that was accepted before is not.
type doubt struct{ since atomic.Int64 }

// holds reports whether the token may be accepted again, as it was not long ago.
func (d *doubt) holds(now time.Time) bool {
	d.since.CompareAndSwap(0, now.UnixNano())
	return now.UnixNano()-d.since.Load() < int64(trust)
}

// over is that it is accepted.
func (d *doubt) over() {
	if d.since.Load() != 0 {
		d.since.Store(0)
	}
}
