package slots

import (
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/internal/supervise"
)

// How long nothing must be known of jobs of a queue until its classes are dropped, and then until
// the slots that it needed are given back.
const idleFor = 20 * time.Second

// retire drops the classes of queues of which nothing was heard for long, and has the slots of
// limits given back that none needs any more. It does nothing while a claim is under way, which
// knows its classes. s.mu is held.
func (s *Slots) retire() {
	if s.claiming > 0 {
		return
	}
	at, dropped := s.elapsed(), false
	for _, g := range s.opened {
		switch {
		case g.isInUse():
			g.idle = false
		case !g.idle:
			g.idle, g.idleFrom = true, at
		case at-g.idleFrom >= idleFor:
			s.drop(g)
			dropped = true
		}
	}
	if dropped {
		s.opened = slices.DeleteFunc(s.opened, func(g *group) bool { return g.classes == nil })
		s.window, s.classes = nil, s.classes[:s.fixed:s.fixed]
		for _, g := range s.opened {
			s.classes = append(s.classes, g.classes...)
		}
	}
	s.unmatch()
	s.retireLimits(at)
}

// drop drops a group.
func (s *Slots) drop(g *group) {
	for l := range g.limits() {
		l.groups--
		l.needs, l.usable, l.saved = 0, 0, 0
		if l.meter != nil {
			l.meter.wants = 0
		}
	}
	delete(g.classes[0].share.groups, g.queue)
	g.classes = nil
}

// unmatch drops the shares of queues that have no classes and nothing in use. s.mu is held.
func (s *Slots) unmatch() {
	s.shares = slices.DeleteFunc(s.shares, func(q *share) bool {
		drop := q.opens && q.queue != "" && len(q.groups) == 0 && !q.isInUse()
		if drop {
			delete(s.byQueue, q.queue)
		}
		return drop
	})
}

// retireLimits lets go of limits that jobs of no queue count in.
func (s *Slots) retireLimits(at time.Duration) {
	s.live = slices.DeleteFunc(s.live, func(l *limit) bool {
		if l.groups > 0 {
			l.idle = false
			return false
		}
		if !l.idle {
			l.idle, l.idleFrom = true, at
		}
		if l.isDone() {
			l.isLive = false
			return true
		}
		if at-l.idleFrom >= idleFor {
			l.unneeded = true
			supervise.Signal(s.asks)
		}
		return false
	})
}
