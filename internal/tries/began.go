package tries

import "time"

// Began is when something began whose duration is measured: by the monotonic clock, as that of the
// store may be set meanwhile.
type Began struct{ at time.Time }

// Begin begins it.
func Begin() Began { return Began{time.Now()} }

// Took is how long it has taken so far.
func (b Began) Took() time.Duration { return time.Since(b.at) }
