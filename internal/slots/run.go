package slots

import (
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Begin registers the run of a job that has a slot, and ends the context of one of the same job
// that is still there: its lease is lost. It reports whether a request for the job came while its
// claim was on its way here, so that neither the claim nor a beat has told the node of it.
func (s *Slots) Begin(job store.ID, run Run) (asked bool) {
	asked, former := s.begin(job, run)
	if former != nil {
		former.Cancel(store.ErrLeaseLost)
	}
	return asked
}

func (s *Slots) begin(job store.ID, run Run) (asked bool, former Run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	former = s.former[job]
	delete(s.former, job)
	s.runsOf[job] = run
	if _, counts := s.counted[job]; !counts {
		s.count(run.Job(), run.Lease()) // of a limit that was made a moment ago
	}
	return s.asked.take(job), former
}

// Over notes that the outcomes of runs were committed. Their slots may be in use a little longer,
// while the outcome is logged. It reports whether jobs may now be claimed that waited for a limit.
func (s *Slots) Over(outcomes []*store.Outcome, now time.Time) (room bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var freed []*limit
	for _, o := range outcomes {
		if c, ok := s.counted[o.Lease.Job]; ok && o.Err == nil && c.lease == o.Lease {
			s.uncount(o.Lease.Job)
			room = true
			for _, n := range c.class.counts {
				freed = append(freed, n.limit)
			}
		}
		if run := s.runsOf[o.Lease.Job]; run != nil && o.Err == nil && o.Final.Finished() && run.Lease() == o.Lease {
			delete(s.runsOf, o.Lease.Job)
		}
	}
	for _, l := range freed {
		s.signalSurplus(l, now)
	}
	return room
}

// Ask reports whether a request to cancel or pause concerns a job that the node runs or has
// prefetched. It remembers the others: one of them may have been claimed just now.
func (s *Slots) Ask(jobs []store.ID) (ours bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range jobs {
		run, here := s.runsOf[id]
		ours = ours || here
		if run == nil {
			s.asked.add(id)
		}
	}
	return ours || slices.ContainsFunc(s.shares, func(q *share) bool {
		return slices.ContainsFunc(q.buffer, func(c *store.Claimed) bool { return slices.Contains(jobs, c.Job.ID) })
	})
}

// Cancel ends the context of the run of a job.
func (s *Slots) Cancel(job store.ID, cause error) {
	if run := s.runOf(job); run != nil {
		run.Cancel(cause)
	}
}

// Pause asks the run of a job to pause.
func (s *Slots) Pause(job store.ID) {
	if run := s.runOf(job); run != nil {
		run.Pause()
	}
}

// runOf returns the run of a job, or nil.
func (s *Slots) runOf(job store.ID) Run {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runsOf[job]
}

// LoseAll drops the buffered jobs and cancels the runs of a membership that is over.
func (s *Slots) LoseAll(node int64) {
	s.mu.Lock()
	s.lost = max(s.lost, node)
	for id, c := range s.counted {
		if c.lease.Node <= s.lost {
			s.uncount(id)
		}
	}
	s.forgetGrants()
	s.mu.Unlock()
	s.takeWaiting(func(c *store.Claimed) bool { return c.Lease.Node == node })
	for _, run := range s.runs(func(r Run) bool { return r.Lease().Node == node }) {
		run.Cancel(store.ErrLeaseLost)
	}
}

// CancelAll ends the contexts of all runs.
func (s *Slots) CancelAll(cause error) {
	for _, run := range s.runs(func(Run) bool { return true }) {
		run.Cancel(cause)
	}
}

// RunningSince returns the runs that began at the given time or before, by job.
func (s *Slots) RunningSince(t time.Time) map[store.ID]Run {
	return s.runs(func(r Run) bool { return !r.Started().After(t) })
}

// runs returns those of the runs, by job.
func (s *Slots) runs(which func(Run) bool) map[store.ID]Run {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := map[store.ID]Run{}
	for id, run := range s.runsOf {
		if run != nil && which(run) {
			found[id] = run
		}
	}
	return found
}

// Without removes the jobs that run here and still have their lease. It changes the slice.
func (s *Slots) Without(jobs []store.ID) []store.ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(jobs, func(id store.ID) bool {
		run := s.runsOf[id]
		return run != nil && !run.HasEnded()
	})
}
