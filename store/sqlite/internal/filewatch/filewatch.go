// Package filewatch tells that a file was written, by any process of this machine, without looking
// at it. On Linux it is inotify(7).
//
// # What it promises
//
// A write is told of soon, and one that comes while another is being told is not lost. What was
// written, and by which process, is not known: it may be this one. The file is not opened, since
// a process that closes any descriptor of a file gives up the locks that SQLite has on it.
//
// # When it fails
//
// Elsewhere than on Linux, where a user may have no more of these, and in a bubble of
// testing/synctest, in which time would stand still as long as a goroutine waits for the system,
// there is none: Of returns nil, which never tells anything. Nor is what another machine writes
// told of, where a file system is shared. So a caller has to look now and then all the same.
//
// # Imports
//
// Nothing of ours.
package filewatch

import "time"

const (
	// shortest is the pause after a write was told of, and longest that after many that follow one
	// another. What comes meanwhile is told as one.
	shortest, longest = 500 * time.Microsecond, 5 * time.Millisecond
	// steady is how soon the next write comes if they follow one another.
	steady = 20 * time.Millisecond
)

// pause is how long nothing is told after a write, and last when that was.
type pause struct {
	length time.Duration
	last   time.Time
}

// after returns the pause after a write.
func (p *pause) after(now time.Time) time.Duration {
	if now.Sub(p.last) > steady {
		p.length = shortest
	} else {
		p.length = min(2*p.length, longest)
	}
	p.last = now
	return p.length
}

// Written returns a channel that has a value if something was written since the last was received.
// That of a nil Watch never has one.
func (w *Watch) Written() <-chan struct{} {
	if w == nil {
		return nil
	}
	return w.written
}
