package slots

import (
	"maps"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfastdev/holdfast/store"
)

// TestFairSharesConverge: nodes of which some have jobs without end come to hold even parts of a
// fair limit, whatever they held before, by giving slots back as jobs end. Then no slot moves any
// more, and none is left that could be used. So it is if wake-ups arrive, and if none does.
func TestFairSharesConverge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newFairWorld(t)
		for range rapid.IntRange(0, 30).Draw(t, "steps") {
			w.step(t)
		}
		w.deaf = rapid.Bool().Draw(t, "deaf")
		w.idle = map[*worldNode]bool{}
		for i, n := range w.nodes {
			w.idle[n] = i > 0 && rapid.IntRange(0, 3).Draw(t, "idle") == 0
			n.Heard("", w.now)
		}
		for range 60 {
			w.round(1)
		}
		w.hold(t)
		held := maps.Clone(w.held)
		w.checkParts(t)
		for range 20 {
			w.round(1)
			if !maps.Equal(held, w.held) {
				t.Fatalf("slots go on to move: nodes held %v, and %v; \n%s", held, w.held, w.dump())
			}
		}
	})
}

// fairWorld is a world with one fair limit.
type fairWorld struct {
	*world
	limit *store.Limit
	kind  string // of all jobs
	deaf  bool   // no wake-up arrives
	idle  map[*worldNode]bool
}

func newFairWorld(t *rapid.T) *fairWorld {
	w := &fairWorld{world: newWorld(t), kind: "a"}
	l := store.Limit{ID: 1, Version: 1, Name: "1", LimitSettings: store.LimitSettings{Fair: true}}
	unit := rapid.SampledFrom([]int{1, 1, 3}).Draw(t, "unit")
	if l.Capacity = unit * rapid.IntRange(1, 9).Draw(t, "capacity"); unit > 1 {
		w.kind, l.Kinds = "b", map[string]int{"b": unit}
	}
	w.limits = []store.Limit{l}
	w.limit, w.nodes, w.last = &w.limits[0], nil, int64(rapid.IntRange(2, 4).Draw(t, "nodes"))
	for i := range w.last {
		cfg := Config{Size: rapid.IntRange(1, 10).Draw(t, "size"), MaxAside: 10, Kinds: map[string]string{w.kind: w.kind}, Elapsed: w.elapsed}
		n := &worldNode{Slots: New(cfg), id: i + 1}
		n.SetLimits(w.listed())
		w.nodes = append(w.nodes, n)
	}
	w.idle = map[*worldNode]bool{}
	return w
}

// step does something to a node.
func (w *fairWorld) step(t *rapid.T) {
	switch n := w.node(t); rapid.IntRange(0, 6).Draw(t, "step") {
	case 0:
		w.idle[n] = !w.idle[n]
	case 1:
		w.die(t)
	case 2:
		w.ask(t)
	case 3:
		w.answer(t)
	case 4:
		n.Heard("", w.now)
	default:
		w.round(rapid.IntRange(1, 10).Draw(t, "ends"))
	}
	w.hold(t)
	w.deaf = rapid.Bool().Draw(t, "deaf")
}

// round lets so many jobs of each node end, and the nodes do what they do then and with a look.
func (w *fairWorld) round(ends int) {
	w.now = w.now.Add(1500 * time.Millisecond)
	for _, n := range w.nodes {
		if n.asks != nil { // whose answer is lost
			n.Granted(n.id, n.asks, nil)
			n.asks, n.grants = nil, nil
		}
		n.delayed = nil
		for range min(ends, len(n.running)) {
			w.endOf(n)
		}
		w.look(n)
		for range 3 {
			w.tell(n)
			w.work(n)
		}
	}
}

// tell has a node ask, and the others hear of it, unless they are deaf.
func (w *fairWorld) tell(n *worldNode) {
	if !w.deaf {
		w.exchange(n)
		return
	}
	if asks := n.Asks(n.id, w.now); len(asks) > 0 {
		n.call++
		n.Granted(n.id, asks, w.grant(store.GrantParams{Node: n.id, Call: n.call, Asks: asks}))
	}
}

// work lets a node claim all that it may.
func (w *fairWorld) work(n *worldNode) {
	d := n.Claim(w.now)
	var jobs []store.Claimed
	for i, c := range n.classes {
		if w.idle[n] || len(c.counts) == 0 && w.limit.Kinds != nil {
			continue
		}
		for range min(d.parts[i].room, d.Limit-len(jobs)) {
			jobs = append(jobs, w.job(n, "p", w.kind))
		}
	}
	n.take(n.Admit(jobs))
	n.Learn(d, d.Limit, jobs)
}

// hold checks that no more slots are held, and used, than there are.
func (w *fairWorld) hold(t *rapid.T) {
	if used, held := w.weight(w.limit), w.total(1); used > held || held > w.limit.Capacity {
		t.Fatalf("of %d slots %d are held, and %d used; \n%s", w.limit.Capacity, held, used, w.dump())
	}
}

// checkParts checks that nodes have even parts: of two with jobs neither holds more than a unit
// more than the other, unless that has all that it can use; and none is left.
func (w *fairWorld) checkParts(t *rapid.T) {
	unit := w.limit.Unit()
	for _, n := range w.nodes {
		mine, can := w.held[[2]int64{1, n.id}], n.size*unit
		for _, m := range w.nodes {
			if other := w.held[[2]int64{1, m.id}]; !w.idle[n] && mine < can && other > mine+unit {
				t.Fatalf("node %d holds %d slots and could use %d; node %d holds %d; \n%s", n.id, mine, can, m.id, other, w.dump())
			}
		}
		if total := w.total(1); !w.idle[n] && mine < can && total < w.limit.Capacity {
			t.Fatalf("node %d holds %d slots and could use %d; %d of %d are held; \n%s", n.id, mine, can, total, w.limit.Capacity, w.dump())
		}
		if w.idle[n] && mine > 0 && w.limit.Capacity < w.wanted() {
			t.Fatalf("node %d has no jobs, and holds %d slots that others want; \n%s", n.id, mine, w.dump())
		}
	}
}

// wanted is how many slots the nodes with jobs could use.
func (w *fairWorld) wanted() (n int) {
	for _, m := range w.nodes {
		if !w.idle[m] {
			n += m.size * w.limit.Unit()
		}
	}
	return n
}
