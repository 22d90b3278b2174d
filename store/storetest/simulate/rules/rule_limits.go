package rules

import (
	"maps"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/simulate/play"
)

// limitRule: the jobs that count in a limit take no more slots than there are, and nodes hold no
// more, but for what ran, or was held, when the limit was made or became narrower.
type limitRule struct {
	e *eye
	// most is how many slots may be in use of a limit: its capacity, or what was held when that was
	// lowered, as far as it still is.
	most map[int64]int
	// free are leases that count in a limit of which their node did not know when it claimed.
	free map[leaseIn]bool
}

// leaseIn is a lease and a limit.
type leaseIn struct {
	lease store.Lease
	limit int64
}

func newLimitRule(e *eye) rule {
	return &limitRule{e: e, most: map[int64]int{}, free: map[leaseIn]bool{}}
}

// use is who has slots of a limit.
type use struct {
	known int           // slots that are used under leases of nodes that knew of the limit
	used  map[int64]int // by node, whether it knew or not
	held  map[int64]int // by node
}

func (r *limitRule) useOf(l *store.Limit) use {
	u := use{used: map[int64]int{}, held: holdersOf(l)}
	for _, j := range r.e.order {
		if n := l.Weight(j.Queue, j.Kind); j.State == store.Running && n > 0 {
			u.used[j.Lease.Node] += n
			if !r.free[leaseIn{j.Lease, l.ID}] {
				u.known += n
			}
		}
	}
	return u
}

func holdersOf(l *store.Limit) map[int64]int {
	held := map[int64]int{}
	if l != nil {
		for _, h := range l.Holders {
			held[h.Node] = h.Slots
		}
	}
	return held
}

func (r *limitRule) check(c *change) {
	for i := range r.e.limits {
		if l := &r.e.limits[i]; !l.PerKey && !l.Uncapped {
			r.checkLimit(c, l)
		}
	}
}

func (r *limitRule) checkLimit(c *change, l *store.Limit) {
	for _, j := range c.started {
		if claim := r.e.asked[claimName{j.Lease.Node, j.Lease.Claim}]; !slices.Contains(claim.known, l.ID) {
			r.free[leaseIn{j.Lease, l.ID}] = true
		} else if l.Weight(j.Queue, j.Kind) > 0 && slices.Contains(claim.over, l.ID) {
			play.Brokenf("Limits", "%v starts, whose node knows that more slots of %s are held than there are", j, l.Name)
		}
	}
	if _, old := r.most[l.ID]; !old {
		r.made(l)
	}
	u := r.useOf(l)
	before := -1
	if at := slices.IndexFunc(c.limits, func(was store.Limit) bool { return was.ID == l.ID }); at >= 0 {
		before = held(&c.limits[at])
		r.checkHeld(c, l, &u, holdersOf(&c.limits[at]))
	}
	most := max(r.most[l.ID], l.Capacity)
	if u.known > most {
		play.Brokenf("Limits", "jobs take %d slots of %s, which has %d, of which %d may be in use: %v of %v", u.known, l.Name, l.Capacity,
			most, u.used, u.held)
	}
	if before < 0 && len(l.Holders) > 0 {
		play.Brokenf("Limits", "%s is made, and slots of it are held: %v", l.Name, l.Holders)
	}
	r.most[l.ID] = max(l.Capacity, min(most, max(held(l), u.known)))
	for _, j := range c.started {
		// What a node that does not know of the limit has is not told yet.
		node := j.Lease.Node
		if l.Weight(j.Queue, j.Kind) > 0 && !r.free[leaseIn{j.Lease, l.ID}] && u.used[node] > u.held[node] {
			play.Brokenf("Limits", "%v starts, with which its node uses %d slots of %s and holds %d", j, u.used[node], l.Name, u.held[node])
		}
	}
}

