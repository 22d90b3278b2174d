package view

import "time"

const (
	// quickest is the part of the poll interval after which it is looked again while others write.
	quickest = 10
	// eagerest is that for a look for what a node waits for.
	eagerest = 25
	// calmer is how much of the time since the last change is waited until the next look.
	calmer = 8
	// mostTold is how many changes are told in an interval, and at once after a quiet one. Each
	// costs a claim, which is a change for the others, and half a millisecond of looks in vain: an
	// idle node beside 400 commits a second takes 7 % of a core, and took 14 % with four.
	mostTold = 2
)

// pace says when to tell of what others have written, and when to look again: soon while they
// write, and after the whole interval when they have not for a while.
type pace struct {
	poll    time.Duration
	changed time.Time // when a change was seen last
	untold  bool      // there was one that was not told
	told    time.Time // up to when those that were told use up the time
}

// tells notes whether a look has seen a change, and reports whether one is to be told now.
func (p *pace) tells(changed bool, now time.Time) bool {
	if changed {
		p.changed, p.untold = now, true
	}
	if !p.untold || now.Before(p.told) && p.told.Sub(now) <= p.poll {
		return false
	}
	if least := now.Add(-p.poll); p.told.Before(least) || p.told.After(now) { // or the clock was set back
		p.told = least
	}
	p.untold, p.told = false, p.told.Add(p.poll/mostTold)
	return true
}

// next is how long to wait until the next look. An eager one is not put off until a change may be
// told.
func (p *pace) next(eager bool, now time.Time) time.Duration {
	least := p.poll / quickest
	if eager {
		least = p.poll / eagerest
	}
	soon := min(max(now.Sub(p.changed)/calmer, least), p.poll)
	tell := p.told.Sub(now)
	switch {
	case tell > p.poll: // the clock was set back
		return soon
	case eager && p.untold:
		return min(soon, tell)
	case eager:
		return soon
	}
	return max(soon, tell)
}
