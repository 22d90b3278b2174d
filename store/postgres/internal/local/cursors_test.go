package local

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfastdev/holdfast/store"
)

// readyRow is a row of the table ready, as claims see it.
type readyRow struct {
	lane int32
	Position
	hinted, taken bool
}

// cursorsModel plays claims that overlap, and jobs that become ready meanwhile, without a database.
type cursorsModel struct {
	*rapid.T
	cursors Cursors
	lanes   LaneCache
	now     time.Time
	rows    []*readyRow
	going   []*modelClaim
	params  store.ClaimParams
}

// modelClaim is a claim that goes on, with what it has seen.
type modelClaim struct {
	look *Look
	seen []*readyRow // in the order in which they are taken
	work []Work
}

const modelLanes = 3

func newCursorsModel(t *rapid.T) *cursorsModel {
	m := &cursorsModel{T: t, now: time.Unix(1_800_000_000, 0), params: store.ClaimParams{Kinds: []string{"k"}, Limit: 2}}
	m.cursors.Clock = func() time.Time { return m.now }
	for id := int32(1); id <= modelLanes; id++ {
		m.lanes.Add(Lane{ID: id, QueueID: id, laneKey: laneKey{Queue: string('a' + id), kind: "k"}})
	}
	return m
}

// commit makes a job ready, at any run time of the last seconds, whose hint is still to come.
func (m *cursorsModel) commit(t *rapid.T) {
	id := store.ID{rapid.ByteMax(3).Draw(t, "id"), byte(len(m.rows) >> 8), byte(len(m.rows))}
	at := m.now.UnixMicro() - int64(rapid.SampledFrom([]int{0, 0, 1000, 100_000, 5_000_000}).Draw(t, "before"))
	m.rows = append(m.rows, &readyRow{lane: rapid.Int32Range(1, modelLanes).Draw(t, "lane"), Position: Position{at, id}})
}

// hint tells of a row that was committed.
func (m *cursorsModel) hint(t *rapid.T) {
	for _, r := range m.rows {
		if !r.hinted {
			m.cursors.hint(r.lane, r.RunAt, &m.lanes)
			r.hinted = true
			return
		}
	}
	t.Skip("nothing to tell")
}

// begin lets a claim begin, and checks that it looks wherever it was told of.
func (m *cursorsModel) begin(t *rapid.T) {
	if len(m.going) >= 3 {
		t.Skip("enough of them")
	}
	c := &modelClaim{look: m.cursors.Begin(&m.params, false, &m.lanes)}
	for _, r := range m.rows {
		switch {
		case c.covering(r) > 1:
			t.Fatalf("a claim looks at %+v, which has the row of lane %d at %d twice", c.look, r.lane, r.RunAt)
		case r.taken:
		case c.covers(r):
			c.seen = append(c.seen, r)
		case r.hinted && !m.isAhead(r) && !m.isSeen(r):
			t.Fatalf("a claim looks at %+v, and not for the row of lane %d at %d", c.look, r.lane, r.RunAt)
		}
	}
	slices.SortFunc(c.seen, func(a, b *readyRow) int { return a.compare(b.Position) })
	c.noteWork()
	m.going = append(m.going, c)
}

// noteWork notes the lanes of what was seen, unless there is just one: the statement has nothing to
// choose then.
func (c *modelClaim) noteWork() {
	for _, r := range c.seen {
		if !slices.ContainsFunc(c.work, func(w Work) bool { return w.Lane == r.lane }) {
			c.work = append(c.work, Work{r.lane, r.RunAt})
		}
	}
	if c.look.Whole && len(c.work) == 1 || len(c.look.Lanes) == 1 {
		c.work = nil
	}
}

// isAhead reports whether claims are still to come to a row.
func (m *cursorsModel) isAhead(r *readyRow) bool {
	return m.cursors.byLane[r.lane] == nil &&
		slices.ContainsFunc(m.cursors.ahead, func(w Work) bool { return w.Lane == r.lane && w.First <= r.RunAt })
}

// isSeen reports whether a claim that looks at everything, and has not ended, has seen a row.
func (m *cursorsModel) isSeen(r *readyRow) bool {
	return slices.ContainsFunc(m.going, func(c *modelClaim) bool { return c.look.Whole && slices.Contains(c.seen, r) })
}

func (c *modelClaim) covers(r *readyRow) bool { return c.look.Whole || c.covering(r) > 0 }

// covering is how many ranges have a row.
func (c *modelClaim) covering(r *readyRow) (n int) {
	for i, lane := range c.look.Lanes {
		from := Position{c.look.From[i], store.ID(c.look.IDs[i].Bytes)}
		if lane == r.lane && r.compare(from) >= 0 && r.RunAt <= c.look.Until[i] {
			n++
		}
	}
	return n
}

// end lets a claim take what it has seen and others have left; or fail.
func (m *cursorsModel) end(t *rapid.T) {
	if len(m.going) == 0 {
		t.Skip("nobody claims")
	}
	i := rapid.IntRange(0, len(m.going)-1).Draw(t, "claim")
	c := m.going[i]
	m.going = slices.Delete(m.going, i, i+1)
	if rapid.IntRange(0, 19).Draw(t, "fails") == 0 {
		m.cursors.Fail(c.look)
		return
	}
	taken, n := map[int32]Span{}, 0
	for _, r := range c.seen {
		if !r.taken && n < m.params.Limit {
			r.taken = true
			Note(taken, r.lane, r.Position)
			n++
		}
	}
	m.cursors.End(c.look, taken, c.work, n >= m.params.Limit, &m.lanes)
}

