package local

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// Note adds a place to what is taken of a lane, which comes in order.
func Note(taken map[int32]Span, lane int32, p Position) {
	t, ok := taken[lane]
	if t.last = p; !ok {
		t.first = p
	}
	taken[lane] = t
}

const (
	// lookEvery is how long what a claimer was not told of can wait for a claim of its.
	lookEvery = 250 * time.Millisecond
	// nearBy is how far behind its cursor a lane is looked at that often whatever it costs. What
	// comes late comes by less than that, nearly always: what is committed a moment after it was
	// stamped, by a clock that is a little behind.
	nearBy = time.Second
	// lookShare bounds what whole looks take of a claimer's time where they are expensive: one part
	// in so many.
	lookShare = 20
	// slowClaim is what a claim has to take for cursors to be worth it although it was not full.
	slowClaim = 5 * time.Millisecond
	// longestEvery is the longest time between two whole looks.
	longestEvery = 30 * time.Second
	// idleAfter is how long a claimer has to have taken nothing to have time for whole looks,
	// however expensive they are, and how long it waits between two of them.
	idleAfter = time.Second
	// lateArrivalWindow is how long a lane is known as one in which jobs come far behind.
	lateArrivalWindow = time.Minute
	// maxLate is how many places behind its cursor a lane remembers; more are joined to one.
	maxLate = 64
)

// Cursors remember where claims go on: in which lanes there is work, best first, and up to where
// each of them is taken.
//
// A claim that knows nothing takes a whole look: it goes through the lanes that have a row in
// ready, skipping from each to the next, and reads each from its beginning. That costs by the lanes
// that have work, and by the rows that were taken from them: the index keeps their entries until no
// transaction of the whole server can see them, as while a dump runs for hours. So claims that are
// full, or slow, leave cursors, and those that follow look only at lanes that are known to have
// work, from the place of the last row that was taken.
//
// Rows come to be behind a cursor, or in a lane that is not known. What puts a job into ready in
// this process says so (hint), and so do other processes if the place is before the present: with
// their notifications, which a caller's transaction sends as it commits. What is not told, or not
// heard, is found like this:
//
//   - A claim that takes nothing has looked at everything: if it did not begin with a whole look it is repeated with one.
//   - While claims keep taking jobs, one in 250 ms is a whole look.
//   - If whole looks are expensive they take at most a twentieth of the time, but one comes every
//     30 s. In between, every 250 ms and when it takes nothing, a claim begins a second behind the
//     cursors. What is farther behind, and was not told, waits; but in lanes where such a thing was
//     found, for the next minute a claim that takes nothing looks at everything, whatever it costs.
//   - A claimer that has taken nothing for a second has the time: it pauses for a second between two
//     whole looks, or, if it was woken for a queue, for as long as one takes.
//
// What a look costs is the middle one of the last three: one that was slow by chance, because a
// disk or a lock was, says nothing about the next.
//
// Within one claim the order is that of the whole, as far as it looks. An idle node sends one
// statement for one claim. Nothing of this is written anywhere; each process has its own.
type Cursors struct {
	Clock func() time.Time // nil if there are none: the time is a test's, and so is the order of everything

	mu        sync.Mutex
	scope     scope
	looked    time.Time        // when the last whole look began; zero: nothing is known
	costs     [3]time.Duration // what the last whole looks took longer than other claims
	price     time.Duration    // the middle one of them
	usual     time.Duration    // what a claim takes that is no whole look
	lastTaken time.Time        // when a claim took something last
	woken     bool             // there is something in a queue, as was told since the last whole look began
	rewinds   int              // how often cursors were set back: looks that began before move none
	hintSeq   int              // of the last hint
	going     []*Look          // who look at this moment
	byLane    map[int32]*cursor
	ahead     []Work              // lanes that no claim has come to yet: those with fair keys, and then the others, best first
	fairAhead int                 // how many of these have fair keys; 0 or less: none
	fair      int                 // how many with fair keys the last whole look has seen
	untidy    map[int32]time.Time // lanes in which something was found far behind, and when
}

// scope is what a claim takes jobs of.
type scope struct {
	namespace string
	kinds     []string
	demands   []store.QueueDemand // without limits, in order; nil: all
}

