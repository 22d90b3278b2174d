package slots

import (
	"slices"
	"time"
)

// Slots of a limit are saved up for a class whose jobs take more of them than those of others, as
// these would take each slot as it becomes free. That begins when it is known that such a job waits
// (Found), and ends when one was claimed, or none is there any more. So one that counts in one
// limit runs, at the latest, when the jobs have ended that the node ran then. Those that save come
// in their order, the first one gets all that it needs, and none saves that needs slots of the same
// limit as one before it: so they do not wait for each other.
//
// A node saves only what it holds: if it may not have as many slots as the job takes, it takes none
// away from others.

// How often it is found out, at the most, whether there are jobs of classes for which slots are to
// be saved up, and of those for which some are.
const (
	inquireEvery = 100 * time.Millisecond
	confirmEvery = time.Second
)

// inquiry is about classes of which it is found out whether they have jobs.
type inquiry struct {
	at    time.Duration // when the last one began
	about []asked
}

// asked is a class, and its news when it was asked about.
type asked struct {
	class *class
	news  int64
}

// inquires reports whether it is to be found out whether classes have jobs that need slots to be
// saved up. s.mu is held.
func (s *Slots) inquires() bool {
	switch since := s.at - s.inquiry.at; {
	case len(s.blocked) > 0:
		return since >= inquireEvery
	case len(s.savers) > 0:
		return since >= confirmEvery
	default:
		return false
	}
}

// inquire notes which classes the look that begins is to tell of. s.mu is held.
func (s *Slots) inquire() {
	s.inquiry = inquiry{at: s.at}
	for _, some := range [...][]*class{s.savers, s.blocked} {
		for _, c := range some {
			s.inquiry.about = append(s.inquiry.about, asked{c, c.news})
		}
	}
}

// told takes in which classes have jobs: slots are saved up for those that were asked about, and no
// longer for those that have none. s.mu is held.
func (s *Slots) told(have map[*class]bool) {
	for _, a := range s.inquiry.about {
		switch c := a.class; {
		case !have[c]:
			c.emptied = a.news
			s.stopSaving(c)
		case !c.saves:
			c.saves = true
			s.savers = append(s.savers, c)
		}
	}
	s.inquiry.about, s.blocked = nil, nil
}

// stopSaving has no slots saved up for a class. s.mu is held.
func (s *Slots) stopSaving(c *class) {
	if c.saves {
		c.saves = false
		s.savers = slices.DeleteFunc(s.savers, func(other *class) bool { return other == c })
	}
}
