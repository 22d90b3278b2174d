package engine

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// slots keeps account of what a node runs: the executions, the jobs that were claimed ahead of a free slot, and how many
// of each queue.
type slots struct {
	size   int
	queues []store.QueueDemand // nil: all

	mu       sync.Mutex
	used     int                     // slots in use
	reserved int                     // jobs that may be claimed as they are enqueued
	runsOf   map[store.ID]*execution // nil for those that are about to begin
	buffer   []store.Claimed
	byQueue  map[string]int // running, in the buffer or reserved; kept only where queues have limits
	pace     pace

	aside   atomic.Int64 // outcomes that wait for callers' transactions
	mayWait int64        // how many of them may, until no more jobs are taken
}

// maxAside is how many outcomes may wait for callers' transactions before the node takes no more jobs:
// each is kept with its result, for as long as somebody keeps his transaction open.
const maxAside = 10_000

func newSlots(size int, queues []store.QueueDemand) *slots {
	s := &slots{size: size, runsOf: map[store.ID]*execution{}, mayWait: maxAside}
	if queues != nil {
		s.byQueue = map[string]int{}
		for _, q := range queues {
			if q.Limit <= 0 || q.Limit > size {
				q.Limit = size
			}
			s.queues = append(s.queues, q)
		}
	}
	return s
}

func (s *slots) serves(queue string) bool {
	if s.queues == nil || queue == "" {
		return true
	}
	return slices.ContainsFunc(s.queues, func(q store.QueueDemand) bool { return q.Name == queue })
}

// demand is how many jobs may be claimed now: the free slots, and as many more as are expected to wait for a slot no longer
// than the prefetch horizon, going by how many ended within the last one. Long jobs are not claimed ahead, so that they
// are left for a node that is free.
func (s *slots) demand(now time.Time) (limit int, queues []store.QueueDemand) {
	s.mu.Lock()
	defer s.mu.Unlock()
	limit = s.room(now)
	if limit == 0 || s.queues == nil {
		return limit, nil
	}
	for _, q := range s.queues {
		if free := q.Limit - s.byQueue[q.Name]; free > 0 {
			queues = append(queues, store.QueueDemand{Name: q.Name, Limit: min(free, limit)})
		}
	}
	if queues == nil {
		limit = 0
	}
	return limit, queues
}

// tookAll reports whether a claim that was answered with the jobs left nothing behind in the queues that the node serves.
func (s *slots) tookAll(jobs []store.Claimed, limit int, asked []store.QueueDemand) bool {
	if len(jobs) >= limit || len(asked) < len(s.queues) {
		return false
	}
	taken := map[string]int{}
	if len(asked) > 0 {
		for _, c := range jobs {
			taken[c.Job.Queue]++
		}
	}
	return !slices.ContainsFunc(asked, func(q store.QueueDemand) bool { return taken[q.Name] >= q.Limit })
}

// room is how many jobs may be claimed now whatever their queues. s.mu is held.
func (s *slots) room(now time.Time) int {
	if s.tooManyWait() {
		return 0
	}
	ahead := min(s.pace.ahead(now), max(maxPrefetch-s.size, s.size))
	return max(s.size-s.used-len(s.buffer)-s.reserved+ahead, 0)
}

// admit takes claimed jobs in. Those for which there is a slot are returned with it; the others wait in the buffer.
func (s *slots) admit(jobs []store.Claimed) (start []store.Claimed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.take(jobs)
}

// take is admit with s.mu held.
func (s *slots) take(jobs []store.Claimed) (start []store.Claimed) {
	free := min(s.size-s.used, len(jobs))
	if len(s.buffer) > 0 {
		free = 0 // those that came first go first; a slot that frees takes them
	}
	start, wait := jobs[:free], jobs[free:]
	s.used += free
	for i := range start {
		s.runsOf[start[i].Job.ID] = nil
	}
	s.buffer = append(s.buffer, wait...)
	if s.byQueue != nil {
		for _, c := range jobs {
			s.byQueue[c.Job.Queue]++
		}
	}
	return start
}

// reserve makes room for the first of the jobs, which are not claimed yet, and returns how many: as many as demand allows.
func (s *slots) reserve(jobs []*store.Enqueue, now time.Time) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	most := min(s.room(now), len(jobs))
	n := 0
	for n < most && s.hasRoomFor(jobs[n].Job.Queue) {
		if s.byQueue != nil {
			s.byQueue[jobs[n].Job.Queue]++
		}
		n++
	}
	s.reserved += n
	return n
}