// wanted is what a claim takes, ready to be looked through.
type wanted struct {
	*store.ClaimParams
	demands store.Demands
}

func byName(a, b store.QueueDemand) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind))
}

// cursor is where to go on in a lane.
type cursor struct {
	Position
	key      laneKey
	rewound  time.Time // when a look last began nearBy before it
	late     []hint    // run times before it, or before where claims that go on may bring it, at which there may be jobs
	lastHint int       // the hintSeq of the lane's last one
}

// hint is a place where there may be a job.
type hint struct {
	runAt int64
	seq   int // which one it is
}

func earliest(places []hint) int64 {
	return slices.MinFunc(places, func(a, b hint) int { return cmp.Compare(a.runAt, b.runAt) }).runAt
}

// Position is that of a pointer in its lane.
type Position struct {
	RunAt int64
	ID    store.ID
}

func (p Position) compare(q Position) int {
	return cmp.Or(cmp.Compare(p.RunAt, q.RunAt), bytes.Compare(p.ID[:], q.ID[:]))
}

// Work is a lane in which a look has seen jobs, and the run time of the first.
type Work struct {
	Lane  int32
	First int64
}

// Span is what was taken of a lane.
type Span struct{ first, last Position }

// Look is what a claim looks at: everything, or ranges of lanes.
type Look struct {
	began   time.Time
	Whole   bool
	near    bool // the ranges begin a second before their cursors
	Enough  bool // if there is nothing the claim has ended
	rewinds int  // those before it began
	hintSeq int  // the last hint before: of those that come while it looks it may have seen nothing
	Lanes   []int32
	From    []int64
	IDs     []pgtype.UUID
	Until   []int64
}

// Add adds a range of a lane.
func (l *Look) Add(lane int32, from Position, until int64) {
	l.Lanes, l.From = append(l.Lanes, lane), append(l.From, from.RunAt)
	l.IDs, l.Until = append(l.IDs, pg.UUIDOf(from.ID)), append(l.Until, until)
}

// scopeOf returns what a claim takes jobs of: whether it takes any by a demand just now does not
// matter.
func scopeOf(params *store.ClaimParams) scope {
	s := scope{namespace: params.Namespace, kinds: params.Kinds}
	if params.Queues != nil {
		s.demands = make([]store.QueueDemand, len(params.Queues))
		for i, d := range params.Queues {
			s.demands[i] = store.QueueDemand{Name: d.Name, Kind: d.Kind}
		}
		slices.SortFunc(s.demands, byName)
	}
	return s
}

// covers reports whether what is known of a scope is known of another one, too: each of its demands
// is one of this scope, or for a part of what one of this scope is for.
func (s scope) covers(t scope) bool {
	if s.namespace != t.namespace || !slices.Equal(s.kinds, t.kinds) || s.demands != nil && t.demands == nil {
		return false
	}
	return s.demands == nil || !slices.ContainsFunc(t.demands, func(d store.QueueDemand) bool {
		for _, wider := range [...]store.QueueDemand{d, {Name: d.Name}, {Kind: d.Kind}, {}} {
			if _, known := slices.BinarySearchFunc(s.demands, wider, byName); known {
				return false
			}
		}
		return true
	})
}

// isIn reports whether a claim takes jobs of the lane.
func (k *laneKey) isIn(w *wanted) bool {
	if k.Namespace != w.Namespace {
		return false
	}
	kind := k.claimed()
	if !slices.Contains(w.Kinds, kind) {
		return false
	}
	if w.Queues == nil {
		return true
	}
	at := w.demands.For(k.Queue, kind)
	return at >= 0 && w.Queues[at].Limit > 0
}

