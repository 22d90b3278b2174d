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
	Room   int  // for how many there is a slot, but for limits
	Look   bool // it is to be found out which queues have jobs, and there is room for some: see TakeLook

	sum      int    // over the classes; the limit may be less
	parts    []part // one for each class that was looked at
	division int    // of which these are
}

// part is the part of a class in a demand: its room, and its news at that moment.
type part struct {
	class *class
	room  int
	news  int64

	taken int            // how many jobs the claim took
	last  *store.Claimed // of them
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
	s.claiming = d.Limit
	s.nextTurn(&d)
	permits := map[*limit]int{}
	for _, p := range d.parts {
		for _, n := range p.class.counts {
			n.limit.claiming += p.room * n.weight
			if n.limit.meter != nil {
				permits[n.limit] += p.room
			}
		}
	}
	s.promised = append(s.promised, s.looked...)
	for l, n := range permits {
		l.meter.taken = l.meter.use(n, s.at)
	}
	return d
}

// nextTurn has the classes that this claim may take of come after all others. s.mu is held.
func (s *Slots) nextTurn(d *Demand) {
	s.turn++
	for _, p := range d.parts {
		if p.room > 0 {
			p.class.turn = s.turn
		}
	}
}

// claimed ends what Claim has begun. s.mu is held.
func (s *Slots) claimed() {
	s.claiming = 0
	for _, l := range s.promised {
		if l.claiming = 0; l.meter != nil {
			l.meter.taken = nil // used, as far as is known
		}
	}
	s.promised = s.promised[:0]
}

// settle gives permits back that a claim has not used. s.mu is held.
func (s *Slots) settle(jobs []store.Claimed) {
	used := map[*limit]int{}
	for i := range jobs {
		for _, n := range s.classOf(laneOf(&jobs[i].Job)).counts {
			used[n.limit]++
		}
	}
	for _, l := range s.promised {
		if l.meter != nil {
			l.meter.settle(used[l])
		}
	}
}

func (s *Slots) demand(now time.Time) Demand {
	classes, rooms, most := s.rooms(now)
	d := Demand{Limit: most, Room: s.room(now), parts: make([]part, len(classes)), division: s.division}
	d.Look = d.Room > 0 && s.mayLook()
	d.Waits = d.Room == 0 && s.look == lookDue || s.leftOut
	if s.named != nil || s.opens() {
		d.Queues = []store.QueueDemand{} // nil would be all
	}
	for i, c := range classes {
		room := min(rooms(c), d.Limit)
		d.parts[i] = part{class: c, room: room, news: c.news}
		d.Likely = d.Likely || room > 0 && c.mayHaveJobs()
		d.Waits = d.Waits || room == 0 && c.mayHaveJobs()
		d.sum += room
		if s.named != nil || len(classes) > 1 || len(s.limits) > 0 {
			d.Queues = append(d.Queues, store.QueueDemand{Name: c.lane.queue, Kind: c.lane.kind, Limit: room})
		}
	}
	d.Limit = min(d.Limit, d.sum)
	s.signalPermits()
	return d
}

// rooms returns the classes that are looked at, how many jobs of each may be claimed now, and how
// many in all. s.mu is held.
func (s *Slots) rooms(now time.Time) (classes []*class, of func(c *class) int, most int) {
	if len(s.limits) > 0 || len(s.opened) > 0 {
		s.at = s.elapsed()
	}
	classes = s.front(now)
	roomOf, most := s.shareRooms(now)
	if len(s.limits) == 0 {
		return classes, func(c *class) int { return roomOf(c.share) }, most // it is the only one
	}
	apart := apportion(classes, s.savers, s.at, func(q *share) int { return min(roomOf(q), most) })
	for _, l := range s.looked {
		l.needs, l.usable, l.saved = 0, 0, 0 // it may not be among those any more
		if l.meter != nil {
			l.meter.wants = 0
		}
	}
	s.looked, s.blocked = apart.limits, apart.blocked
	s.contest(classes, now)
	for _, l := range s.looked {
		l.needs, l.usable, l.saved = min(apart.needs[l], most*l.heaviest), apart.uses[l], apart.saved[l]
		if l.meter != nil {
			l.meter.wants = min(apart.wants[l], most)
		}
		if l.asksMore() && l.keep == notAsking || l.surplus(now) > 0 || l.overstates(now) {
			supervise.Signal(s.asks)
		}
	}
	s.doubt(classes)
	return classes, func(c *class) int { return apart.rooms[c.place] }, most
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
	for i, p := range d.parts {
		p.class.place = i
	}
	for i := range jobs {
		c := s.classOf(laneOf(&jobs[i].Job))
		if c.place < len(d.parts) && d.parts[c.place].class == c {
			d.parts[c.place].taken++
			d.parts[c.place].last = &jobs[i]
		}
	}
	full := limit < d.sum && len(jobs) >= limit
	for _, p := range d.parts {
		switch c, asked := p.class, min(p.room, limit); {
		case p.room == 0:
		case full && p.taken == 0:
			c.emptied = never
		case full || p.taken*4 >= asked:
			c.emptied = never
			c.knows(p.last, p.news)
		default:
			c.emptied = p.news
			c.knows(nil, p.news)
		}
		if p.taken > 0 || !p.class.mayHaveJobs() {
			s.stopSaving(p.class)
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
