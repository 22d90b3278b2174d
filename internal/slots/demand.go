package slots

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// MaxPrefetch bounds the number of prefetched jobs, however short they are.
const MaxPrefetch = 2000

// Demand is what may be claimed at a moment.
type Demand struct {
	Limit  int                 // over all queues
	Queues []store.QueueDemand // and in each; nil: all of the namespace

	Likely bool // there may be jobs and there is room for them
	Waits  bool // there may be jobs but there is no room for them

	sum   int    // over the queues; the limit may be less
	parts []part // by share
}

// part is the part of a share in a demand: its room, and its news at that moment.
type part struct {
	room int
	news int64
}

// Demand is what may be claimed now. Prefetching follows how many jobs of the queue ended within
// the last horizon; long jobs are not prefetched, so that a free node can take them.
func (s *Slots) Demand(now time.Time) Demand {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := Demand{Limit: s.room(now), parts: make([]part, len(s.shares))}
	for i, q := range s.shares {
		room := min(q.room(now, s.mostAhead()), d.Limit)
		d.parts[i] = part{room, q.news}
		d.Likely = d.Likely || room > 0 && q.mayHaveJobs()
		d.Waits = d.Waits || room == 0 && q.mayHaveJobs()
		d.sum += room
		if s.named != nil {
			d.Queues = append(d.Queues, store.QueueDemand{Name: q.queue, Limit: room})
		}
	}
	d.Limit = min(d.Limit, d.sum)
	return d
}

// room is how many jobs may be claimed now in all queues: the free slots, and as many more as are
// expected to get a slot within the prefetch horizon. Prefetched jobs count if they are expected to
// get a slot within it; jobs whose queue is blocked by a long job take no room from the others.
// s.mu is held.
func (s *Slots) room(now time.Time) int {
	if s.quiet || s.tooManyAside() {
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
func (s *Slots) mostAhead() int { return max(MaxPrefetch-s.size, s.size) }

// Learn evaluates the answer to a claim for a demand that asked for limit jobs. A queue that gave a
// quarter or more of what it was asked for may have more, also because jobs locked by other claims
// were skipped; so may every queue if the limit cut the demand short. A queue that gave less is
// empty until the next wake-up. So a node claims again at once only where there may be more jobs
// and it has room for them.
func (s *Slots) Learn(d Demand, limit int, jobs []store.Claimed) {
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

// LearnNothing notes that a claim has failed: every queue may have jobs.
func (s *Slots) LearnNothing() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.shares {
		q.emptied = never
	}
}