func (s *slots) hasRoomFor(queue string) bool {
	for _, q := range s.queues {
		if q.Name == queue {
			return s.byQueue[queue] < q.Limit
		}
	}
	return true
}

// admitReserved takes those in that were claimed of the jobs for which there was room made; the room of the others is free.
func (s *slots) admitReserved(jobs []*store.Enqueue, claimed []store.Claimed) (start []store.Claimed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reserved -= len(jobs)
	if s.byQueue != nil {
		for _, q := range jobs {
			s.byQueue[q.Job.Queue]--
		}
	}
	return s.take(claimed)
}

// begin registers an execution.
func (s *slots) begin(x *execution) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runsOf[x.run.claimed.Job.ID] = x
}

// next ends the account of a job, and hands its slot to the first job in the buffer; without one the slot is free.
func (s *slots) next(c store.Claimed, x *execution, now time.Time) (following store.Claimed, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now, ok := s.runsOf[c.Job.ID]; ok && (now == nil || now == x) {
		delete(s.runsOf, c.Job.ID)
	}
	s.pace.ended(now)
	if s.byQueue != nil {
		s.byQueue[c.Job.Queue]--
	}
	if len(s.buffer) == 0 {
		s.used--
		return store.Claimed{}, false
	}
	following = s.buffer[0]
	s.runsOf[following.Job.ID] = nil
	s.buffer[0] = store.Claimed{}
	s.buffer = s.buffer[1:]
	if len(s.buffer) == 0 {
		s.buffer = nil
	}
	return following, true
}

// tooManyWait reports whether no jobs are to be taken for now, because of the outcomes that wait for
// callers' transactions.
func (s *slots) tooManyWait() bool { return s.aside.Load() >= s.mayWait }

// cameBack notes that such an outcome waits no more, and reports whether jobs are taken again.
func (s *slots) cameBack() bool { return s.aside.Add(-1) == s.mayWait-1 }

// takeBuffer empties the buffer.
func (s *slots) takeBuffer() []store.Claimed {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.buffer
	s.buffer = nil
	if s.byQueue != nil {
		for _, c := range taken {
			s.byQueue[c.Job.Queue]--
		}
	}
	return taken
}

// takeStale takes the jobs out of the buffer that were claimed before the given time.
func (s *slots) takeStale(before time.Time) (stale []store.Claimed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := s.buffer[:0]
	for _, c := range s.buffer {
		if !c.ClaimedAt.Before(before) {
			kept = append(kept, c)
			continue
		}
		stale = append(stale, c)
		if s.byQueue != nil {
			s.byQueue[c.Job.Queue]--
		}
	}
	s.buffer = kept
	return stale
}

// loseAll ends what belongs to a membership that is over.
func (s *slots) loseAll(node int64) {
	s.mu.Lock()
	var lost []*execution
	for _, x := range s.runsOf {
		if x != nil && x.run.claimed.Lease.Node == node {
			lost = append(lost, x)
		}
	}
	kept := s.buffer[:0]
	for _, c := range s.buffer {
		if c.Lease.Node != node {
			kept = append(kept, c)
		} else if s.byQueue != nil {
			s.byQueue[c.Job.Queue]--
		}
	}
	s.buffer = kept
	s.mu.Unlock()
	for _, x := range lost {
		x.run.cancel(store.ErrLeaseLost)
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
		x.run.cancel(cause)
	}
}

// cancel ends the run of a job that somebody asked to cancel.
func (s *slots) cancel(job store.ID, cause error) {
	s.mu.Lock()
	x := s.runsOf[job]
	s.mu.Unlock()
	if x != nil {
		x.run.cancel(cause)
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
		x.run.pause()
	}
}

// runs reports whether one of the jobs is here, running or in the buffer.
func (s *slots) runs(jobs []store.ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range jobs {
		if _, runs := s.runsOf[id]; runs || slices.ContainsFunc(s.buffer, func(c store.Claimed) bool { return c.Job.ID == id }) {
			return true
		}
	}
	return false
}

// without returns those of the jobs that do not run here, or may have been taken from here. It changes the slice.
func (s *slots) without(jobs []store.ID) []store.ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(jobs, func(id store.ID) bool {
		x := s.runsOf[id]
		return x != nil && x.run.life.base.Err() == nil
	})
}

// jobs returns the jobs that are here, running or in the buffer.
func (s *slots) jobs() map[store.ID]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	jobs := make(map[store.ID]bool, len(s.runsOf)+len(s.buffer))
	for id := range s.runsOf {
		jobs[id] = true
	}
	for _, c := range s.buffer {
		jobs[c.Job.ID] = true
	}
	return jobs
}

func (s *slots) running() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}
