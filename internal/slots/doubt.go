package slots

import "github.com/holdfastdev/holdfast/store"

// CutOff notes that the claiming loop begins again, after a panic: what a claim under way may have
// taken stays in use until it is known. Its number, if there was one, is below upTo.
func (s *Slots) CutOff(upTo int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.promised {
		if l.claiming > 0 {
			l.doubtful, l.claiming, s.doubtUpTo = l.doubtful+l.claiming, 0, max(upTo, 1)
		}
	}
	s.claimed()
	for _, c := range s.classes {
		c.emptied = never
	}
}

// Held takes in which leases a node holds of claims with numbers below upTo, as the database has
// them. What was counted and is not there counts for nothing any more: it was lost without a word,
// as after a panic. sure: the node works on all that it holds. It reports whether that has made
// room.
func (s *Slots) Held(node, upTo int64, held []store.Lease, sure bool) (room bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.doubtUpTo > 0 && sure && upTo >= s.doubtUpTo {
		for _, l := range s.limits {
			l.doubtful = 0
		}
		s.doubtUpTo, room = 0, true
	}
	if len(s.counted) == 0 {
		return room
	}
	there := make(map[store.Lease]bool, len(held))
	for _, l := range held {
		there[l] = true
	}
	for id, c := range s.counted {
		if l := c.lease; l.Node == node && l.Claim < upTo && !there[l] {
			s.uncount(id)
			room = true
		}
	}
	return room
}

// Gone returns the runs of a node under claims with numbers below upTo that are not among the
// leases which it holds, as the database has them.
func (s *Slots) Gone(node, upTo int64, held []store.Lease) (gone []Run) {
	there := make(map[store.Lease]bool, len(held))
	for _, l := range held {
		there[l] = true
	}
	for _, run := range s.runs(func(r Run) bool { return r.Lease().Node == node && r.Lease().Claim < upTo && !r.HasEnded() }) {
		if !there[run.Lease()] {
			gone = append(gone, run)
		}
	}
	return gone
}
