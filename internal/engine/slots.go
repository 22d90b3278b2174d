package engine

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// slots keeps account of what a node runs: the executions, and the jobs that were claimed ahead of
// a free slot. It is the one place that knows what to claim next.
type slots struct {
	size   int
	most   int      // how many of them its queues can use
	shares []*share // one for each queue that the node serves, or one for all
	named  map[string]*share

	mu       sync.Mutex
	used     int                     // slots in use
	reserved int                     // jobs that may be claimed as they are enqueued
	runsOf   map[store.ID]*execution // nil for those that are about to begin

	aside   atomic.Int64 // outcomes that wait for callers' transactions
	mayWait int64        // how many of them may, until no more jobs are taken
}

// maxAside is how many outcomes may wait for callers' transactions before the node takes no more jobs:
// each is kept with its result, for as long as a caller keeps a transaction open.
const maxAside = 10_000

func newSlots(size int, queues []store.QueueDemand) *slots {
	s := &slots{size: size, most: size, runsOf: map[store.ID]*execution{}, mayWait: maxAside}
	if len(queues) == 0 {
		s.shares = []*share{newShare("", size)}
		return s
	}
	s.named, s.most = map[string]*share{}, 0
	for _, q := range queues {
		limit := q.Limit
		if limit <= 0 || limit > size {
			limit = size
		}
		s.named[q.Name] = newShare(q.Name, limit)
		s.named[q.Name].place = len(s.shares)
		s.shares = append(s.shares, s.named[q.Name])
		s.most = min(s.most+limit, size)
	}
	return s
}

// shareOf returns the share that a job of the queue is of.
func (s *slots) shareOf(queue string) *share {
	if q := s.named[queue]; q != nil {
		return q
	}
	return s.shares[0]
}

// serves reports whether the node takes jobs of the queue. "" is any.
func (s *slots) serves(queue string) bool {
	return s.named == nil || queue == "" || s.named[queue] != nil
}

// heard notes that there may be something to claim in a queue, or, if it is "", in all.
func (s *slots) heard(queue string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.shares {
		if queue == "" || s.named == nil || q.queue == queue {
			q.news++
		}
	}
}

// room is how many jobs may be claimed now whatever their queues: the free slots, and as many more
// as are expected to wait for a slot no longer than the prefetch horizon. Of jobs that were claimed
// already those count that will be given a slot within it: one whose queue is held up by a long job
// is in nobody's way. s.mu is held.
func (s *slots) room(now time.Time) int {
	if s.tooManyWait() {
		return 0
	}
	free, ahead := s.size-s.used-s.reserved, 0
	for _, q := range s.shares {
		soon := q.pace.ahead(now)
		free -= min(len(q.buffer), max(q.limit-q.running, 0)+soon)
		ahead += soon
	}
	return max(free+min(ahead, s.mostAhead()), 0)
}

// mostAhead bounds the jobs that are claimed ahead however short they are.
func (s *slots) mostAhead() int { return max(maxPrefetch-s.size, s.size) }

// demand is what may be claimed now. Jobs are claimed ahead going by how many of their queue ended
// within the last horizon. Long jobs are not, so that they are left for a node that is free.
func (s *slots) demand(now time.Time) demand {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := demand{limit: s.room(now), parts: make([]part, len(s.shares))}
	for i, q := range s.shares {
		room := min(q.room(now, s.mostAhead()), d.limit)
		d.parts[i] = part{room, q.news}
		d.likely = d.likely || room > 0 && !q.sawNothing()
		d.waits = d.waits || room == 0 && !q.sawNothing()
		if d.sum += room; s.named != nil {
			d.queues = append(d.queues, store.QueueDemand{Name: q.queue, Limit: room})
		}
	}
	d.limit = min(d.limit, d.sum)
	return d
}

