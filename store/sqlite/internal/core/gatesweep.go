package core

import (
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/gates"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// GateSweep says when all gates at which jobs wait are looked at, and how far that has come. It is
// a net: who ends a job lets the next one go on. It is also what empties the gates of a limit that
// was deleted or made wider, and those of a queue that goes on: a portion at a time, in the order
// of the gates, but that it passes over those at which nothing bounds very many jobs, and comes
// back to them. Nothing of it is stored but that a sweep was asked for, as each process begins with
// one.
type GateSweep struct {
	next  int64 // when the next pass begins, in microseconds by the clock of the database
	every time.Duration
	took  time.Duration // by the pass that is under way

	passing bool  // a pass is under way
	after   int64 // it has looked at the gates up to this one
	hadAny  bool  // and one was free

	begun bool  // a pass was
	asked int64 // how often one was asked for, when the last one began
	goes  int64 // when the first of the queues that rest goes on; 0: none rests

	found []int64 // gates that are to be opened
	rest  []int64 // gates that were opened, and at which there was too much for one transaction
}

const (
	// sweepEvery and sweepRarely are the shortest and the longest time between two sweeps: twice as
	// long after each that has found nothing. One takes at most a twentieth of the time.
	sweepEvery  = store.SweepAfter
	sweepRarely = 5 * time.Second
	sweepShare  = 20
	// sweepGates is how many gates one call looks at.
	sweepGates = 1000
	// restGates is how many gates it passes over before it waits for them.
	restGates = 500
	// firstGate is before all gates.
	firstGate = -1 << 63
)

// Look finds the next gates that are to be opened, if it is time for that, and reports whether
// there are some. What is found is opened by Open.
func (g *GateSweep) Look(t *Tx) (free bool, err error) {
	if len(g.found) > 0 { // they were not opened
		g.after, g.passing, g.found = g.found[0]-1, true, nil
	}
	if !g.passing {
		due, asked, err := g.isDue(t)
		if err != nil || !due {
			return len(g.rest) > 0, err
		}
		g.passing, g.begun, g.asked = true, true, asked
		g.after, g.hadAny, g.took = firstGate, false, 0
	}
	began := time.Now()
	look := gateLook{t: t}
	over, err := g.walk(t, &look)
	if err != nil {
		return false, err
	}
	g.took += time.Since(began)
	g.hadAny = g.hadAny || len(g.found) > 0
	if over {
		g.end(t.Now)
	}
	return len(g.found)+len(g.rest) > 0, nil
}

// isDue reports whether it is time for a pass, and how often one was asked for.
func (g *GateSweep) isDue(t *Tx) (due bool, asked int64, err error) {
	goes := int64(0)
	s := t.Stmt("gates_asked")
	s.BindInt(t.Now)
	if err := db.Each(s, func() error { asked, goes = s.ReadInt(), db.ReadOptInt(s); return nil }); err != nil {
		return false, 0, err
	}
	due = !g.begun || asked != g.asked || t.Now >= g.next || g.next > t.Now+int64(time.Minute/time.Microsecond) ||
		g.goes > 0 && t.Now >= g.goes
	g.goes = goes
	return due, asked, nil
}

// walk goes on to the next gates, and reports whether these were the last ones. It finds no more
// than can be opened in one transaction.
func (g *GateSweep) walk(t *Tx, look *gateLook) (over bool, err error) {
	if err := look.begin(); err != nil {
		return false, err
	}
	if g.after == firstGate {
		if some, err := t.anyFits(look.fits); err != nil || !some {
			return true, err
		}
	}
	for n, jobs := 0, 0; n < sweepGates && jobs < gates.Portion; n++ {
		s := t.Stmt("gated_next")
		s.BindInt(g.after)
		found, err := s.Next()
		if err != nil || !found {
			return true, err
		}
		gate := s.ReadInt()
		s.Done()
		r, err := look.at(gate)
		if err != nil {
			return false, err
		}
		g.after = gate
		if r.fits && r.free > 0 || r.isStale(t.Now) {
			g.found = append(g.found, gate)
			jobs++ // one at least
		}
	}
	return false, nil
}

// anyFits reports whether jobs of a lane that fits wait at any gate.
func (t *Tx) anyFits(fits func(*Lane) bool) (bool, error) {
	for after := int64(-1); ; {
		s := t.Stmt("gated_lanes")
		s.BindInt(after)
		found, err := s.Next()
		if err != nil || !found {
			return false, err
		}
		after = s.ReadInt()
		s.Done()
		l, err := t.LaneOf(after)
		if err != nil || fits(l) {
			return err == nil, err
		}
	}
}

// end notes that a pass is over.
func (g *GateSweep) end(now int64) {
	g.every = min(2*g.every, sweepRarely)
	if g.hadAny {
		g.every = sweepEvery
	}
	g.every = max(g.every, sweepEvery)
	g.passing, g.next = false, now+max(g.every, sweepShare*g.took).Microseconds()
}

// Open opens what was found, with the gates that the transaction has touched. Where there is too
// much for one transaction the next call goes on.
func (g *GateSweep) Open(t *Tx) error {
	for _, gate := range g.rest {
		t.TouchGate(gate)
	}
	touched, err := t.takeTouched()
	if err != nil {
		return err
	}
	found := slices.DeleteFunc(g.found, func(gate int64) bool {
		_, is := slices.BinarySearch(touched, gate)
		return is
	})
	o := newOpener(t)
	if err := o.add(touched, false); err != nil {
		return err
	}
	if err := o.add(found, true); err != nil {
		return err
	}
	if err := o.open(); err != nil {
		return err
	}
	g.found, g.rest = nil, nil
	g.goOn(o.left)
	return nil
}

// goOn has the next calls look at what is left.
func (g *GateSweep) goOn(left []opening) {
	back := []int64(nil)
	for _, o := range left {
		g.hadAny = true
		if o.swept && (o.r.bounded || len(g.rest) >= restGates) {
			back = append(back, o.gate)
		} else {
			g.rest = append(g.rest, o.gate)
		}
	}
	if len(back) > 0 {
		g.after, g.passing = slices.Min(back)-1, true
	}
}

// Passing reports whether there is more to look at.
func (g *GateSweep) Passing() bool { return g.passing || len(g.rest) > 0 }

// Next is when there is more to look at.
func (g *GateSweep) Next() time.Time {
	if g.goes > 0 && g.goes < g.next {
		return db.TimeOf(g.goes)
	}
	return db.TimeOf(g.next)
}
