package slots

import (
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/internal/supervise"
	"github.com/holdfastdev/holdfast/store"
)

// counted is a job that counts in limits.
type counted struct {
	at    lane
	lease store.Lease
	class *class
}

// count counts a job that is leased, if it counts in any limit. s.mu is held.
func (s *Slots) count(job *store.Job, lease store.Lease) {
	if len(s.limits) == 0 || lease.Node <= s.lost {
		return
	}
	s.uncount(job.ID)
	c := counted{at: laneOf(job), lease: lease}
	if c.class = s.classOf(c.at); len(c.class.counts) > 0 {
		c.class.counted(1)
		s.counted[job.ID] = c
	}
}

// uncount takes a job out of the count. s.mu is held.
func (s *Slots) uncount(job store.ID) {
	if c, ok := s.counted[job]; ok {
		c.class.counted(-1)
		delete(s.counted, job)
	}
}

// Lost notes that the lease of a run is lost: it counts for nothing any more.
func (s *Slots) Lost(lease store.Lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok := s.counted[lease.Job]; ok && c.lease == lease {
		s.uncount(lease.Job)
	}
}

// SetLimits takes over the limits of the namespace as they are now. It reports whether any is new,
// or different, for this node: then there may be jobs to claim.
func (s *Slots) SetLimits(limits []store.Limit) (changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	limits = slices.Clone(limits)
	for i := range limits {
		if limits[i].PerKey {
			limits[i].Rate = nil // claims take its permits, too
		}
	}
	limits = slices.DeleteFunc(limits, func(l store.Limit) bool {
		return !s.isConcerned(&l.LimitSettings) && slotsOf(&l, s.member) == 0 && (s.byID[l.ID] == nil || s.byID[l.ID].isDone())
	})
	same := func(known *limit, l store.Limit) bool { return known.ID == l.ID && known.Version == l.Version }
	if slices.EqualFunc(s.limits, limits, same) {
		for i, l := range limits {
			if s.limits[i].see(l, s.member) {
				supervise.Signal(s.permits)
			}
			if s.limits[i].repeats(s.elapsed()) {
				supervise.Signal(s.asks)
			}
			if s.limits[i].unsure {
				s.enliven(s.limits[i])
			}
		}
		s.retire()
		return false
	}
	known := s.byID
	s.limits, s.looked, s.promised = nil, nil, nil
	s.byName, s.byID = make(map[string]*limit, len(limits)), make(map[int64]*limit, len(limits))
	for _, l := range limits {
		mine := known[l.ID]
		if mine == nil {
			mine = &limit{keep: notAsking, back: notAsking}
		}
		if mine.ID == 0 || !sameCount(&mine.LimitSettings, &l.LimitSettings) {
			mine.claiming = s.claiming * heaviest(&l.LimitSettings) // at the most: a claim is under way
		}
		mine.Limit, mine.short, mine.heaviest = l, false, heaviest(&l.LimitSettings)
		mine.meterFor()
		mine.see(l, s.member)
		mine.unneeded = !s.isConcerned(&l.LimitSettings)
		s.limits, s.byName[l.Name], s.byID[l.ID] = append(s.limits, mine), mine, mine
		if mine.claiming > 0 {
			s.promised = append(s.promised, mine)
		}
	}
	s.divide()
	s.recount()
	supervise.Signal(s.asks)
	supervise.Signal(s.permits)
	return true
}

// IsLimited reports whether any limit concerns the node.
func (s *Slots) IsLimited() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.limits) > 0
}

// isConcerned reports whether jobs that the node claims may count in a limit.
func (s *Slots) isConcerned(l *store.LimitSettings) bool {
	if l.NoJobs || l.PerKey { // of those that are per key claims count the jobs
		return false
	}
	if len(l.Queues) > 0 && !slices.ContainsFunc(l.Queues, s.Serves) {
		return false
	}
	if len(l.Kinds) == 0 {
		return true
	}
	for _, kind := range s.kinds {
		if l.Kinds[kind] > 0 {
			return true
		}
	}
	return false
}

// recount counts all jobs that are here, and those whose outcomes are on their way. s.mu is held.
func (s *Slots) recount() {
	for _, l := range s.limits {
		l.used, l.reserved = 0, 0
	}
	for id, c := range s.counted {
		if c.class = s.classOf(c.at); len(c.class.counts) == 0 {
			delete(s.counted, id)
			continue
		}
		c.class.counted(1)
		s.counted[id] = c
	}
	for _, run := range s.runsOf {
		if run != nil {
			s.count(run.Job(), run.Lease())
		}
	}
	for _, q := range s.shares {
		for _, c := range q.buffer {
			s.count(&c.Job, c.Lease)
		}
	}
	for at, n := range s.reserving {
		s.classOf(at).expect(n)
	}
}

// Probe has jobs looked for in classes for which the node holds no slots, as it then looks at the
// others without being told of any.
func (s *Slots) Probe() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unsure()
	for _, c := range s.classes {
		if !c.fits(s.elapsed()) {
			c.emptied = never
		}
	}
}

// Wanted notes that another node wants slots of a limit. It reports whether the limit is fair: then
// the part of this node may be another one, which SetLimits tells.
func (s *Slots) Wanted(name string, now time.Time) (look bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.byName[name]
	if l == nil {
		return false
	}
	l.wantedUntil, l.owed = now.Add(contention), l.held > 0
	s.signalSurplus(l, now)
	return l.Fair
}

// signalSurplus has slots given back that others want. s.mu is held.
func (s *Slots) signalSurplus(l *limit, now time.Time) {
	if l.surplus(now) > 0 {
		supervise.Signal(s.asks)
	}
}

// Freed notes that slots of a limit may be had.
func (s *Slots) Freed(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.byName[name]
	if l == nil {
		return
	}
	if l.short {
		l.short = false
		supervise.Signal(s.asks)
	}
	if l.meter != nil && l.meter.notBefore > 0 {
		l.meter.notBefore = 0 // permits may have come back
		supervise.Signal(s.permits)
	}
}

// LimitName is the name of the limit with an id, or "".
func (s *Slots) LimitName(id int64) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.byID[id]; l != nil {
		return l.Name
	}
	return ""
}

// forgetGrants forgets what the node holds, which it does as a member of the cluster. s.mu is held.
func (s *Slots) forgetGrants() {
	s.member, s.doubtUpTo = 0, 0
	for _, l := range s.limits {
		l.held, l.keep, l.back, l.short, l.unsure, l.owed, l.doubtful = 0, notAsking, notAsking, false, false, false, 0
		l.excess = 0
	}
}
