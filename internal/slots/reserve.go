package slots

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// MayStart reports whether jobs may be started by their enqueue: there is room, and no other job
// known that could use it.
func (s *Slots) MayStart(now time.Time) bool {
	d := s.Demand(now)
	return d.Limit > 0 && !d.Likely
}

// Reserve reserves room for the first n of the jobs, which are not claimed yet. It stops at the
// first whose queue is full or may have other jobs. AdmitReserved is to be called with those n.
func (s *Slots) Reserve(jobs []*store.Enqueue, now time.Time) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for most := min(s.room(now), len(jobs)); n < most; n++ {
		q := s.shareOf(jobs[n].Job.Queue)
		if q.mayHaveJobs() || q.room(now, s.mostAhead()) == 0 {
			break
		}
		q.reserved++
	}
	s.reserved += n
	return n
}

// AdmitReserved converts the reservations of jobs into slots for those that were claimed, and
// releases the others.
func (s *Slots) AdmitReserved(jobs []*store.Enqueue, claimed []store.Claimed) (start []store.Claimed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reserved -= len(jobs)
	for _, e := range jobs {
		s.shareOf(e.Job.Queue).reserved--
	}
	return s.admitLocked(claimed)
}
