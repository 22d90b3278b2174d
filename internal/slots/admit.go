package slots

import (
	"time"

	"github.com/holdfastdev/holdfast/internal/supervise"
	"github.com/holdfastdev/holdfast/store"
)

// Admit takes claimed jobs in. It returns those that have a slot; the others wait in the buffer,
// where they are: the caller does not change the slice any more.
func (s *Slots) Admit(jobs []store.Claimed) (start []store.Claimed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.admitLocked(jobs)
}

// admitLocked is Admit with s.mu held. While a slot is free, the buffer has only jobs whose queues
// are at their limit; all others would have a slot.
func (s *Slots) admitLocked(jobs []store.Claimed) (start []store.Claimed) {
	for i := range jobs {
		s.count(&jobs[i].Job, jobs[i].Lease)
	}
	if s.weighed {
		return s.admitByWeight(jobs)
	}
	for i := 0; i < len(jobs); i++ {
		q := s.shareOf(jobs[i].Job.Queue)
		if s.used < s.size && q.running < q.limit && !s.quiet {
			s.begins(q, jobs[i].Job.ID)
			if len(start) == i {
				start = jobs[: i+1 : i+1] // usually the first ones
			} else {
				start = append(start, jobs[i])
			}
			continue
		}
		first := i
		for i+1 < len(jobs) && s.shareOf(jobs[i+1].Job.Queue) == q {
			i++
		}
		for j := first; j <= i; j++ {
			q.buffer = append(q.buffer, &jobs[j])
		}
		supervise.Signal(s.waits)
	}
	return start
}

// admitByWeight has all jobs wait, and then gives out the free slots. s.mu is held.
func (s *Slots) admitByWeight(jobs []store.Claimed) (start []store.Claimed) {
	for i := range jobs {
		q := s.shareOf(jobs[i].Job.Queue)
		q.buffer = append(q.buffer, &jobs[i])
	}
	for {
		c, ok := s.startPrefetched()
		if !ok {
			break
		}
		start = append(start, c)
	}
	if len(start) < len(jobs) {
		supervise.Signal(s.waits)
	}
	return start
}

// begins gives a free slot to a job. s.mu is held.
func (s *Slots) begins(q *share, job store.ID) {
	s.used++
	if q.running++; q.running <= q.min {
		s.unmet--
	}
	if run := s.runsOf[job]; run != nil {
		s.former[job] = run
	}
	s.runsOf[job] = nil
}

// End removes the run of a job and gives its slot to the first prefetched job; without one the slot
// is free. The job need not have begun.
func (s *Slots) End(job *store.Job, run Run, now time.Time) (following store.Claimed, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if current, here := s.runsOf[job.ID]; here && (current == nil || current == run) {
		delete(s.runsOf, job.ID)
	}
	if s.former[job.ID] == run {
		delete(s.former, job.ID)
	}
	q := s.shareOf(job.Queue)
	q.pace.ended(now)
	if q.running--; q.running < q.min {
		s.unmet++
	}
	s.used--
	return s.startPrefetched()
}

// startPrefetched gives a free slot to the prefetched job that comes first, of those whose queues
// are below their limit. s.mu is held.
func (s *Slots) startPrefetched() (c store.Claimed, ok bool) {
	if s.quiet {
		return c, false
	}
	var best *share
	for _, q := range s.shares {
		if len(q.buffer) > 0 && s.may(q) && (best == nil || s.comesFirst(q, best)) {
			best = q
		}
	}
	if best == nil {
		return c, false
	}
	c = best.pop()
	s.begins(best, c.Job.ID)
	return c, true
}
