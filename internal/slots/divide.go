package slots

import (
	"slices"

	"github.com/holdfastdev/holdfast/store"
)

// mostApart is how many classes a share has at the most that are there all the time. Where limits
// tell more apart there are those of queues that may have jobs.
const mostApart = 128

// divide makes the classes: for each share those that its limits tell apart. What is known of
// jobs that wait is lost, so each may have some.
func (s *Slots) divide() {
	s.classes, s.opened, s.window, s.division = nil, nil, nil, s.division+1
	s.savers, s.blocked, s.contested = nil, nil, nil
	s.wide, s.ofQueue, s.live = nil, map[string][]*limit{}, nil
	for _, l := range s.limits {
		l.groups, l.isLive, l.needs, l.usable, l.saved = 0, false, 0, 0, 0
		if !l.isDone() {
			s.enliven(l)
		}
		if len(l.Queues) == 0 {
			s.wide = append(s.wide, l)
		}
		for _, queue := range l.Queues {
			s.ofQueue[queue] = append(s.ofQueue[queue], l)
		}
	}
	for _, q := range s.shares {
		if q.opens && q.queue != "" {
			continue // comes after those that are there all the time
		}
		q.groups = map[string]*group{}
		queues := s.queuesApart(q)
		if q.opens = s.areMany(queues); q.opens {
			s.look = lookDue
			continue
		}
		for _, queue := range queues {
			s.open(q, queue)
		}
	}
	s.fixed = len(s.classes)
	if len(s.patterns) > 0 {
		s.look = lookDue
		s.rematch()
	}
}

// queuesApart are the queues of a share that limits tell apart, and "" for all others, if it has
// several.
func (s *Slots) queuesApart(q *share) []string {
	if q.queue != "" {
		return []string{q.queue}
	}
	queues := []string{""}
	for _, l := range s.limits {
		for _, queue := range l.Queues {
			if of := s.ofQueue[queue]; of[0] == l {
				queues = append(queues, queue)
			}
		}
	}
	return queues
}

// areMany reports whether queues of a share have too many classes to have all of them all the time.
func (s *Slots) areMany(queues []string) bool {
	n := 0
	for _, queue := range queues {
		if n += len(s.kindsApart(queue)); n > s.mostApart {
			return len(queues) > 1
		}
	}
	return false
}

// kindsApart are the kinds of a queue that limits tell apart, by name, and before them "" for all
// others.
func (s *Slots) kindsApart(queue string) []string {
	kinds := []string{""}
	for claimed, kind := range s.kinds {
		apart := func(l *limit) bool { return l.Kinds[kind] > 0 }
		if slices.ContainsFunc(s.wide, apart) || slices.ContainsFunc(s.ofQueue[queue], apart) {
			kinds = append(kinds, claimed)
		}
	}
	slices.Sort(kinds)
	return kinds
}

// open makes the classes of a queue.
func (s *Slots) open(q *share, queue string) *group {
	g := &group{queue: queue}
	emptied := int64(never)
	if q.opens && s.look == looked {
		emptied = 0 // it is not known that it has jobs
	}
	for _, kind := range s.kindsApart(queue) {
		c := &class{share: q, lane: lane{queue, kind}, emptied: emptied, sure: never, seen: never}
		if q.opens {
			c.turn = s.turn // it comes after those that wait
		}
		for _, some := range [...][]*limit{s.wide, s.ofQueue[queue]} {
			for _, l := range some {
				if weight := l.weightOf(queue, s.kinds[kind]); weight > 0 {
					c.counts = append(c.counts, count{l, weight})
				}
			}
		}
		g.classes = append(g.classes, c)
	}
	for l := range g.limits() {
		l.groups++
		l.unneeded = false
		s.enliven(l)
	}
	q.groups[queue], s.classes = g, append(s.classes, g.classes...)
	if q.opens {
		s.opened = append(s.opened, g)
	}
	return g
}

// limits yields each limit that jobs of the group count in, once.
func (g *group) limits() func(yield func(*limit) bool) {
	return func(yield func(*limit) bool) {
		var seen []*limit
		for _, c := range g.classes {
			for _, n := range c.counts {
				if slices.Contains(seen, n.limit) {
					continue
				}
				if seen = append(seen, n.limit); !yield(n.limit) {
					return
				}
			}
		}
	}
}

// enliven has the loops look at a limit.
func (s *Slots) enliven(l *limit) {
	if !l.isLive {
		l.isLive, s.live = true, append(s.live, l)
	}
}

// groupOf returns the classes of a queue. They are made if there is none for it.
func (s *Slots) groupOf(queue string) *group {
	q := s.shareOf(queue)
	if g := q.groups[queue]; g != nil {
		return g
	}
	if q.opens {
		return s.open(q, queue)
	}
	if g := q.groups[""]; g != nil {
		return g
	}
	return q.groups[q.queue]
}

// classOf returns the class of a job.
func (s *Slots) classOf(at lane) *class { return s.groupOf(at.queue).of(at.kind) }

// shareOf returns the share of a queue.
func (s *Slots) shareOf(queue string) *share {
	if q := s.named[queue]; q != nil {
		return q
	}
	if len(s.patterns) > 0 {
		return s.matched(queue)
	}
	return s.shares[0]
}

// matched returns the share of a queue that has none of its own. It is made if the queue is new.
func (s *Slots) matched(queue string) *share {
	if q := s.byQueue[queue]; q != nil {
		return q
	}
	of := pattern{s.size, 1}
	if name, ok := store.ServedAs(s.served, queue); ok {
		of = s.patterns[name]
	}
	q := &share{queue: queue, limit: of.limit, weight: of.weight, opens: true, groups: map[string]*group{}}
	s.byQueue[queue], s.shares = q, append(s.shares, q)
	return q
}

// rematch divides the shares of patterns again: those that are not in use are gone. s.mu is held.
func (s *Slots) rematch() {
	for _, q := range s.byQueue {
		q.groups = map[string]*group{}
	}
	s.unmatch()
	for _, q := range s.shares {
		if q.opens && q.queue != "" {
			s.open(q, q.queue)
		}
	}
}