// made notes a limit that is new: no node knows of it.
func (r *limitRule) made(l *store.Limit) {
	r.most[l.ID] = l.Capacity
	for _, j := range r.e.order {
		if j.State == store.Running {
			r.free[leaseIn{j.Lease, l.ID}] = true
		}
	}
}

// checkHeld looks at what nodes hold: while it is too much, none gets more than it has jobs for,
// and who is gone, with all of its jobs, holds nothing.
func (r *limitRule) checkHeld(c *change, l *store.Limit, u *use, before map[int64]int) {
	total := held(l)
	for _, node := range slices.Sorted(maps.Keys(u.held)) {
		if n := u.held[node]; n > before[node] && total > l.Capacity && n > keepOf(c, node, l.ID) {
			play.Brokenf("Limits", "node %d holds %d slots of %s after %d, and uses %d, though %d of %d are held", node, n, l.Name,
				before[node], u.used[node], total, l.Capacity)
		}
		if left, isLeave := c.params.(int64); c.op == "Leave" && c.err == nil && isLeave && left == node {
			play.Brokenf("Limits", "node %d has left, and holds %d slots of %s", node, u.held[node], l.Name)
		}
	}
}

// keepOf is how many slots a node has said to keep in any case: it has jobs for them, or had when
// it said so.
func keepOf(c *change, node, limit int64) int {
	if p, isGrant := c.params.(store.GrantParams); isGrant && p.Node == node {
		for _, a := range p.Asks {
			if a.Limit == limit {
				return a.Keep
			}
		}
	}
	return 0
}

// end: nodes that are dead hold nothing.
func (r *limitRule) end() {
	nodes, err := r.e.Nodes(r.e.w.ctx)
	must("Nodes", err)
	alive := map[int64]bool{}
	for _, n := range nodes {
		alive[n.ID] = n.DeadAt.IsZero()
	}
	for i := range r.e.limits {
		l := &r.e.limits[i]
		for _, h := range l.Holders {
			if !alive[h.Node] {
				play.Brokenf("Limits", "node %d is dead, and holds %d slots of %s", h.Node, h.Slots, l.Name)
			}
		}
		if n := held(l); n > l.Slots() && !l.Uncapped {
			play.Brokenf("Limits", "no job runs, and %d slots of %s are held, of %d", n, l.Name, l.Slots())
		}
	}
}

// rateRule: in any time no more jobs start than a burst, and what comes in that time. A job starts
// when its node asks for it. Where the clock was set forward a burst more may start.
type rateRule struct {
	e      *eye
	starts map[int64][]time.Duration
}

func newRateRule(e *eye) rule { return &rateRule{e, map[int64][]time.Duration{}} }

func (r *rateRule) check(c *change) {
	for i := range r.e.limits {
		l := &r.e.limits[i]
		if l.Rate == nil || l.PerKey {
			continue
		}
		for _, j := range c.started {
			claim := r.e.asked[claimName{j.Lease.Node, j.Lease.Claim}]
			if l.Weight(j.Queue, j.Kind) == 0 || !slices.Contains(claim.known, l.ID) {
				continue
			}
			at, _ := slices.BinarySearch(r.starts[l.ID], claim.at)
			r.starts[l.ID] = slices.Insert(r.starts[l.ID], at, claim.at)
			r.checkWindows(l, at)
		}
	}
}

// checkWindows looks at all times in which a new start is.
func (r *rateRule) checkWindows(l *store.Limit, at int) {
	starts := r.starts[l.ID]
	for from := range at + 1 {
		for to := at; to < len(starts); to++ {
			bursts := 1
			for _, set := range r.e.sets {
				if set >= starts[from] && set <= starts[to] {
					bursts++
				}
			}
			window := starts[to] - starts[from]
			if n, most := to-from+1, bursts*l.Rate.Bursts()+int(window/l.Rate.Period()); n > most {
				play.Brokenf("Rates", "%d jobs start in %v by %v, and %d may", n, window, l.Rate, most)
			}
		}
	}
}

func (*rateRule) end() {}
