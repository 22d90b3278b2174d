package slots

import (
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Heard notes that there may be jobs in a queue, or in all queues if it is "".
func (s *Slots) Heard(queue string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case queue == "":
		s.unsure()
		for _, q := range s.shares {
			for _, g := range q.groups {
				g.heard(now, false)
			}
		}
	case s.Serves(queue):
		s.heard(s.groupOf(queue), now)
	}
}

// Names reports whether claims name the queues that may have jobs, so that nothing is found in any
// other one.
func (s *Slots) Names() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fixed == 0 && s.opens()
}

// Unsure notes that a wake-up may have been lost: it is to be found out which queues have jobs,
// where that is not known otherwise.
func (s *Slots) Unsure() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unsure()
}

// TakeLook reports whether it is to be found out which queues have jobs, as a Demand has said. The
// caller then calls Found, or NotFound.
func (s *Slots) TakeLook() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.mayLook() {
		return false
	}
	s.inquire()
	s.look = lookGoes
	return true
}

// Found notes which queues had jobs to claim when that was found out, after TakeLook, and of which
// kinds.
func (s *Slots) Found(queues []store.BusyQueue, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	opens := s.opens()
	if s.look == lookGoes {
		s.look = looked
	}
	have := map[*class]bool{}
	for _, q := range queues {
		if _, claims := s.kinds[q.Kind]; !claims && len(s.kinds) > 0 || !s.Serves(q.Name) {
			continue
		}
		g := s.groupOf(q.Name)
		c := g.of(q.Kind)
		if have[c] = true; opens {
			c.heard(now, true)
			s.noteHeard(g)
		}
	}
	for c := range have {
		c.seen = c.news
	}
	s.told(have)
}

// mayLook reports whether there is a reason to find out which queues have jobs. s.mu is held.
func (s *Slots) mayLook() bool { return s.look == lookDue || s.look == looked && s.inquires() }

// NotFound notes that it could not be found out.
func (s *Slots) NotFound() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.look == lookGoes {
		s.look = looked
		s.unsure()
	}
}

// unsure notes that there may be jobs in queues that have no classes. s.mu is held.
func (s *Slots) unsure() {
	if s.opens() {
		s.look = lookDue
	}
}

// opens reports whether there are queues that have classes only while they may have jobs.
func (s *Slots) opens() bool {
	return len(s.patterns) > 0 || slices.ContainsFunc(s.shares, func(q *share) bool { return q.opens })
}
