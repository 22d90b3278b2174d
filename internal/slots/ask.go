package slots

import (
	"time"

	"github.com/holdfastdev/holdfast/internal/supervise"
	"github.com/holdfastdev/holdfast/store"
)

// AsksWait is told when slots of limits are to be asked for, or given back.
func (s *Slots) AsksWait() <-chan struct{} { return s.asks }

// Asks returns what a node, by its present id, has to ask of limits: for more slots, where it has
// jobs that wait for some; and to give back what it does not use, where others want it. Until
// Granted is called with the answer the node uses no more than it says here that it keeps. There is
// one ask at a time.
func (s *Slots) Asks(node int64, now time.Time) (asks []store.LimitAsk) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.member != node {
		s.forgetGrants()
		s.member = node
	}
	s.rooms(now) // what it needs now
	for _, l := range s.live {
		if a, more := l.askMore(s.size, now); more {
			asks = append(asks, a)
		}
	}
	// Slots that cannot be used for want of those of another limit may be usable in a moment.
	waits := len(asks) > 0
	for _, l := range s.live {
		if n := l.surplus(now); l.keep == notAsking && n > 0 && !(waits && l.held-l.taken() <= l.needs) || l.overstates(now) {
			asks = append(asks, l.askLess())
		}
	}
	for i := range asks {
		s.noteWish(&asks[i])
	}
	return asks
}

// askMore returns what to ask if the node needs slots, or the store does not know what it uses.
func (l *limit) askMore(size int, now time.Time) (a store.LimitAsk, more bool) {
	a = store.LimitAsk{Limit: l.ID, Version: l.Version}
	switch {
	case l.Uncapped:
		return a, false
	case l.used > l.held:
		// Jobs that ran when the limit was made. What a claim or an enqueue under way takes is not
		// known yet, and may be nothing.
		a.Keep, a.Want = l.used, l.used
	case l.unsure:
		a.Keep, a.Want = l.held, max(l.held, l.taken()+l.needs)
	case l.asksMore() || l.asksAgain(now):
		l.askedAt = now
		a.Keep, a.Want = l.held, l.taken()+l.needs
		if !now.Before(l.wantedUntil) {
			a.Want = max(a.Want, size*l.heaviest) // so that it need not ask for each job
		}
	default:
		return a, false
	}
	if !l.Fair {
		a.Want = min(a.Want, max(l.Slots(), a.Keep)) // no node is to look for what there is not
	}
	l.keep = a.Keep
	return a, true
}

// askLess returns what to ask to give slots back.
func (l *limit) askLess() store.LimitAsk {
	a := store.LimitAsk{Limit: l.ID, Version: l.Version, Keep: l.taken(), Want: l.taken() + l.usable}
	if l.over || l.overPart() {
		a.Want = l.taken() + l.needs
	}
	if l.Uncapped {
		a.Keep, a.Want = 0, 0 // any number may run
	}
	l.keep, l.back = a.Keep, l.needs
	return a
}

// Granted takes in what a node was granted. It returns the limits of which it has given slots back,
// and those of which it got too few: others are to be told; and whether some that it asked about
// were not as it knows them. A nil answer is one that was lost.
func (s *Slots) Granted(node int64, asks []store.LimitAsk, answer []store.Grant) (freed, short []string, stale bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.member != node {
		return nil, nil, false
	}
	granted := map[int64]store.Grant{}
	for _, g := range answer {
		granted[g.Limit] = g
	}
	for _, a := range asks {
		l := s.byID[a.Limit]
		if l == nil {
			continue
		}
		back := l.back
		l.keep, l.back = notAsking, notAsking
		g, ok := granted[l.ID]
		if !ok {
			l.held, l.unsure, stale = min(l.held, a.Keep), true, true
			continue
		}
		l.unsure = false
		if g.Slots < max(l.held, l.excess) {
			l.owed = false
			if !g.Told {
				freed = append(freed, l.Name)
			}
		}
		l.excess = 0
		l.held, l.over, l.share.part = g.Slots, g.Held > g.Capacity, g.Part
		// What it needs may have grown since it asked. What it could not use and gave back it does
		// not ask for at once.
		switch l.short = l.lacks() > 0 && (g.Slots < a.Want || back >= l.needs); {
		case l.short && l.isNews():
			short = append(short, l.Name)
		case l.short:
		case l.lacks() > 0:
			supervise.Signal(s.asks)
		}
	}
	return freed, short, stale && answer != nil
}

// asksAgain reports whether a node that got too few slots is to ask again: for those that others
// hold, who may have none to spare until then, and forget that some are wanted. Of a fair limit it
// says so as fairShare tells.
func (l *limit) asksAgain(now time.Time) bool {
	return !l.Fair && l.short && l.lacks() > 0 && !l.over && l.held < l.Slots() && now.Sub(l.askedAt).Abs() >= repeats
}
