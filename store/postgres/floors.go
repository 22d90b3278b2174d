package postgres

import (
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
)

const (
	// lookEvery is how long what is behind a floor can wait for a claim.
	lookEvery = 250 * time.Millisecond
	// nearBy is how far behind its floor a lane is looked at that often whatever it costs. What comes late comes by less than that: a
	// promotion, a caller's transaction, a clock that is behind.
	nearBy = time.Second
	// lookShare bounds what looking from the beginning of the lanes takes of a claimer's time where that is expensive: one part in so many.
	lookShare = 20
	// slowClaim is what a claim has to take for floors to be worth it although it was not full.
	slowClaim = 5 * time.Millisecond
	// longestEvery is the longest time between two such looks.
	longestEvery = 30 * time.Second
	// untidyFor is how long a lane is known as one in which jobs come far behind.
	untidyFor = time.Minute
	// maxFloors is how many lanes may have one.
	maxFloors = 256
)

// floors remember up to where the lanes are taken, so that a claim begins with the first row that is left.
//
// The index of ready keeps the entries of rows that were taken, until no transaction of the whole server can see them: while somebody's
// dump is running, for hours. A scan from the beginning of a lane visits them all, each time. Claims that are full, or slow, leave floors,
// and from then on the scans begin at the place of the last row that was taken in each lane.
//
// Rows can come to be behind a floor: what is promoted or put back has an older run time, transactions of callers commit late, clocks
// differ, and a row that was passed over because another claimer had locked it stays if that one fails. So this is what holds:
//
//   - Within one claim the order is that of the whole, but for what is behind the floors.
//   - A claim that takes nothing has looked at everything: if it began at floors it is repeated from the beginning. A claimer that goes on
//     until there is nothing more misses nothing, however the floors are.
//   - Of a claimer that does not come to an end one claim every 250 ms begins at the beginning.
//   - If beginning there turns out to be expensive it is done as rarely as to take a twentieth of the time, and every 30 s at the least.
//     Every 250 ms, and before it ends, such a claimer begins a second before the floors. What is farther behind waits; but where that was
//     found, such as jobs whose ordering key has come free, a claim that takes nothing looks at everything for the next minute whatever it
//     costs.
//
// An idle node sends one statement for one claim: its floors are old. Nothing of this is written anywhere; each process has its own.
type floors struct {
	clock func() time.Time // nil if there are none: the time is a test's, and so is the order of everything

	mu     sync.Mutex
	byLane map[int32]*floor
	every  time.Duration // how often a claim begins at the beginning; 0 is lookEvery
	usual  time.Duration // what a claim takes that does not
	looks  int           // how many have done so, or begun near their floors
}

// floor is the last place that was taken in a lane.
type floor struct {
	position
	key    laneKey
	looked time.Time // when the lane was last looked at from its beginning
	near   time.Time // when from nearBy
	untidy time.Time // when something was last found that is farther behind
}

// position is that of a pointer in its lane.
type position struct {
	runAt int64
	id    store.ID
}

// span is what was taken of a lane.
type span struct{ first, last position }

// start is where a claim begins: at the places, or, in lanes without one, at the beginning. Its lists are nil if there are none.
type start struct {
	began   time.Time
	covered []int32 // lanes of the claim that have a floor
	whole   bool    // they are looked at from the beginning
	near    bool    // or from nearBy their floors
	enough  bool    // if there is nothing the claim has ended
	looks   int     // those that had ended
	lanes   []int32
	runAts  []int64
	ids     []pgtype.UUID
}

// begin returns where a claim begins. One that took nothing and is done again looks at everything, or, where that is expensive and was done
// lately, at what is near the floors.
func (f *floors) begin(params *store.ClaimParams, again bool) *start {
	s := &start{enough: true}
	if s.whole = f.clock == nil; s.whole {
		return s
	}
	s.began = f.clock()
	f.mu.Lock()
	defer f.mu.Unlock()
	s.looks = f.looks
	every := max(f.every, lookEvery)
	cheap := every == lookEvery
	s.near = again
	for id, l := range f.byLane {
		if l.key.isIn(params) {
			s.covered = append(s.covered, id)
			s.whole = s.whole || s.began.Sub(l.looked) >= every
			s.near = s.near || s.began.Sub(l.near) >= lookEvery
			cheap = cheap || s.began.Sub(l.untidy) < untidyFor
		}
	}
	s.whole = s.whole || again && cheap || s.covered == nil
	if s.enough = s.whole || s.near && !cheap; s.covered == nil {
		return s
	}
	slices.Sort(s.covered) // in which the statement searches
	for _, id := range s.covered {
		l := f.byLane[id]
		p := l.position
		switch {
		case s.whole:
			// Noted at once, so that others who are claiming now need not look, too.
			l.looked, l.near = s.began, s.began
			continue
		case s.near:
			l.near = s.began
			p = position{runAt: p.runAt - nearBy.Microseconds()}
		}
		s.lanes, s.runAts, s.ids = append(s.lanes, id), append(s.runAts, p.runAt), append(s.ids, uuidOf(p.id))
	}
	return s
}

// isIn reports whether a claim takes jobs of the lane.
func (k *laneKey) isIn(params *store.ClaimParams) bool {
	if k.namespace != params.Namespace || !slices.Contains(params.Kinds, k.kind) {
		return false
	}
	wanted := func(d store.QueueDemand) bool { return d.Name == k.queue && d.Limit > 0 }
	return params.Queues == nil || slices.ContainsFunc(params.Queues, wanted)
}

// fail forgets the floors of a claim whose look did not happen.
func (f *floors) fail(s *start) {
	if !s.whole && !s.near {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range s.covered {
		delete(f.byLane, id)
	}
}

// end notes what a claim took of each lane, whose names are found in the cache. A claim that looked behind the floors may have found more
// there than it could take: then that is where the next one begins, and claims that have begun before do not change it.
func (f *floors) end(s *start, taken map[int32]span, full bool, lanes *laneCache) {
	if f.clock == nil {
		return
	}
	took := f.clock().Sub(s.began)
	f.mu.Lock()
	defer f.mu.Unlock()
	looked, overtaken := s.whole || s.near, s.looks != f.looks
	if looked {
		f.looks++
	}
	switch {
	case s.whole:
		f.every = min(lookShare*(took-f.usual), longestEvery)
		if !full && took < slowClaim {
			for _, id := range s.covered {
				delete(f.byLane, id)
			}
			return
		}
	case f.usual == 0:
		f.usual = took
	default:
		f.usual = (7*f.usual + took) / 8
	}
	if f.byLane == nil || len(f.byLane)+len(taken) > maxFloors {
		f.byLane = map[int32]*floor{}
	}
	for id, t := range taken {
		l := f.byLane[id]
		_, passed := slices.BinarySearch(s.lanes, id)
		switch {
		case l != nil && (looked || !overtaken):
			if s.whole && t.first.runAt < l.runAt-nearBy.Microseconds() {
				l.untidy = s.began
			}
			l.position = t.last
		case l == nil && !passed:
			if key, ok := lanes.get(id); ok {
				f.byLane[id] = &floor{position: t.last, key: key.laneKey, looked: s.began, near: s.began}
			}
		}
	}
}
