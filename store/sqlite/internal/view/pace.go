package view

import "time"

const (
	// quickest is the part of the poll interval after which it is looked again while others write.
	quickest = 10
	// eagerest is that for a look for what a node waits for, and after a while lazily is: the slot
	// of a limit is given back at the end of a job, before which nothing may have been written for
	// long. So many looks take 1.2 % of a core.
	eagerest, lazily = 20, 4
	// calmer is how much of the time since the last change is waited until the next look, and
	// eagerly that where a node waits for something.
	calmer, eagerly = 8, 100
	// mostTold is how many changes are told in an interval, and at once after a quiet one. Each
	// costs a claim, which is a change for the others, and half a millisecond of looks in vain: an
	// idle node beside 400 commits a second takes 7 % of a core, and took 14 % with four.
	mostTold = 2
	// heardLook is how long after a write of another was heard it is looked for, and then again, as
	// it is seen once it has reached the disk: after a while less often, by calmer.
	heardLook = time.Millisecond
	// quietAfter is how long nothing has to have been heard until a look waits for that.
	quietAfter = time.Second
)

// pace says when to tell of what others have written, and when to look again: soon while they
// write, and after the whole interval when they have not for a while.
type pace struct {
	poll    time.Duration
	changed time.Time // when a change was seen last
	untold  bool      // there was one that was not told
	told    time.Time // up to when those that were told use up the time
	heard   time.Time // when a write was heard last, of whichever store
	sought  time.Time // when one of another store was that was not seen yet
}

// hears notes that a write was heard.
func (p *pace) hears(another bool, now time.Time) {
	p.heard = now
	if another {
		p.sought = now
	}
}

// quiet reports whether there is nothing to look for until something is heard.
func (p *pace) quiet(now time.Time) bool {
	return !p.untold && now.Sub(p.changed) >= quietAfter && now.Sub(p.heard) >= quietAfter
}

// tells notes whether a look has seen a change, and reports whether one is to be told now.
func (p *pace) tells(changed bool, now time.Time) bool {
	if changed {
		p.changed, p.untold, p.sought = now, true, time.Time{}
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
	since := now.Sub(p.changed)
	soon := min(max(since/calmer, p.poll/quickest), p.poll)
	if eager {
		soon = min(max(since/eagerly, p.poll/eagerest), p.poll/lazily)
	}
	if !p.sought.IsZero() {
		soon = min(soon, max(now.Sub(p.sought)/calmer, heardLook))
	}
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
