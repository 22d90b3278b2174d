package core

import (
	"sync/atomic"
	"time"
)

// OwnWrites tells the transactions of this store that write from those of other connections, which
// write the same file.
type OwnWrites struct {
	begun atomic.Int64 // how many there have been
	open  atomic.Bool
	ended atomic.Int64 // when the last one did, in nanoseconds since epoch
}

// epoch has a reading of the monotonic clock.
var epoch = time.Now()

// trailing is how long after the end of a transaction the system may tell of what it wrote.
const trailing = 2 * time.Millisecond

func (o *OwnWrites) begin() {
	o.open.Store(true)
	o.begun.Add(1)
}

func (o *OwnWrites) end() {
	o.ended.Store(int64(time.Since(epoch)))
	o.open.Store(false)
}

// Since returns how many there have been, and reports whether what was written to the file a moment
// ago may be of one of them that was not among the first n.
func (o *OwnWrites) Since(n int64) (begun int64, may bool) {
	open, begun := o.open.Load(), o.begun.Load()
	ended := time.Duration(o.ended.Load())
	return begun, open || begun != n || begun > 0 && time.Since(epoch)-ended < trailing
}