// Begin returns what a claim looks at. One that took little and is done again looks at everything,
// or, where that is expensive and was done lately, at what is near the cursors.
func (c *Cursors) Begin(params *store.ClaimParams, again bool, lanes *LaneCache) *Look {
	l := &Look{Enough: true, Whole: true}
	if c.Clock == nil {
		return l
	}
	l.began = c.Clock()
	c.mu.Lock()
	defer c.mu.Unlock()
	l.rewinds, l.hintSeq = c.rewinds, c.hintSeq
	c.going = append(c.going, l)
	scope, since := scopeOf(params), l.began.Sub(c.looked)
	w := &wanted{params, store.NewDemands(params.Queues)}
	if c.looked.IsZero() || since >= c.untilWholeLook(w, again, l.began) || !c.scope.covers(scope) {
		// Noted at once, so that others who are claiming now need not look, too.
		c.scope, c.looked, c.woken = scope, l.began, false
		return l
	}
	c.comeTo(params, lanes)
	l.near = again
	for _, at := range c.byLane {
		l.near = l.near || at.key.isIn(w) && l.began.Sub(at.rewound) >= lookEvery
	}
	for id, at := range c.byLane {
		if at.key.isIn(w) {
			at.ranges(id, l)
		}
	}
	l.Whole = l.Lanes == nil
	l.Enough = l.Whole || l.near && since < c.untilWholeLook(w, true, l.began)
	return l
}

// untilWholeLook is how long after the beginning of a whole look a claim need not be another one.
// c.mu is held.
func (c *Cursors) untilWholeLook(w *wanted, again bool, now time.Time) time.Duration {
	every := max(lookEvery, min(lookShare*c.price, longestEvery))
	switch {
	case !again:
		return every
	case every == lookEvery || c.isUntidy(w, now):
		return 0
	case now.Sub(c.lastTaken) < idleAfter:
		return every
	case c.woken:
		return min(every, c.price+min(c.price, idleAfter))
	}
	return min(every, c.price+idleAfter)
}

// ranges adds what is to be looked at in a lane: what is known to be late, and all from the cursor
// on.
func (at *cursor) ranges(id int32, l *Look) {
	from := at.Position
	if l.near {
		at.rewound = l.began
		from = Position{RunAt: max(from.RunAt, math.MinInt64+nearBy.Microseconds()) - nearBy.Microseconds()}
	}
	for _, late := range at.late {
		switch {
		case late.runAt < from.RunAt:
			l.Add(id, Position{RunAt: late.runAt}, late.runAt)
		case late.runAt == from.RunAt:
			from.ID = store.ID{} // ranges that overlap would give a job twice
		}
	}
	l.Add(id, from, math.MaxInt64)
}

// comeTo lets claims come to as many lanes as may be needed for one: the best of those that a whole
// look has found; and to all of those whose jobs take turns, which come first, as the turn may be
// that of any. c.mu is held.
func (c *Cursors) comeTo(params *store.ClaimParams, lanes *LaneCache) {
	if c.byLane == nil {
		c.byLane = map[int32]*cursor{}
	}
	wanted := c.fair + 2*max(params.Limit, 32)
	for ; len(c.ahead) > 0 && (c.fairAhead > 0 || len(c.byLane) < wanted); c.ahead, c.fairAhead = c.ahead[1:], c.fairAhead-1 {
		if l, ok := lanes.Get(c.ahead[0].Lane); ok && c.byLane[l.ID] == nil {
			c.byLane[l.ID] = &cursor{Position: Position{RunAt: c.ahead[0].First}, key: l.laneKey, rewound: c.looked}
		}
	}
}

// isUntidy reports whether something came far behind in a lane of the claim lately. c.mu is held.
func (c *Cursors) isUntidy(w *wanted, now time.Time) bool {
	for id, at := range c.untidy {
		if now.Sub(at) >= lateArrivalWindow {
			delete(c.untidy, id)
		} else if known := c.byLane[id]; known == nil || known.key.isIn(w) {
			return true
		}
	}
	return false
}

// Forgo ends a look that took nothing and learnt nothing, as that of a claim which is only planned.
func (c *Cursors) Forgo(l *Look) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leaves(l)
}

// leaves notes that a look is over. c.mu is held.
func (c *Cursors) leaves(l *Look) {
	c.going = slices.DeleteFunc(c.going, func(g *Look) bool { return g == l })
}

// seenByAll returns the last hint that each look under way, and one that ends now, began after.
// c.mu is held.
func (c *Cursors) seenByAll(l *Look) int {
	seq := l.hintSeq
	for _, g := range c.going {
		seq = min(seq, g.hintSeq)
	}
	return seq
}

// Fail forgets what is known if a claim did not happen: others may have passed over what it had
// locked.
func (c *Cursors) Fail(l *Look) {
	if c.Clock == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leaves(l)
	c.looked = time.Time{}
}

