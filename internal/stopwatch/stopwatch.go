// Package stopwatch measures how long something takes: by the monotonic clock, as that of the store
// may be set meanwhile. It imports nothing of ours.
package stopwatch

import "time"

// Began is when something began. The zero value is nothing that has begun.
type Began int64 // nanoseconds since the package was loaded, and one more

var loaded = time.Now()

// Begin begins it.
func Begin() Began { return Began(time.Since(loaded) + 1) }

// Took is how long it has taken so far; 0 if it has not begun.
func (b Began) Took() time.Duration {
	if b == 0 {
		return 0
	}
	return time.Duration(Begin() - b)
}