func (m *cursorsModel) wait(t *rapid.T) {
	m.now = m.now.Add(rapid.SampledFrom([]time.Duration{time.Millisecond, 20 * time.Millisecond, 100 * time.Millisecond}).Draw(t, "for"))
}

// TestWhatIsToldIsLookedFor: whatever claims are on their way when somebody is told of a job that
// is ready, each claim that begins later looks where it is, as long as it is there.
func TestWhatIsToldIsLookedFor(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := newCursorsModel(t)
		t.Repeat(map[string]func(*rapid.T){
			"commit": m.commit, "commit too": m.commit, "commit another": m.commit, "hint": m.hint, "hint too": m.hint,
			"begin": m.begin, "begin too": m.begin, "end": m.end, "end too": m.end, "wait": m.wait,
		})
	})
}

// TestAHintOutlivesWhoBeganBefore: a claim that began before a hint brings the cursor past its
// place, although one that began later, and could see the job, has gone only up to it.
func TestAHintOutlivesWhoBeganBefore(t *testing.T) {
	t.Parallel()
	m := newCursorsModel(nil)
	row := func(runAt int64) *readyRow { return &readyRow{lane: 1, Position: Position{RunAt: runAt}} }
	take := func(l *Look, r *readyRow) {
		m.cursors.End(l, map[int32]Span{1: {r.Position, r.Position}}, nil, true, &m.lanes)
	}
	begin := func() *Look { return m.cursors.Begin(&m.params, false, &m.lanes) }
	base := m.now.UnixMicro()
	first, second, third := row(base), row(base+10), row(base+30)
	take(begin(), first)
	early := begin()
	m.cursors.hint(1, base+20, &m.lanes)
	take(begin(), second)
	take(early, third)
	l := begin()
	if !slices.Contains(l.From, base+20) {
		t.Errorf("a claim looks from %v on, and not at %d", l.From, base+20)
	}
}

// TestManyHintsAtOnce: more than a lane remembers, told while a claim is on its way.
func TestManyHintsAtOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := newCursorsModel(t)
		m.commit(t)
		m.hint(t)
		m.now = m.now.Add(time.Second)
		m.begin(t)
		m.now = m.now.Add(10 * time.Millisecond) // so that it leaves cursors
		m.end(t)
		m.begin(t)
		for range maxLate + 10 {
			m.commit(t)
			m.hint(t)
			m.now = m.now.Add(10 * time.Microsecond)
		}
		for m.begin(t); len(m.going) > 0; {
			m.end(t)
		}
		m.begin(t)
	})
}

// TestPlacesBeginBeforeWhatIsLate: what waits is read from the first place on that anybody was told
// of.
func TestPlacesBeginBeforeWhatIsLate(t *testing.T) {
	t.Parallel()
	c := Cursors{byLane: map[int32]*cursor{7: {Position: Position{RunAt: 100}, late: []hint{{runAt: 60}, {runAt: 40}}}}}
	at, _ := c.Places([]int32{7, 8})
	if want := []int64{40, math.MinInt64}; !slices.Equal(at, want) {
		t.Errorf("places %v, want %v", at, want)
	}
}

// TestLooksTakeLittleOfABusyClaimersTime: however it is woken, and whether each of its claims is
// full or every other one takes nothing, whole looks that are expensive take a twentieth of its
// time.
func TestLooksTakeLittleOfABusyClaimersTime(t *testing.T) {
	t.Parallel()
	const whole, other = 100 * time.Millisecond, 2 * time.Millisecond
	for name, takes := range map[string][]int{"full claims": {2}, "every other one empty": {1, 0}, "few at a time": {0, 0, 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := time.Unix(1_800_000_000, 0)
			began, spent := now, time.Duration(0)
			c, lanes, params := Cursors{Clock: func() time.Time { return now }}, LaneCache{}, store.ClaimParams{Kinds: []string{"k"}, Limit: 2}
			lanes.Add(Lane{ID: 1, QueueID: 1, laneKey: laneKey{Queue: "q", kind: "k"}})
			for n := 0; now.Sub(began) < time.Minute; n++ {
				c.hintQueue("", "q", &lanes)
				n := takes[n%len(takes)]
				for again := false; ; again = true {
					l := c.Begin(&params, again, &lanes)
					took := other
					if l.Whole {
						took = whole
						spent += took
					}
					now = now.Add(took)
					taken := map[int32]Span{}
					if n > 0 {
						Note(taken, 1, Position{now.UnixMicro(), store.ID{}})
					}
					if c.End(l, taken, nil, n == 2, &lanes); l.Enough || n == 2 {
						break
					}
					n = 0
				}
				now = now.Add(10 * time.Millisecond)
			}
			if most := time.Minute/(lookShare-1) + 3*whole; spent > most {
				t.Errorf("looks at everything took %v of a minute, more than %v", spent, most)
			}
		})
	}
}