// End notes what a claim took of each lane, whose names are found in the cache, and in which lanes
// there was work, best first. A claim that looked behind the cursors may have found more there than
// it could take: then that is where the next one begins, and claims that have begun before do not
// change it.
func (c *Cursors) End(l *Look, taken map[int32]Span, seen []Work, full bool, lanes *LaneCache) {
	if c.Clock == nil {
		return
	}
	now := c.Clock()
	elapsed := now.Sub(l.began)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leaves(l)
	c.pace(l, elapsed)
	if len(taken) > 0 {
		c.lastTaken = now
	}
	behind, overtaken := l.Whole || l.near, l.rewinds != c.rewinds
	if behind {
		c.rewinds++
	}
	if l.Whole {
		if !full && elapsed < slowClaim || overtaken {
			c.looked, c.byLane, c.ahead = time.Time{}, nil, nil
			return
		}
		c.learn(l, taken, seen, lanes)
	}
	if overtaken {
		return // no claim goes on from what it saw
	}
	for id, t := range taken {
		at := c.byLane[id]
		if at == nil {
			if known, ok := lanes.Get(id); ok && l.Whole {
				if c.byLane == nil {
					c.byLane = map[int32]*cursor{}
				}
				c.byLane[id] = &cursor{Position: t.last, key: known.laneKey, rewound: l.began}
			}
			continue
		}
		at.advance(t, l, behind, c.seenByAll(l))
	}
	if !l.Whole {
		c.leave(l, taken, seen, full)
	}
}

// pace notes what claims take, and what looks at everything cost. c.mu is held.
func (c *Cursors) pace(l *Look, elapsed time.Duration) {
	switch {
	case l.Whole:
		c.costs = [...]time.Duration{c.costs[1], c.costs[2], elapsed - c.usual}
		sorted := c.costs
		slices.Sort(sorted[:])
		c.price = max(sorted[1], 0)
	case c.usual == 0:
		c.usual = elapsed
	default:
		c.usual = (7*c.usual + elapsed) / 8
	}
}

// learn takes in which lanes have work, and from where on. c.mu is held.
func (c *Cursors) learn(l *Look, taken map[int32]Span, seen []Work, lanes *LaneCache) {
	for id, t := range taken {
		if at := c.byLane[id]; at != nil && at.RunAt != math.MinInt64 && t.first.RunAt < at.RunAt-nearBy.Microseconds() {
			if c.untidy == nil {
				c.untidy = map[int32]time.Time{}
			}
			c.untidy[id] = l.began
		}
	}
	known := make(map[int32]*cursor, len(taken))
	for _, w := range seen {
		if at := c.byLane[w.Lane]; at != nil {
			known[w.Lane] = at
			at.begin(l, w.First)
		}
	}
	for id, at := range c.byLane {
		if at.lastHint > l.hintSeq && known[id] == nil {
			known[id] = at
			at.begin(l, math.MinInt64)
		}
	}
	c.byLane = known
	c.ahead, c.fair = fairFirst(seen, lanes)
	c.fairAhead = c.fair
}

// fairFirst moves lanes whose jobs have fair keys to the front, and returns how many they are.
func fairFirst(seen []Work, lanes *LaneCache) ([]Work, int) {
	var fair, plain []Work
	for i, w := range seen {
		if l, ok := lanes.Get(w.Lane); !ok || !l.isFair() {
			if fair != nil {
				plain = append(plain, w)
			}
			continue
		}
		if fair == nil {
			plain = slices.Clone(seen[:i])
		}
		fair = append(fair, w)
	}
	if fair == nil {
		return seen, 0
	}
	return append(fair, plain...), len(fair)
}

// begin lets claims begin where a look at everything has seen the first job of the lane, or where
// they were told of one since.
func (at *cursor) begin(l *Look, runAt int64) {
	at.Position, at.rewound = Position{RunAt: runAt}, l.began
	at.dropHints(l.hintSeq, math.MaxInt64)
}

