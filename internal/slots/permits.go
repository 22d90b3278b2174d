package slots

import (
	"sort"
	"time"

	"github.com/holdfastdev/holdfast/internal/supervise"
	"github.com/holdfastdev/holdfast/store"
)

// meter is the node's account of the rate of one limit: the permits that it has taken in advance,
// and when it may ask for more. Times are those of Slots.elapsed. It is guarded by Slots.mu.
type meter struct {
	rate    store.Rate
	drained time.Time // as far as the node has heard

	leases []*lease // in the order of their permits
	taken  []taken  // what a claim under way may use

	wants  int  // for how many jobs there may be that could run, when that was last looked at
	asking bool // an ask is under way
	grain  int  // how many permits an ask is for at the most, if the node does not call often
	vain   bool // the last claim that had permits used none: others may have the kinds of these jobs

	notBefore time.Duration // the next ask: the last one has got all that there were
	calls     time.Duration // when the node has made few calls again
	seen      []sight       // the classes as they were when it asked
}

// lease is what a node got in one call.
type lease struct {
	store.Permits

	sent, answered time.Duration
	first          int // those before were used, or are over
	got            int // how many there were
	judged         bool
}

// taken are permits that a claim may use, those from first on.
type taken struct {
	of       *lease
	first, n int
}

// sight is a class and what was known of it.
type sight struct {
	class *class
	news  int64
}

const (
	// callsEvery is how often a node may ask for permits of a limit, for long; callsAtOnce is how
	// often it may at once.
	callsEvery  = store.PermitAhead
	callsAtOnce = 10
	// sooner is how long before others come a node asks that has got all that there were.
	sooner = 10 * time.Millisecond
	// worth is how long it takes until as many permits come as are given back in a call of its own.
	worth = 50 * time.Millisecond
)

// ready returns the places of the permits of a lease that may be used at a moment: those from lo up
// to hi. Those before lo are over.
func (l *lease) ready(at time.Duration) (lo, hi int) {
	n := l.Count - l.first
	lo = l.first + sort.Search(n, func(k int) bool { return l.sent+l.Until(l.first+k) >= at })
	hi = l.first + sort.Search(n, func(k int) bool { return l.answered+l.From(l.first+k) > at })
	return lo, max(lo, hi)
}

// room is for how many jobs there are permits at a moment.
func (m *meter) room(at time.Duration) (n int) {
	for _, l := range m.leases {
		lo, hi := l.ready(at)
		n += hi - lo
	}
	return n
}

// soon is for how many jobs there are permits at a moment, or will be before long.
func (m *meter) soon(at time.Duration) int {
	n := m.room(at)
	if m.rate.Count == 0 || m.notBefore > at+store.PermitAhead {
		return n
	}
	return max(n, m.cover())
}

// left is how many permits there are at a moment or will be later, and when the next one comes.
func (m *meter) left(at time.Duration) (n int, next time.Duration) {
	for _, l := range m.leases {
		lo, hi := l.ready(at)
		if n += l.Count - lo; hi < l.Count && next == 0 {
			next = l.answered + l.From(hi)
		}
	}
	return n, next
}

// use uses permits, of which there are as many.
func (m *meter) use(n int, at time.Duration) (used []taken) {
	for _, l := range m.leases {
		lo, hi := l.ready(at)
		if some := min(n, hi-lo); some > 0 {
			used = append(used, taken{l, lo, some})
			l.first, n = lo+some, n-some
		}
	}
	return used
}

// settle ends a claim that may have used permits. used is how many it has; the others may be used
// by the next one, if none that come after them were used meanwhile.
func (m *meter) settle(used int) {
	if len(m.taken) > 0 {
		m.vain = used == 0
	}
	for _, t := range m.taken {
		some := min(used, t.n)
		if used -= some; t.of.first == t.first+t.n {
			t.of.first = t.first + some
		}
	}
	m.taken = nil
}

