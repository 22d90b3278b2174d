package view

import "time"

const (
	// quickest is the part of the poll interval after which it is looked again while others write.
	quickest = 10
	// calmer is how much of the time since the last change is waited until the next look.
	calmer = 8
	// mostTold is how many changes are told in an interval, and at once after a quiet one. Each
	// costs a claim, which is a change for the others, and half a millisecond of looks in vain: an
	// idle node beside 400 commits a second takes 7 % of a core, and took 14 % with four.
	mostTold = 2
)

// pace says when to look again for what others have written: soon while they write, and after the
// whole interval when they have not for a while.
type pace struct {
	poll    time.Duration
	changed time.Time // when a change was seen last
	told    time.Time // up to when those that were told use up the time
}

// next is how long to wait until the next look, after one that has seen a change or none.
func (p *pace) next(changed bool, now time.Time) time.Duration {
	wait := time.Duration(0)
	if changed {
		if least := now.Add(-p.poll); p.told.Before(least) {
			p.told = least
		}
		p.changed, p.told = now, p.told.Add(p.poll/mostTold)
		wait = p.told.Sub(now)
	}
	return max(wait, min(max(now.Sub(p.changed)/calmer, p.poll/quickest), p.poll))
}