// advance lets claims go on after what one took of the lane: farther back than before, if it looked
// behind the cursor. The hints until seenByAll are no news to any look that is under way.
func (at *cursor) advance(t Span, l *Look, behind bool, seenByAll int) {
	switch {
	case behind:
		at.Position = t.last
		at.dropHints(l.hintSeq, t.last.RunAt)
	case t.last.compare(at.Position) > 0:
		// What was late comes first, so that there is none of it left. What comes after the cursor
		// now may be behind it when a look ends that began too early to see it.
		at.Position = t.last
		at.dropHints(l.hintSeq, t.last.RunAt)
		at.dropHints(seenByAll, math.MaxInt64)
	}
}

// dropHints forgets the places before a run time of hints up to a number: those that a look began
// after.
func (at *cursor) dropHints(seq int, until int64) {
	at.late = slices.DeleteFunc(at.late, func(p hint) bool { return p.seq <= seq && p.runAt < until })
}

// leave forgets lanes that have been looked at and had no work, and, if the claim had room for
// more, what was late and has been taken. c.mu is held.
func (c *Cursors) leave(l *Look, taken map[int32]Span, seen []Work, full bool) {
	has := make(map[int32]bool, len(seen))
	for _, w := range seen {
		has[w.Lane] = true
	}
	for _, id := range l.Lanes {
		at := c.byLane[id]
		if _, wasTaken := taken[id]; at == nil || (wasTaken || has[id]) && full {
			continue
		}
		if at.dropHints(l.hintSeq, math.MaxInt64); !has[id] && at.lastHint <= l.hintSeq && len(c.byLane) > 1 {
			delete(c.byLane, id)
		}
	}
}

// forget lets the next claim look at everything.
func (c *Cursors) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.looked = time.Time{}
}

// hint tells of a job that was put into ready. Where nothing claims, and where each claim looks at
// everything, it does nothing.
func (c *Cursors) hint(id int32, runAt int64, lanes *LaneCache) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.looked.IsZero() && len(c.going) == 0 {
		return
	}
	if c.byLane == nil {
		c.byLane = map[int32]*cursor{}
	}
	c.hintSeq++
	at := c.byLane[id]
	if at == nil {
		l, ok := lanes.Get(id)
		if !ok {
			c.looked = time.Time{} // a lane that this process has not met
			return
		}
		at = &cursor{Position: Position{RunAt: math.MinInt64}, key: l.laneKey, rewound: c.looked}
		c.byLane[id] = at
	}
	at.lastHint = c.hintSeq
	if runAt > at.RunAt && (len(c.going) == 0 || runAt == math.MaxInt64) {
		return
	}
	at.late = slices.DeleteFunc(at.late, func(p hint) bool { return p.runAt == runAt })
	if at.late = append(at.late, hint{runAt, c.hintSeq}); len(at.late) > maxLate {
		at.Position, at.late = Position{RunAt: min(at.RunAt, earliest(at.late))}, nil
		c.rewinds++ // claims that have begun before do not change it
	}
}

// hintQueue tells that there is something in a queue. It may be in a lane that this process does
// not know.
func (c *Cursors) hintQueue(namespace, queue string, lanes *LaneCache) {
	c.mu.Lock()
	looking := !c.looked.IsZero() || len(c.going) > 0
	c.woken = c.woken || looking
	c.mu.Unlock()
	if !looking {
		return
	}
	ids := lanes.ofQueue(namespace, queue)
	if len(ids) == 0 {
		c.mu.Lock()
		c.looked = time.Time{}
		c.mu.Unlock()
	}
	for _, id := range ids {
		c.hint(id, math.MaxInt64, lanes)
	}
}

// Places returns where to begin to look for what waits in lanes. What came to be behind a cursor is
// not seen; a claim finds it.
func (c *Cursors) Places(lanes []int32) (runAts []int64, ids []pgtype.UUID) {
	runAts, ids = make([]int64, len(lanes)), make([]pgtype.UUID, len(lanes))
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, id := range lanes {
		p := Position{RunAt: math.MinInt64}
		if at := c.byLane[id]; at != nil {
			if p = at.Position; len(at.late) > 0 {
				p = Position{RunAt: min(p.RunAt, earliest(at.late))}
			}
		}
		runAts[i], ids[i] = p.RunAt, pg.UUIDOf(p.ID)
	}
	return runAts, ids
}
