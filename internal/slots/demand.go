package slots

import (
	"time"

	"github.com/holdfastdev/holdfast/internal/supervise"
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

	sum      int    // over the classes; the limit may be less
	parts    []part // by class
	division int    // of which these are
}

// part is the part of a class in a demand: its room, and its news at that moment.
type part struct {
	room int
	news int64
}

// Demand is what may be claimed now. Prefetching follows how many jobs of the queue ended within
// the last horizon; long jobs are not prefetched, so that a free node can take them.
func (s *Slots) Demand(now time.Time) Demand {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.demand(now)
}

// Claim is a Demand that is about to be claimed: until Learn or LearnNothing is called what it may
// take of limits is in use.
func (s *Slots) Claim(now time.Time) Demand {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.demand(now)
	s.claiming, s.turn = d.Limit, s.turn+1
	permits := map[*limit]int{}
	for i, c := range s.classes {
		for _, n := range c.counts {
			n.limit.claiming += d.parts[i].room * n.weight
			if n.limit.meter != nil {
				permits[n.limit] += d.parts[i].room
			}
		}
	}
	for l, n := range permits {
		l.meter.taken = l.meter.use(n, s.at)
	}
	return d
}

// claimed ends what Claim has begun. s.mu is held.
func (s *Slots) claimed() {
	s.claiming = 0
	for _, l := range s.limits {
		if l.claiming = 0; l.meter != nil {
			l.meter.taken = nil // used, as far as is known
		}
	}
}

// settle gives permits back that a claim has not used. s.mu is held.
func (s *Slots) settle(jobs []store.Claimed) {
	used := map[*limit]int{}
	for i := range jobs {
		for _, n := range s.classOf(laneOf(&jobs[i].Job)).counts {
			used[n.limit]++
		}
	}
	for _, l := range s.limits {
		if l.meter != nil {
			l.meter.settle(used[l])
		}
	}
}

func (s *Slots) demand(now time.Time) Demand {
	rooms, most := s.rooms(now)
	d := Demand{Limit: most, parts: make([]part, len(s.classes)), division: s.division}
	for i, c := range s.classes {
		room := min(rooms(c), d.Limit)
		d.parts[i] = part{room, c.news}
		d.Likely = d.Likely || room > 0 && c.mayHaveJobs()
		d.Waits = d.Waits || room == 0 && c.mayHaveJobs()
		d.sum += room
		if s.named != nil || len(s.classes) > 1 || len(s.limits) > 0 {
			d.Queues = append(d.Queues, store.QueueDemand{Name: c.lane.queue, Kind: c.lane.kind, Limit: room})
		}
	}
	d.Limit = min(d.Limit, d.sum)
	s.signalPermits()
	return d
}

// rooms returns how many jobs of each class may be claimed now, and how many in all. s.mu is held.
func (s *Slots) rooms(now time.Time) (of func(c *class) int, most int) {
	roomOf, most := s.shareRooms(now)
	if len(s.limits) == 0 {
		return func(c *class) int { return roomOf(c.share) }, most // it is the only one
	}
	s.at = s.elapsed()
	apart := apportion(s.classes, s.turn, s.at, func(q *share) int { return min(roomOf(q), most) })
	for _, l := range s.limits {
		l.needs, l.usable = min(apart.needs[l], most*l.heaviest), apart.uses[l]
		if l.meter != nil {
			l.meter.wants = min(apart.wants[l], most)
		}
		if l.asksMore() && l.keep == notAsking || l.surplus(now) > 0 || l.overstates(now) {
			supervise.Signal(s.asks)
		}
	}
	return func(c *class) int { return apart.rooms[c.place] }, most
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
	if d.division == s.division {
		s.settle(jobs)
	}
	s.claimed()
	if d.division != s.division {
		return // limits were changed meanwhile: any class may have jobs
	}
	taken := make([]struct {
		n    int
		last *store.Claimed
	}, len(s.classes))
	for i := range jobs {
		of := &taken[s.classOf(laneOf(&jobs[i].Job)).place]
		of.n++
		of.last = &jobs[i]
	}
	full := limit < d.sum && len(jobs) >= limit
	for i, c := range s.classes {
		switch asked := min(d.parts[i].room, limit); {
		case d.parts[i].room == 0:
		case full && taken[i].n == 0:
			c.emptied = never
		case full || taken[i].n*4 >= asked:
			c.emptied = never
			c.knows(taken[i].last, d.parts[i].news)
		default:
			c.emptied = d.parts[i].news
			c.knows(nil, d.parts[i].news)
		}
	}
}

// LearnNothing notes that a claim has failed: every class may have jobs.
func (s *Slots) LearnNothing() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.claimed()
	for _, c := range s.classes {
		c.emptied = never
	}
}