// learn notes what a claim of the demand has shown that asked for limit jobs and was answered with
// these. A queue that gave much of what it was asked for may have more, also because what others
// were taking at the same moment was passed over; so may every queue if the node had no room for
// more. One that gave little has nothing left but what the node was told of since. So a node claims
// again at once where there may be more and it has room for it, and nowhere else.
func (s *slots) learn(d demand, limit int, jobs []store.Claimed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := make([]int, len(s.shares))
	for i := range jobs {
		taken[s.shareOf(jobs[i].Job.Queue).place]++
	}
	full := limit < d.sum && len(jobs) >= limit
	for i, q := range s.shares {
		switch asked := min(d.parts[i].room, limit); {
		case d.parts[i].room == 0:
		case full || taken[i]*4 >= asked:
			q.emptied = never
		default:
			q.emptied = d.parts[i].news
		}
	}
}

// learnNothing notes that a claim has failed.
func (s *slots) learnNothing() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.shares {
		q.emptied = never
	}
}

// admit takes claimed jobs in. Those for which there is a slot are returned with it; the others wait in the buffer.
func (s *slots) admit(jobs []store.Claimed) (start []store.Claimed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.take(jobs)
}

// take is admit with s.mu held. Where a slot is free the buffer has only jobs whose queues have
// none: all others have one.
func (s *slots) take(jobs []store.Claimed) (start []store.Claimed) {
	for i := 0; i < len(jobs); i++ {
		q := s.shareOf(jobs[i].Job.Queue)
		if s.used < s.size && q.running < q.limit {
			s.begins(q, jobs[i].Job.ID)
			if len(start) == i {
				start = jobs[: i+1 : i+1] // mostly they are the first
			} else {
				start = append(start, jobs[i])
			}
			continue
		}
		first := i
		for i+1 < len(jobs) && s.shareOf(jobs[i+1].Job.Queue) == q {
			i++
		}
		q.buffer = append(q.buffer, jobs[first:i+1]...)
	}
	return start
}

// begins gives a free slot to a job. s.mu is held.
func (s *slots) begins(q *share, job store.ID) {
	s.used++
	q.running++
	s.runsOf[job] = nil
}

