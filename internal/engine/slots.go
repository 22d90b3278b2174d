package engine

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast/internal/supervise"
	"github.com/holdfastdev/holdfast/store"
)

// slots tracks what a node runs: its executions and its prefetched jobs. It alone decides what to
// claim next.
type slots struct {
	size   int
	most   int      // slots that the queues can use
	shares []*share // one for each queue that the node serves, or one for all
	named  map[string]*share
	waits  chan struct{} // told when jobs wait for a slot

	mu       sync.Mutex
	used     int                     // slots in use
	reserved int                     // for jobs of enqueues in progress
	runsOf   map[store.ID]*execution // nil for those that are about to start
	asked    early

	aside   atomic.Int64 // outcomes blocked by callers' transactions
	mayWait int64        // limit of aside at which the node stops claiming
}

// maxAside is how many outcomes may be blocked by callers' transactions before the node stops
// claiming: each is kept in memory with its result until the caller's transaction ends.
const maxAside = 10_000

func newSlots(size int, queues []store.QueueDemand) *slots {
	s := &slots{size: size, most: size, runsOf: map[store.ID]*execution{}, mayWait: maxAside, waits: make(chan struct{}, 1)}
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

// shareOf returns the share of a queue.
func (s *slots) shareOf(queue string) *share {
	if q := s.named[queue]; q != nil {
		return q
	}
	return s.shares[0]
}

// serves reports whether the node serves the queue. "" is any queue.
func (s *slots) serves(queue string) bool {
	return s.named == nil || queue == "" || s.named[queue] != nil
}

// heard notes that there may be jobs in a queue, or in all queues if it is "".
func (s *slots) heard(queue string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.shares {
		if queue == "" || s.named == nil || q.queue == queue {
			q.heard(now)
		}
	}
}

// lag is how late the first job is that waits for a slot of the node, as far as the node knows from
// claims and wake-ups.
func (s *slots) lag(now time.Time) (most time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.shares {
		most = max(most, q.lag(now))
	}
	return most
}

// room is how many jobs may be claimed now in all queues: the free slots, and as many more as are
// expected to get a slot within the prefetch horizon. Prefetched jobs count if they are expected to
// get a slot within it; jobs whose queue is blocked by a long job take no room from the others.
// s.mu is held.
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

// mostAhead bounds the number of prefetched jobs, however short they are.
func (s *slots) mostAhead() int { return max(maxPrefetch-s.size, s.size) }

// demand is what may be claimed now. Prefetching follows how many jobs of the queue ended within
// the last horizon; long jobs are not prefetched, so that a free node can take them.
func (s *slots) demand(now time.Time) demand {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := demand{limit: s.room(now), parts: make([]part, len(s.shares))}
	for i, q := range s.shares {
		room := min(q.room(now, s.mostAhead()), d.limit)
		d.parts[i] = part{room, q.news}
		d.likely = d.likely || room > 0 && q.mayHaveJobs()
		d.waits = d.waits || room == 0 && q.mayHaveJobs()
		d.sum += room
		if s.named != nil {
			d.queues = append(d.queues, store.QueueDemand{Name: q.queue, Limit: room})
		}
	}
	d.limit = min(d.limit, d.sum)
	return d
}

// learn evaluates the answer to a claim for a demand that asked for limit jobs. A queue that gave a
// quarter or more of what it was asked for may have more, also because jobs locked by other claims
// were skipped; so may every queue if the limit cut the demand short. A queue that gave less is
// empty until the next wake-up. So a node claims again at once only where there may be more jobs
// and it has room for them.
func (s *slots) learn(d demand, limit int, jobs []store.Claimed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := make([]struct {
		n    int
		last *store.Claimed
	}, len(s.shares))
	for i := range jobs {
		of := &taken[s.shareOf(jobs[i].Job.Queue).place]
		of.n++
		of.last = &jobs[i]
	}
	full := limit < d.sum && len(jobs) >= limit
	for i, q := range s.shares {
		switch asked := min(d.parts[i].room, limit); {
		case d.parts[i].room == 0:
		case full && taken[i].n == 0:
			q.emptied = never
		case full || taken[i].n*4 >= asked:
			q.emptied = never
			q.knows(taken[i].last, d.parts[i].news)
		default:
			q.emptied = d.parts[i].news
			q.knows(nil, d.parts[i].news)
		}
	}
}

// learnNothing notes that a claim has failed: every queue may have jobs.
func (s *slots) learnNothing() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.shares {
		q.emptied = never
	}
}

// admit takes claimed jobs in. It returns those that have a slot; the others wait in the buffer.
func (s *slots) admit(jobs []store.Claimed) (start []store.Claimed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.admitLocked(jobs)
}

