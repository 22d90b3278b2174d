package slots

import (
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// MayStart reports whether jobs may be started by their enqueue: there is room, and no other job
// known that could use it.
func (s *Slots) MayStart(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.room(now) == 0 || s.look == lookDue {
		return false
	}
	if !slices.ContainsFunc(s.classes, (*class).mayHaveJobs) {
		return true // nearly always, and then it costs little
	}
	return !s.demand(now).Likely
}

// Reserve reserves room for the first n of the jobs, which are not claimed yet. It stops at the
// first whose queue or limit is full or may have other jobs. AdmitReserved is to be called with
// those n.
func (s *Slots) Reserve(jobs []*store.Enqueue, now time.Time) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.limits) > 0 {
		s.at = s.elapsed()
	}
	for most := min(s.room(now), len(jobs)); n < most; n++ {
		c := s.classOf(laneOf(&jobs[n].Job))
		if c.mayHaveJobs() || c.share.room(now, s.mostAhead()) == 0 || !s.mayReserve(c.share) || !c.fits(s.at) {
			break
		}
		c.reserve(1)
		for _, of := range c.counts {
			if of.limit.meter != nil {
				of.limit.meter.use(1, s.at) // whatever becomes of the enqueue
			}
		}
	}
	s.reserved += n
	s.noteReserved(jobs[:n], 1)
	return n
}

// noteReserved notes for which jobs slots are reserved, or, with the sign -1, are not any more. It
// does so once for those of a lane that come one after the other, as they nearly always do. s.mu is
// held.
func (s *Slots) noteReserved(jobs []*store.Enqueue, sign int) {
	for first := 0; first < len(jobs); {
		at, next := laneOf(&jobs[first].Job), first+1
		for next < len(jobs) && laneOf(&jobs[next].Job) == at {
			next++
		}
		if s.reserving[at] += sign * (next - first); s.reserving[at] == 0 {
			delete(s.reserving, at)
		}
		first = next
	}
}

// AdmitReserved converts the reservations of jobs into slots for those that were claimed, and
// releases the others.
func (s *Slots) AdmitReserved(jobs []*store.Enqueue, claimed []store.Claimed) (start []store.Claimed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.release(jobs)
	return s.admitLocked(claimed)
}

// GiveBackReserved is AdmitReserved of a node that stops: those that were claimed get no slot, and
// are to be given back.
func (s *Slots) GiveBackReserved(jobs []*store.Enqueue, claimed []store.Claimed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.release(jobs)
	for i := range claimed {
		s.count(&claimed[i].Job, claimed[i].Lease)
	}
}

// release releases the reservations of jobs. s.mu is held.
func (s *Slots) release(jobs []*store.Enqueue) {
	s.reserved -= len(jobs)
	s.noteReserved(jobs, -1)
	for _, e := range jobs {
		s.classOf(laneOf(&e.Job)).reserve(-1)
	}
}