// first gives a free slot to the job that was claimed first of those that wait and whose queues
// have one. s.mu is held.
func (s *slots) first() (c store.Claimed, ok bool) {
	var best *share
	for _, q := range s.shares {
		if len(q.buffer) > 0 && q.running < q.limit && (best == nil || q.buffer[0].Lease.Before(best.buffer[0].Lease)) {
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

// mayStart reports whether jobs may be claimed as they are enqueued: there is room, and nothing
// else to be claimed for it.
func (s *slots) mayStart(now time.Time) bool {
	d := s.demand(now)
	return d.limit > 0 && !d.likely
}

// reserve makes room for the first of the jobs, which are not claimed yet, and returns how many: as
// many as there is room for, up to the first in whose queue others may be waiting.
func (s *slots) reserve(jobs []*store.Enqueue, now time.Time) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for most := min(s.room(now), len(jobs)); n < most; n++ {
		q := s.shareOf(jobs[n].Job.Queue)
		if !q.sawNothing() || q.room(now, s.mostAhead()) == 0 {
			break
		}
		q.reserved++
	}
	s.reserved += n
	return n
}

// admitReserved takes those in that were claimed of the jobs for which there was room made; the room of the others is free.
func (s *slots) admitReserved(jobs []*store.Enqueue, claimed []store.Claimed) (start []store.Claimed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reserved -= len(jobs)
	for _, e := range jobs {
		s.shareOf(e.Job.Queue).reserved--
	}
	return s.take(claimed)
}

// begin registers an execution.
func (s *slots) begin(x *execution) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runsOf[x.run.claimed.Job.ID] = x
}

// next ends the account of a job, and hands its slot to the first job that waits for it; without
// one the slot is free.
func (s *slots) next(c store.Claimed, x *execution, now time.Time) (following store.Claimed, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now, ok := s.runsOf[c.Job.ID]; ok && (now == nil || now == x) {
		delete(s.runsOf, c.Job.ID)
	}
	q := s.shareOf(c.Job.Queue)
	q.pace.ended(now)
	q.running--
	s.used--
	return s.first()
}

// tooManyWait reports whether no jobs are to be taken for now, because of the outcomes that wait for
// callers' transactions.
func (s *slots) tooManyWait() bool { return s.aside.Load() >= s.mayWait }

// cameBack notes that such an outcome waits no more, and reports whether jobs are taken again.
func (s *slots) cameBack() bool { return s.aside.Add(-1) == s.mayWait-1 }

// takeBuffer empties the buffer.
func (s *slots) takeBuffer() []store.Claimed {
	return s.takeWaiting(func(*store.Claimed) bool { return true })
}

// takeStale takes the jobs out of the buffer that were claimed before the given time.
func (s *slots) takeStale(before time.Time) []store.Claimed {
	return s.takeWaiting(func(c *store.Claimed) bool { return c.ClaimedAt.Before(before) })
}

// takeWaiting takes jobs out of the buffer.
func (s *slots) takeWaiting(which func(*store.Claimed) bool) (taken []store.Claimed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.shares {
		q.buffer = slices.DeleteFunc(q.buffer, func(c store.Claimed) bool {
			takes := which(&c)
			if takes {
				taken = append(taken, c)
			}
			return takes
		})
	}
	return taken
}

// loseAll ends what belongs to a membership that is over.
func (s *slots) loseAll(node int64) {
	s.takeWaiting(func(c *store.Claimed) bool { return c.Lease.Node == node })
	s.mu.Lock()
	var lost []*execution
	for _, x := range s.runsOf {
		if x != nil && x.run.claimed.Lease.Node == node {
			lost = append(lost, x)
		}
	}
	s.mu.Unlock()
	for _, x := range lost {
		x.run.durable.Cancel(store.ErrLeaseLost)
	}
}

func (s *slots) cancelAll(cause error) {
	s.mu.Lock()
	all := make([]*execution, 0, len(s.runsOf))
	for _, x := range s.runsOf {
		if x != nil {
			all = append(all, x)
		}
	}
	s.mu.Unlock()
	for _, x := range all {
		x.run.durable.Cancel(cause)
	}
}

// cancel ends the run of a job that somebody asked to cancel.
func (s *slots) cancel(job store.ID, cause error) {
	s.mu.Lock()
	x := s.runsOf[job]
	s.mu.Unlock()
	if x != nil {
		x.run.durable.Cancel(cause)
	}
}

// runningSince returns the executions that began at the given time or before.
func (s *slots) runningSince(t time.Time) map[store.ID]*execution {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := map[store.ID]*execution{}
	for id, x := range s.runsOf {
		if x != nil && !x.run.started.After(t) {
			found[id] = x
		}
	}
	return found
}

// pause asks the run of a job to pause.
func (s *slots) pause(job store.ID) {
	s.mu.Lock()
	x := s.runsOf[job]
	s.mu.Unlock()
	if x != nil {
		x.run.durable.Pause()
	}
}

// runs reports whether one of the jobs is here, running or in the buffer.
func (s *slots) runs(jobs []store.ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range jobs {
		if _, runs := s.runsOf[id]; runs {
			return true
		}
	}
	return slices.ContainsFunc(s.shares, func(q *share) bool {
		return slices.ContainsFunc(q.buffer, func(c store.Claimed) bool { return slices.Contains(jobs, c.Job.ID) })
	})
}

// without returns those of the jobs that do not run here, or may have been taken from here. It changes the slice.
func (s *slots) without(jobs []store.ID) []store.ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(jobs, func(id store.ID) bool {
		x := s.runsOf[id]
		return x != nil && !x.run.durable.HasEnded()
	})
}

// over notes that the ends of runs were committed. Their slots may be taken for a while yet: a slow logger is told first.
func (s *slots) over(outcomes []*store.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range outcomes {
		if x := s.runsOf[o.Lease.Job]; x != nil && o.Err == nil && o.Final.Finished() && x.run.claimed.Lease == o.Lease {
			delete(s.runsOf, o.Lease.Job)
		}
	}
}

// jobs returns the jobs that are here, running or in the buffer.
func (s *slots) jobs() map[store.ID]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	jobs := make(map[store.ID]bool, len(s.runsOf))
	for id := range s.runsOf {
		jobs[id] = true
	}
	for _, q := range s.shares {
		for _, c := range q.buffer {
			jobs[c.Job.ID] = true
		}
	}
	return jobs
}

func (s *slots) running() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}
