package slots

import "time"

// mostNamed is about how many classes are looked at together.
const mostNamed = 1000

// windowEvery is how long the same queues are looked at.
const windowEvery = 250 * time.Millisecond

// front returns the classes that are looked at together: all, or, if they are too many, those of
// some queues that may have jobs which could run. These are looked at until none of them has any,
// or for a quarter of a second; then come the next ones. s.mu is held.
func (s *Slots) front(now time.Time) []*class {
	if len(s.classes) <= s.mostNamed || len(s.opened) == 0 {
		s.window, s.leftOut = nil, false
		return s.classes
	}
	if s.window != nil && s.at-s.windowAt < windowEvery {
		for _, g := range s.windowOf {
			if g.isAble(now, s.at) {
				return s.window
			}
		}
	}
	s.windows++
	s.window, s.windowOf, s.windowAt = append([]*class{}, s.classes[:s.fixed]...), s.windowOf[:0], s.at
	s.leftOut = false
	for _, c := range s.savers { // or others would take what is saved for them
		if g := c.share.groups[c.lane.queue]; c.share.opens && g.window != s.windows {
			s.widen(g)
		}
	}
	for i := range s.opened {
		g := s.opened[(s.next+i)%len(s.opened)]
		if g.window == s.windows {
			continue
		}
		if !g.isAble(now, s.at) {
			s.leftOut = s.leftOut || g.mayHaveJobs()
			continue
		}
		s.widen(g)
		if len(s.window) >= s.mostNamed {
			s.next, s.leftOut = (s.next+i+1)%len(s.opened), true // as far as is known
			break
		}
	}
	return s.window
}

// widen adds the classes of a queue to those that are looked at. s.mu is held.
func (s *Slots) widen(g *group) {
	g.window = s.windows
	s.window, s.windowOf = append(s.window, g.classes...), append(s.windowOf, g)
}

// heard notes that there may be jobs of a group. s.mu is held.
func (s *Slots) heard(g *group, now time.Time) {
	g.heard(now, true)
	s.noteHeard(g)
}

// noteHeard has a group looked at of which something was heard. s.mu is held.
func (s *Slots) noteHeard(g *group) {
	switch {
	case s.window == nil || g.window == s.windows:
	case len(s.window) < s.mostNamed:
		s.widen(g)
	default:
		s.leftOut = true
	}
}

// isInFront reports whether a share has classes among those that are looked at. s.mu is held.
func (s *Slots) isInFront(q *share) bool {
	if s.window == nil || !q.opens || q.queue == "" {
		return true
	}
	g := q.groups[q.queue]
	return g != nil && g.window == s.windows
}