// forget drops all permits.
func (m *meter) forget() { m.leases = nil }

// prune drops leases that are used up or over. The last one stays: of that some may go back.
func (m *meter) prune(at time.Duration) {
	for len(m.leases) > 1 {
		if lo, _ := m.leases[0].ready(at); lo < m.leases[0].Count {
			return
		}
		m.leases = m.leases[1:]
	}
}

// unused are the permits at the end of the last lease that no job has used, if they are worth to be
// given back.
func (m *meter) unused(least time.Duration) int {
	if len(m.leases) == 0 || len(m.taken) > 0 {
		return 0
	}
	l := m.leases[len(m.leases)-1]
	if n := l.Count - l.first; time.Duration(n)*l.Period >= least {
		return n
	}
	return 0
}

// leastGrain is how many permits a node asks for that needs few: those that come while one lives.
func (m *meter) leastGrain() int { return 1 + int(store.PermitLife/max(m.rate.Period(), 1)) }

// cover is how many permits come in the time in which a node makes one call.
func (m *meter) cover() int { return 2 + int(store.PermitAhead/max(m.rate.Period(), 1)) }

// decide says whether to ask at a moment: for how many permits, and how many of the last lease are
// given back. next is when to look again if it does not ask; 0: when something happens.
func (m *meter) decide(at time.Duration) (want, back int, next time.Duration) {
	if m.asking {
		return 0, 0, 0
	}
	left, comes := m.left(at)
	if m.wants == 0 || m.rate.Count == 0 {
		if m.rate.Count > 0 && m.notBefore > at {
			next = m.notBefore // slots may be of use then
		}
		if back = m.unused(worth); back == 0 || m.calls > at+callsAtOnce*callsEvery/2 {
			return 0, 0, next
		}
		return 0, back, next
	}
	if left >= m.wants {
		return 0, 0, comes
	}
	may := max(m.notBefore, m.calls-(callsAtOnce-1)*callsEvery)
	if may > at {
		if comes > 0 {
			may = min(may, comes)
		}
		return 0, 0, may
	}
	want = min(m.wants, max(m.grain, m.leastGrain())) - left
	if m.calls > at+callsAtOnce*callsEvery/2 {
		want = max(want, m.cover()-left)
	}
	if want <= 0 {
		return 0, 0, comes
	}
	if left == 0 {
		back = m.unused(0) // they are over, and may come again
	}
	return want, back, comes
}

// ask makes an ask of what decide has said.
func (m *meter) ask(l *store.Limit, want, back int, at time.Duration) store.PermitAsk {
	a := store.PermitAsk{Limit: l.ID, Version: l.Version, Want: want, Ahead: store.PermitAhead, IfWaiting: true}
	if n := len(m.leases); n > 0 {
		last := m.leases[n-1]
		if want > 0 && !last.judged {
			m.judge(last)
		}
		if back > 0 {
			a.Back, a.Move = back, last.Move
			last.Count = last.first // from now on none of them is used
		}
	}
	m.asking, m.calls = true, max(m.calls, at)+callsEvery
	return a
}

// judge takes more permits next time if all of a lease were used, and fewer if most were not.
func (m *meter) judge(l *lease) {
	l.judged = true
	switch {
	case l.first >= l.got:
		m.grain = min(2*max(m.grain, m.leastGrain()), m.cover()+l.Burst)
	case l.first < l.got/2:
		m.grain /= 2
	}
}

// PermitsWait is told when permits of limits are to be asked for, or it is to be looked again when.
func (s *Slots) PermitsWait() <-chan struct{} { return s.permits }