// admitLocked is admit with s.mu held. While a slot is free, the buffer has only jobs whose queues
// are at their limit; all others would have a slot.
func (s *slots) admitLocked(jobs []store.Claimed) (start []store.Claimed) {
	for i := 0; i < len(jobs); i++ {
		q := s.shareOf(jobs[i].Job.Queue)
		if s.used < s.size && q.running < q.limit {
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
		q.buffer = append(q.buffer, jobs[first:i+1]...)
		supervise.Signal(s.waits)
	}
	return start
}

// begins gives a free slot to a job. s.mu is held.
func (s *slots) begins(q *share, job store.ID) {
	s.used++
	q.running++
	s.runsOf[job] = nil
}

// startPrefetched gives a free slot to the prefetched job that was claimed first, of those whose
// queues are below their limit. s.mu is held.
func (s *slots) startPrefetched() (c store.Claimed, ok bool) {
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

// mayStart reports whether jobs may be started by their enqueue: there is room, and no other job
// known that could use it.
func (s *slots) mayStart(now time.Time) bool {
	d := s.demand(now)
	return d.limit > 0 && !d.likely
}

// reserve reserves room for the first n of the jobs, which are not claimed yet. It stops at the
// first whose queue is full or may have other jobs.
func (s *slots) reserve(jobs []*store.Enqueue, now time.Time) (n int) {
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

// admitReserved converts the reservations of jobs into slots for those that were claimed, and
// releases the others.
func (s *slots) admitReserved(jobs []*store.Enqueue, claimed []store.Claimed) (start []store.Claimed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reserved -= len(jobs)
	for _, e := range jobs {
		s.shareOf(e.Job.Queue).reserved--
	}
	return s.admitLocked(claimed)
}

// begin registers an execution. It reports whether a request for the job came while its claim was
// on its way here, so that neither the claim nor a beat has told the node of it.
func (s *slots) begin(x *execution) (asked bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runsOf[x.run.claimed.Job.ID] = x
	return s.asked.take(x.run.claimed.Job.ID)
}

// endRun removes a run and gives its slot to the first prefetched job; without one the slot is
// free.
func (s *slots) endRun(c store.Claimed, x *execution, now time.Time) (following store.Claimed, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if current, here := s.runsOf[c.Job.ID]; here && (current == nil || current == x) {
		delete(s.runsOf, c.Job.ID)
	}
	q := s.shareOf(c.Job.Queue)
	q.pace.ended(now)
	q.running--
	s.used--
	return s.startPrefetched()
}

// tooManyWait reports whether claiming is suspended because too many outcomes are blocked by
// callers' transactions.
func (s *slots) tooManyWait() bool { return s.aside.Load() >= s.mayWait }

// cameBack notes that such an outcome is no longer blocked, and reports whether that resumes
// claiming.
func (s *slots) cameBack() bool { return s.aside.Add(-1) == s.mayWait-1 }

// takeBuffer empties the buffer.
func (s *slots) takeBuffer() []store.Claimed {
	return s.takeWaiting(func(*store.Claimed) bool { return true })
}

// takeStale takes the jobs out of the buffer that were claimed before the given time.
func (s *slots) takeStale(before time.Time) []store.Claimed {
	return s.takeWaiting(func(c *store.Claimed) bool { return c.ClaimedAt.Before(before) })
}

// takeWaiting removes jobs from the buffer and returns them.
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
		if len(q.buffer) > 0 {
			supervise.Signal(s.waits)
		}
	}
	return taken
}

// loseAll drops the buffered jobs and cancels the runs of a membership that is over.
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
		x.run.replay.Cancel(store.ErrLeaseLost)
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
		x.run.replay.Cancel(cause)
	}
}

// cancel ends the context of the run of a job.
func (s *slots) cancel(job store.ID, cause error) {
	s.mu.Lock()
	x := s.runsOf[job]
	s.mu.Unlock()
	if x != nil {
		x.run.replay.Cancel(cause)
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
		x.run.replay.Pause()
	}
}

// ask reports whether a request to cancel or pause concerns a job that the node runs or has
// prefetched. It remembers the others: one of them may have been claimed just now.
func (s *slots) ask(jobs []store.ID) (ours bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range jobs {
		x, here := s.runsOf[id]
		ours = ours || here
		if x == nil {
			s.asked.add(id)
		}
	}
	return ours || slices.ContainsFunc(s.shares, func(q *share) bool {
		return slices.ContainsFunc(q.buffer, func(c store.Claimed) bool { return slices.Contains(jobs, c.Job.ID) })
	})
}

// early are the last jobs of which a request came while the node was not running them: between a
// thousand and two thousand.
type early struct{ young, old map[store.ID]bool }

func (r *early) add(id store.ID) {
	if r.young == nil || len(r.young) >= 1000 {
		r.young, r.old = map[store.ID]bool{}, r.young
	}
	r.young[id] = true
}

// take forgets a job, and reports whether it was there.
func (r *early) take(id store.ID) bool {
	there := r.young[id] || r.old[id]
	delete(r.young, id)
	delete(r.old, id)
	return there
}

// without removes the jobs that run here and still have their lease. It changes the slice.
func (s *slots) without(jobs []store.ID) []store.ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(jobs, func(id store.ID) bool {
		x := s.runsOf[id]
		return x != nil && !x.run.replay.HasEnded()
	})
}

// over notes that the outcomes of runs were committed. Their slots may be in use a little longer,
// while the outcome is logged.
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
