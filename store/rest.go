package store

import (
	"fmt"
	"time"
)

// Resting is the rest of a queue, because something that its jobs need wants to be left alone: none
// of them is claimed until a time.
type Resting struct {
	Until time.Time // it has ended at this time; zero: there was none
	// Level counts the rests that have followed each other: the first is 1.
	Level int
}

// At reports whether the queue rests at a time.
func (r Resting) At(now time.Time) bool { return r.Until.After(now) }

func (r Resting) String() string {
	return fmt.Sprintf("until %s, level %d", r.Until.UTC().Format(time.RFC3339), r.Level)
}

// RestParams lets a queue rest, which is created if it does not exist. One that is resting goes on
// doing so, for the longer of the two times: it makes no difference how many ask. A rest that
// begins within RestForgotten of the end of the one before is longer by the curve: it is the next
// level.
type RestParams struct {
	Namespace string
	Queue     string
	For       time.Duration // at least so long, at most MaxRest
	Curve     Backoff       // how long a rest of each level is at least; with Base 0 there is none
	// Actor is the person that asks, for the record; "" if it is a job.
	Actor string
}

const (
	// MaxRest is the longest rest.
	MaxRest = 30 * 24 * time.Hour
	// RestForgotten is after how long a queue that no longer rests begins at level 1 again.
	RestForgotten = 2 * time.Minute
	// maxRestLevel keeps levels from growing for ever.
	maxRestLevel = 100
)

// Check reports why no store takes it, an ErrInvalid.
func (p *RestParams) Check() error {
	if p.For < 0 || p.For > MaxRest {
		return fmt.Errorf("%w: queue %q cannot rest for %v, which is not between 0 and %v", ErrInvalid, p.Queue, p.For, MaxRest)
	}
	return checkQueue(p.Namespace, p.Queue)
}

// After returns the rest of a queue that has had another one.
func (p *RestParams) After(was Resting, now time.Time) Resting {
	if was.At(now) {
		if until := now.Add(p.For); until.After(was.Until) {
			was.Until = until
		}
		return was
	}
	next := Resting{Level: 1}
	if now.Before(was.Until.Add(RestForgotten)) {
		next.Level = min(was.Level+1, maxRestLevel)
	}
	least := p.For
	if p.Curve.Base > 0 {
		least = max(least, min(p.Curve.Delay(next.Level), MaxRest))
	}
	next.Until = now.Add(least).Truncate(time.Microsecond)
	return next
}