// PermitAsks returns what to ask of the rates of limits. Until Permitted is called with the answer
// nothing else is asked of those. If that is nothing, it is to be called again after some time, if
// that is not 0.
func (s *Slots) PermitAsks(now time.Time) (asks []store.PermitAsk, sent, again time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	classes, _, _ := s.rooms(now)
	for _, l := range s.live {
		if l.meter == nil {
			continue
		}
		l.meter.prune(s.at)
		want, back, next := l.meter.decide(s.at)
		if want > 0 || back > 0 {
			asks = append(asks, l.meter.ask(&l.Limit, want, back, s.at))
			l.meter.sees(l, classes)
		}
		if wait := next - s.at; next > 0 && (again == 0 || wait < again) {
			again = max(wait, time.Millisecond)
		}
	}
	if s.lookAt = 0; again > 0 {
		s.lookAt = s.at + again
	}
	return asks, s.at, again
}

// sees notes what is known of the classes that count in its limit when permits are asked for.
func (m *meter) sees(l *limit, classes []*class) {
	m.seen = m.seen[:0]
	for _, c := range classes {
		for _, n := range c.counts {
			if n.limit == l {
				m.seen = append(m.seen, sight{c, c.news})
			}
		}
	}
}

// Permitted takes in the answer to an ask that was sent at a moment of PermitAsks. It reports
// whether some limits were not as the node knows them. A nil answer is one that was lost.
func (s *Slots) Permitted(asks []store.PermitAsk, answer []store.Permits, sent time.Duration) (stale bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.elapsed()
	got := map[int64]*store.Permits{}
	for i := range answer {
		got[answer[i].Limit] = &answer[i]
	}
	for _, a := range asks {
		l := s.byID[a.Limit]
		if l == nil || l.meter == nil || !l.meter.asking {
			continue
		}
		l.meter.asking = false
		p, ok := got[l.ID]
		switch {
		case !ok:
			stale = true
		case l.Version == a.Version:
			l.meter.take(p, a.Want, sent, at)
		}
	}
	return stale && answer != nil
}

// take takes in permits.
func (m *meter) take(p *store.Permits, want int, sent, at time.Duration) {
	if p.None {
		for _, s := range m.seen {
			if s.class.news == s.news {
				s.class.emptied = s.news
			}
		}
		return
	}
	if p.Count > 0 {
		m.leases = append(m.leases, &lease{Permits: *p, sent: sent, answered: at, got: p.Count})
	}
	switch {
	case want == 0:
		m.notBefore = 0 // some went back
	case p.Count < want:
		m.notBefore = max(sent+callsEvery-sooner, sent+p.Next-sooner)
	}
}

// signalPermits has permits asked for where jobs may wait for some, or given back, or looked for
// when they come. s.mu is held.
func (s *Slots) signalPermits() {
	for _, l := range s.looked {
		if l.meter == nil {
			continue
		}
		want, back, next := l.meter.decide(s.at)
		later := next > 0 && (s.lookAt == 0 || next < s.lookAt) && l.meter.room(s.at) == 0
		if want > 0 || back > 0 || later {
			supervise.Signal(s.permits)
		}
	}
}

// permitRoom is for how many jobs the node has permits, if the limit has a rate.
func (l *limit) permitRoom(at time.Duration) (n int, bounds bool) {
	if l.meter == nil {
		return 0, false
	}
	return l.meter.room(at), true
}

// meterFor sees to it that a limit has a meter if it has a rate, which is as it was told, and none
// otherwise.
func (l *limit) meterFor() {
	switch {
	case l.Rate == nil:
		l.meter = nil
	case l.meter == nil:
		l.meter = &meter{rate: *l.Rate, drained: l.DrainedUntil}
	case l.meter.rate != *l.Rate:
		l.meter.forget()
		l.meter.rate, l.meter.notBefore = *l.Rate, 0
	}
}

// seeDrained drops the permits of a limit that was drained, or of which a drain was taken back:
// then the node may ask again at once, which it reports.
func (l *limit) seeDrained(now *store.Limit) bool {
	if l.meter == nil || now.DrainedUntil.Equal(l.meter.drained) {
		return false
	}
	l.meter.forget()
	l.meter.drained, l.meter.notBefore = now.DrainedUntil, 0
	return true
}
