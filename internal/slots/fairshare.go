package slots

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// fairShare is what a node knows of a fair limit: how many of its slots it may use while others
// want some, and what it has said of its own wishes.
type fairShare struct {
	part   int           // the most that it may hold, as it was told last
	wished int           // how many it has said last that it would have
	said   time.Duration // when that was, as Slots.elapsed
	again  bool          // it had said so a moment before
}

// repeatWish is how long a node waits until it says again, with the next look, that it wishes for
// more slots than it got.
const repeatWish = 4 * time.Second

// overPart reports whether the node holds more than its part, and is to give back what its jobs
// leave.
func (l *limit) overPart() bool { return l.Fair && l.held > l.share.part }

// isBarred reports whether slots of a limit are of no use to jobs of the class, as the node has no
// part in another one. If it took them, the nodes that have one could not use theirs. Of one in
// which it has no part either it says what it wishes for, and gets none.
func (c *class) isBarred(of *limit) (barred bool) {
	for _, n := range c.counts {
		switch l := n.limit; {
		case !l.Fair || l.share.part >= n.weight:
		case l == of:
			return false
		default:
			barred = true
		}
	}
	return barred
}

// overstates reports whether the node has said that it wishes for more slots than it could use now,
// and others want them: they count on it.
func (l *limit) overstates(now time.Time) bool {
	return l.Fair && l.keep == notAsking && now.Before(l.wantedUntil) &&
		l.share.wished > l.held && l.share.wished > l.taken()+l.needs
}

// seeShare finds the part of the node in what was read of a limit.
func (l *limit) seeShare(node int64) {
	if l.Fair {
		l.share.part = l.PartOf(node)
	}
}

// repeats reports whether it is time to say again what the node wishes for, and has it said.
func (l *limit) repeats(at time.Duration) bool {
	if !l.Fair || !l.short || l.lacks() == 0 || at-l.share.said < repeatWish {
		return false
	}
	l.short = false
	return true
}

// noteWish notes what the node says that it wishes for. s.mu is held.
func (s *Slots) noteWish(a *store.LimitAsk) {
	if l := s.byID[a.Limit]; l != nil && l.Fair {
		at := s.elapsed()
		l.share.again = l.share.wished > l.held && at-l.share.said < contention
		l.share.wished, l.share.said = a.Want, at
	}
}

// isNews reports whether others are to be told that the node got too few slots. One that has its
// part has told them before; they find what it wishes for with their next look.
func (l *limit) isNews() bool {
	return !l.Fair || l.held < l.share.part || !l.share.again
}
