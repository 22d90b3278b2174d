package slots

import (
	"slices"
	"time"
)

// Whether the database has jobs of a class is found out by looking, and not by a claim, where a
// claim cannot tell as there are no slots for them: of classes for which slots would be saved up;
// and of those that may have jobs while there are too few slots for the nodes. So a node whose job
// ends gives a slot that others want back at once, if it has no other job, and one that gets a slot
// claims the job that waits for it: neither claims in vain first.
//
// It is found out, too, before a node asks for permits of a rate that it has last claimed with in
// vain: wake-ups name the queue and not the kind, and permits that a node takes for jobs of kinds
// which others handle are lost to these.

// How often it is found out, at the most, whether there are jobs of classes for which slots are to
// be saved up, and of those for which some are.
const (
	inquireEvery = 100 * time.Millisecond
	confirmEvery = time.Second
)

// inquiry is about classes of which it is found out whether they have jobs.
type inquiry struct {
	at    time.Duration // when the last one for those that save began
	about []asked
}

// asked is a class, and its news when it was asked about.
type asked struct {
	class *class
	news  int64
	saves bool // slots are to be saved up for it if it has jobs
}

// inquires reports whether it is to be found out whether classes have jobs. s.mu is held.
func (s *Slots) inquires() bool { return s.inquiresForSavers() || len(s.contested) > 0 }

func (s *Slots) inquiresForSavers() bool {
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
	s.inquiry.about = nil
	if s.inquiresForSavers() {
		s.inquiry.at = s.at
		for _, some := range [...][]*class{s.savers, s.blocked} {
			for _, c := range some {
				s.inquiry.about = append(s.inquiry.about, asked{c, c.news, true})
			}
		}
	}
	for _, c := range s.contested {
		s.inquiry.about = append(s.inquiry.about, asked{c, c.news, false})
	}
}

// told takes in which classes have jobs: slots are saved up for those that were asked about for
// that, and no longer for those that have none. s.mu is held.
func (s *Slots) told(have map[*class]bool) {
	for _, a := range s.inquiry.about {
		switch c := a.class; {
		case !have[c]:
			c.emptied = a.news
			s.stopSaving(c)
		case a.saves && !c.saves:
			c.saves = true
			s.savers = append(s.savers, c)
		default:
			c.sure = max(c.sure, a.news)
		}
	}
	s.inquiry.about, s.blocked, s.contested = nil, nil, nil
}

// contest finds the classes of which it is not known whether they have jobs, and for whose jobs
// there are no slots: as others want those that the node uses, or hold those that it wants. s.mu is
// held.
func (s *Slots) contest(classes []*class, now time.Time) {
	s.contested = s.contested[:0]
	for _, c := range classes {
		if c.isContested(now) {
			s.contested = append(s.contested, c)
		}
	}
}

func (c *class) isContested(now time.Time) bool {
	if !c.mayHaveJobs() || c.sure != never {
		return false
	}
	for _, n := range c.counts {
		if l := n.limit; (l.short || now.Before(l.wantedUntil)) && l.room() < n.weight {
			return true
		}
	}
	return false
}

// doubt has it found out which classes have jobs, of those that a limit counts whose permits were
// of no use last, before more of them are asked for. s.mu is held.
func (s *Slots) doubt(classes []*class) {
	for _, l := range s.looked {
		if l.meter == nil || !l.meter.vain || l.meter.wants == 0 || l.meter.room(s.at) > 0 {
			continue
		}
		var some []*class
		for _, c := range classes {
			if c.mayHaveJobs() && c.countsIn(l) {
				some = append(some, c)
			}
		}
		if !slices.ContainsFunc(some, func(c *class) bool { return c.seen == c.news }) {
			l.meter.wants = 0
			s.contested = append(s.contested, some...)
		}
	}
}

func (c *class) countsIn(l *limit) bool {
	return slices.ContainsFunc(c.counts, func(n count) bool { return n.limit == l })
}
