package slots

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfastdev/holdfast/store"
)

// TestLimitsHold: nodes that claim what their slots say, and ask a store for slots of limits, never
// have more jobs together than a limit has slots, whatever is lost or late, unless it was lowered
// or made while they ran. And in the end each of them gets what it needs.
func TestLimitsHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		t.Repeat(map[string]func(*rapid.T){
			"claim": w.claim, "start": w.start, "end": w.end, "ask": w.ask, "answer": w.answer, "late": w.late, "hear": w.hear,
			"limit": w.limit, "load": w.load, "die": w.die, "wait": func(*rapid.T) { w.now = w.now.Add(time.Second) }, "": w.check,
		})
		w.settle(t)
	})
}

// settle lets everything end and arrive, and looks that each node gets slots when it alone needs
// some, whoever holds them.
func (w *world) settle(t *rapid.T) {
	for _, n := range w.nodes {
		n.Granted(n.id, n.asks, nil)
		n.asks, n.delayed = nil, nil
		n.SetLimits(w.listed())
		for len(n.running) > 0 {
			w.endOf(n)
		}
	}
	for _, n := range w.nodes {
		w.idle()
		n.Heard("", w.now)
		w.find(n)
		for range 12 {
			w.now = w.now.Add(time.Second) // a node asks again after a while
			d := n.Demand(w.now)
			for _, m := range w.nodes {
				w.look(m)
				w.exchange(m)
				w.exchange(m) // to give back what it cannot use
			}
			if d.Likely {
				break
			}
		}
		d := n.Claim(w.now)
		for _, p := range d.parts {
			c, stopped := p.class, false
			for _, of := range c.counts {
				stopped = stopped || of.limit.Capacity < of.weight
			}
			if p.room == 0 && !stopped && len(n.classes) == 1 {
				t.Fatalf("node %d gets no slots: %+v, %+v; \n%s", n.id, *c, *c.counts[0].limit, w.dump())
			}
			if p.room > 0 && stopped {
				t.Fatalf("node %d may claim of %+v, whose limit is too small", n.id, *c)
			}
		}
		n.Learn(d, d.Limit, nil)
	}
}

// idle lets nodes find out that there are no jobs, one class after the other.
func (w *world) idle() {
	for range 12 {
		for _, n := range w.nodes {
			d := n.Claim(w.now)
			n.Learn(d, d.Limit, nil)
			w.look(n)
			w.exchange(n)
			w.exchange(n)
		}
	}
}

// look is what a node finds with a beat, if it heard nothing.
func (w *world) look(n *worldNode) {
	n.SetLimits(w.listed())
	for _, l := range w.limits {
		for at, wants := range w.wants {
			if at[0] == l.ID && at[1] != n.id && wants > 0 {
				n.Wanted(l.Name, w.now)
			}
		}
	}
	for i := range w.limits {
		if w.total(w.limits[i].ID) < w.limits[i].Capacity {
			n.Freed(w.limits[i].Name)
		}
	}
}

// find tells a node which queues have jobs, if it wants to know.
func (w *world) find(n *worldNode) {
	if n.Demand(w.now).Look && n.TakeLook() {
		n.Found(busy(worldQueues, worldKinds...), w.now)
	}
}

// busy are queues that have jobs of each of the kinds.
func busy(queues []string, kinds ...string) (all []store.BusyQueue) {
	for _, queue := range queues {
		for _, kind := range kinds {
			all = append(all, store.BusyQueue{Name: queue, Kind: kind})
		}
	}
	return all
}

// exchange has a node ask, and the others hear of it.
func (w *world) exchange(n *worldNode) {
	asks := n.Asks(n.id, w.now)
	n.call++
	freed, short, _ := n.Granted(n.id, asks, w.grant(store.GrantParams{Node: n.id, Call: n.call, Asks: asks}))
	for _, m := range w.nodes {
		for _, name := range freed {
			m.Freed(name)
		}
		for _, name := range short {
			if m != n && m.Wanted(name, w.now) {
				m.SetLimits(w.listed())
			}
		}
	}
}

var worldKinds, worldQueues = []string{"a", "b", "b@1"}, []string{"p", "q"}

// world is a store as far as limits go, and some nodes.
type world struct {
	now    time.Time
	nodes  []*worldNode
	limits []store.Limit
	excess map[int64]int               // how many slots of a limit may be in use beyond its capacity
	held   map[[2]int64]int            // by limit and node, as the store has it
	wants  map[[2]int64]int            // and has not
	wishes map[[2]int64]int            // of fair limits
	calls  map[[2]int64]int64          // the last call about it
	jobs   map[store.ID]*store.Claimed // that nodes have leased
	last   int64
}

// worldNode is a node: its slots, and what is on its way.
type worldNode struct {
	*Slots
	id      int64
	call    int64
	asks    []store.LimitAsk // whose answer is awaited
	grants  []store.Grant
	delayed []store.GrantParams // calls that the store has not carried out yet
	running []store.Claimed
}

func newWorld(t *rapid.T) *world {
	w := &world{
		now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), excess: map[int64]int{}, held: map[[2]int64]int{}, wants: map[[2]int64]int{},
		calls: map[[2]int64]int64{}, wishes: map[[2]int64]int{},
		jobs: map[store.ID]*store.Claimed{},
	}
	for i := range 2 {
		cfg := Config{Size: rapid.IntRange(1, 8).Draw(t, "size"), MaxAside: 10, Kinds: map[string]string{"a": "a", "b": "b", "b@1": "b"}}
		cfg.Elapsed = w.elapsed
		if rapid.Bool().Draw(t, "named") {
			cfg.Queues = rapid.SampledFrom([][]store.QueueDemand{
				{{Name: "p"}, {Name: "q", Limit: 2}}, {{Name: "p"}, {Name: "q*", Limit: 2}}, {{Name: "*", Limit: 3}},
			}).Draw(t, "queues")
		}
		n := &worldNode{Slots: New(cfg), id: int64(i + 1)}
		if rapid.Bool().Draw(t, "opens") {
			n.mostApart = 0
			n.mostNamed = rapid.SampledFrom([]int{1, 4, mostNamed}).Draw(t, "named")
		}
		w.nodes = append(w.nodes, n)
	}
	w.last = 2
	return w
}

func (w *world) elapsed() time.Duration {
	return w.now.Sub(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
}

func (w *world) node(t *rapid.T) *worldNode { return rapid.SampledFrom(w.nodes).Draw(t, "node") }

// weight is how many slots of a limit the jobs of all nodes take.
func (w *world) weight(l *store.Limit) (n int) {
	for _, c := range w.jobs {
		n += l.Weight(c.Job.Queue, c.Job.Kind)
	}
	return n
}

// limit makes or changes a limit. What runs already may then be too much, and what nodes do before
// they have heard of it.
func (w *world) limit(t *rapid.T) {
	l := store.Limit{LimitSettings: store.LimitSettings{Capacity: rapid.IntRange(0, 6).Draw(t, "capacity")}}
	if rapid.Bool().Draw(t, "of queues") {
		l.Queues = []string{rapid.SampledFrom(worldQueues).Draw(t, "queue")}
	}
	l.Fair = rapid.Bool().Draw(t, "fair")
	if rapid.Bool().Draw(t, "of kinds") {
		l.Kinds = map[string]int{"b": rapid.IntRange(1, 2).Draw(t, "weight")}
	}
	if i := rapid.IntRange(0, 1).Draw(t, "which"); i < len(w.limits) {
		// As a rule only the capacity changes: else nodes count by what they knew before.
		l.LimitSettings = store.LimitSettings{Capacity: l.Capacity, Fair: l.Fair, Queues: w.limits[i].Queues, Kinds: w.limits[i].Kinds}
		l.ID, l.Version, l.Name = w.limits[i].ID, w.limits[i].Version+1, w.limits[i].Name
		w.limits[i] = l
	} else if w.nodes[0].claiming+w.nodes[1].claiming > 0 {
		return // what these claims take the nodes cannot have told
	} else {
		l.ID, l.Version, l.Name = int64(len(w.limits)+1), 1, strconv.Itoa(len(w.limits)+1)
		w.limits = append(w.limits, l)
	}
	for _, n := range w.nodes { // all hear of a new one at once, and tell what runs
		if l.Version == 1 {
			n.Granted(n.id, n.asks, nil)
			n.SetLimits(w.listed())
			n.asks = n.Asks(n.id, w.now)
			n.call++
			n.Granted(n.id, n.asks, w.grant(store.GrantParams{Node: n.id, Call: n.call, Asks: n.asks}))
			n.asks = nil
		}
	}
	w.excess[l.ID] = max(w.weight(&l), w.total(l.ID)) - l.Capacity
}

func (w *world) total(limit int64) (n int) {
	for at, held := range w.held {
		if at[0] == limit {
			n += held
		}
	}
	return n
}

// listed are the limits as the store lists them.
func (w *world) listed() []store.Limit {
	list := make([]store.Limit, 0, len(w.limits))
	for _, l := range w.limits {
		l.Holders = nil
		for at, held := range w.held {
			if at[0] == l.ID {
				l.Holders = append(l.Holders, store.Holder{Node: at[1], Slots: held})
			}
			if at[0] == l.ID && l.Fair && w.wishes[at] > held {
				l.Wishes = append(l.Wishes, store.Holder{Node: at[1], Slots: w.wishes[at]})
			}
		}
		list = append(list, l)
	}
	return list
}

func (w *world) load(t *rapid.T) { w.node(t).SetLimits(w.listed()) }

func (w *world) hear(t *rapid.T) {
	n, name := w.node(t), strconv.Itoa(rapid.IntRange(1, 2).Draw(t, "limit"))
	switch rapid.IntRange(0, 2).Draw(t, "what") {
	case 0:
		n.Wanted(name, w.now)
	case 1:
		n.Freed(name)
	default:
		n.Heard("", w.now)
		n.Probe()
	}
}

// job makes a job that a node has leased.
func (w *world) job(n *worldNode, queue, kind string) store.Claimed {
	w.last++
	var c store.Claimed
	binary.BigEndian.PutUint64(c.Job.ID[:], uint64(w.last))
	c.Job.Queue, c.Job.Kind, c.ClaimedAt, c.Job.RunAt = queue, kind, w.now, w.now
	if kind == "b@1" {
		c.Job.Kind, c.Job.Version = "b", "1"
	}
	c.Lease = store.Lease{Job: c.Job.ID, Number: 1, Node: n.id, Claim: w.last}
	w.jobs[c.Job.ID] = &c
	return c
}

// claim claims some of what the node may take. Its answer comes at once: that others act meanwhile
// is what start and ask do between Claim and Learn.
func (w *world) claim(t *rapid.T) {
	n := w.node(t)
	w.find(n)
	d, id := n.Claim(w.now), n.id
	for range rapid.IntRange(0, 2).Draw(t, "meanwhile") {
		rapid.SampledFrom([]func(*rapid.T){w.start, w.ask, w.answer, w.load, w.limit, w.die}).Draw(t, "what")(t)
	}
	if d.Limit == 0 || n.id != id {
		n.LearnNothing() // the store refuses the claim
		return
	}
	var jobs []store.Claimed
	left := append([]store.QueueDemand{}, d.Queues...)
	for range rapid.IntRange(0, d.Limit).Draw(t, "jobs") {
		queue, kind := rapid.SampledFrom(worldQueues).Draw(t, "queue"), rapid.SampledFrom(worldKinds).Draw(t, "kind")
		if d.Queues != nil {
			at := store.DemandFor(left, queue, kind)
			if at < 0 || left[at].Limit == 0 {
				continue
			}
			left[at].Limit--
		}
		jobs = append(jobs, w.job(n, queue, kind))
	}
	n.take(n.Admit(jobs))
	if rapid.IntRange(0, 9).Draw(t, "failed") == 0 {
		n.LearnNothing()
		return
	}
	n.Learn(d, d.Limit, jobs)
}

// take begins the runs of jobs that have a slot.
func (n *worldNode) take(jobs []store.Claimed) {
	for _, c := range jobs {
		n.Begin(c.Job.ID, n.runOf(c))
		n.running = append(n.running, c)
	}
}

func (n *worldNode) runOf(c store.Claimed) *run {
	return &run{slots: n.Slots, queue: c.Job.Queue, lease: c.Lease, job: &c.Job}
}

// start enqueues jobs that start at once, of which some turn out not to be enqueued.
func (w *world) start(t *rapid.T) {
	n := w.node(t)
	var jobs []*store.Enqueue
	for range rapid.IntRange(1, 4).Draw(t, "enqueues") {
		q := &store.Enqueue{}
		q.Job.Queue, q.Job.Kind = rapid.SampledFrom(worldQueues).Draw(t, "queue"), rapid.SampledFrom([]string{"a", "b"}).Draw(t, "kind")
		jobs = append(jobs, q)
	}
	jobs = jobs[:n.Reserve(jobs, w.now)]
	id := n.id
	for range rapid.IntRange(0, 2).Draw(t, "meanwhile") {
		rapid.SampledFrom([]func(*rapid.T){w.ask, w.answer, w.die}).Draw(t, "what")(t)
	}
	var claimed []store.Claimed
	for _, q := range jobs {
		if n.id == id && rapid.IntRange(0, 3).Draw(t, "enqueued") > 0 { // else the store refuses the start
			claimed = append(claimed, w.job(n, q.Job.Queue, q.Job.Kind))
		}
	}
	n.take(n.AdmitReserved(jobs, claimed))
}

// end ends a run, and commits its outcome or not yet.
func (w *world) end(t *rapid.T) {
	n := w.node(t)
	if len(n.running) == 0 {
		return
	}
	w.endOf(n)
}

func (w *world) endOf(n *worldNode) {
	c := n.running[0]
	n.running = n.running[1:]
	if following, ok := n.End(&c.Job, n.runOf(c), w.now); ok {
		n.take([]store.Claimed{following})
	}
	delete(w.jobs, c.Job.ID)
	n.Over([]*store.Outcome{{Lease: c.Lease, Final: store.Completed}}, w.now)
}

// ask sends what the node has to ask. The call is carried out at once or later, and its answer may
// be lost.
func (w *world) ask(t *rapid.T) {
	n := w.node(t)
	if n.asks != nil {
		return
	}
	if n.asks = n.Asks(n.id, w.now); n.asks == nil {
		return
	}
	n.call++
	p := store.GrantParams{Node: n.id, Call: n.call, Asks: n.asks}
	if n.grants = nil; rapid.IntRange(0, 4).Draw(t, "late") == 0 {
		n.delayed = append(n.delayed, p)
	} else {
		n.grants = w.grant(p)
	}
}

// answer lets an answer arrive, or tells that it is lost.
func (w *world) answer(t *rapid.T) {
	n := w.node(t)
	if n.asks == nil {
		return
	}
	if rapid.IntRange(0, 4).Draw(t, "lost") == 0 {
		n.grants = nil
	}
	n.Granted(n.id, n.asks, n.grants)
	n.asks, n.grants = nil, nil
}

// late carries out a call that was given up.
func (w *world) late(t *rapid.T) {
	n := w.node(t)
	if len(n.delayed) > 0 && n.asks == nil {
		w.grant(n.delayed[0])
		n.delayed = n.delayed[1:]
	}
}

// grant is Grant of a store.
func (w *world) grant(p store.GrantParams) []store.Grant {
	answer := []store.Grant{}
	for _, a := range p.Asks {
		at := [2]int64{a.Limit, p.Node}
		if w.calls[at] >= p.Call {
			continue
		}
		for _, l := range w.limits {
			if l.ID != a.Limit || l.Version != a.Version {
				continue
			}
			others, wish := w.total(l.ID)-w.held[at], a.Want
			g := store.Grant{Limit: l.ID, Capacity: l.Capacity}
			if l.Fair {
				g.Part = w.part(&l, p.Node)
				a.Want = min(a.Want, g.Part)
			}
			w.held[at], w.calls[at] = a.Share(l.Capacity, others), p.Call
			w.wants[at], w.wishes[at] = wish-w.held[at], wish
			g.Slots, g.Held = w.held[at], others+w.held[at]
			answer = append(answer, g)
		}
	}
	return answer
}

// part is the part of a node in a fair limit.
func (w *world) part(l *store.Limit, node int64) int {
	var others []store.Holder
	for at, held := range w.held {
		if at[0] == l.ID {
			others = append(others, store.Holder{Node: at[1], Slots: max(held, w.wishes[at])})
		}
	}
	return store.Part(l.Capacity, l.Unit(), node, others)
}

// die has a node declared dead: its jobs run elsewhere, what it holds is nobody's, and it joins
// again. Its calls that are on their way are refused.
func (w *world) die(t *rapid.T) {
	n := w.node(t)
	for id, c := range w.jobs {
		if c.Lease.Node == n.id {
			delete(w.jobs, id)
		}
	}
	for at := range w.held {
		if at[1] == n.id {
			delete(w.held, at)
			delete(w.wants, at)
			delete(w.wishes, at)
		}
	}
	n.LoseAll(n.id)
	w.last++
	n.id, n.call, n.delayed = w.last, 0, nil
	if n.asks != nil {
		n.Granted(n.id-1, n.asks, nil) // of the earlier membership, and too late
		n.asks, n.grants = nil, nil
	}
}

func (w *world) check(t *rapid.T) {
	for i := range w.limits {
		l := &w.limits[i]
		most := l.Capacity + max(w.excess[l.ID], 0)
		if n := w.weight(l); n > most {
			t.Fatalf("the jobs of all nodes take %d slots of %+v, and may take %d", n, *l, most)
		}
		n := max(w.weight(l), w.total(l.ID)) - l.Capacity
		if claiming := w.nodes[0].claiming + w.nodes[1].claiming; claiming == 0 && n < w.excess[l.ID] {
			w.excess[l.ID] = n
		}
	}
	w.checkAccounts(t)
}

// checkAccounts: each node counts its jobs, and nothing else.
func (w *world) checkAccounts(t *rapid.T) {
	for _, n := range w.nodes {
		for _, l := range n.limits {
			used := 0
			for _, c := range w.jobs {
				if c.Lease.Node == n.id {
					used += l.Weight(c.Job.Queue, c.Job.Kind)
				}
			}
			if l.used != used || l.reserved != 0 {
				t.Fatalf("node %d counts %d slots of %s and has reserved %d; its jobs take %d", n.id, l.used, l.Name, l.reserved, used)
			}
		}
	}
}

// dump describes the accounts of the nodes.
func (w *world) dump() string {
	var text strings.Builder
	for _, n := range w.nodes {
		fmt.Fprintf(&text, "node %d, size %d\n", n.id, n.size)
		for _, l := range n.limits {
			at := [2]int64{l.ID, n.id}
			fmt.Fprintf(&text, "  limit %s of %d: held %d keep %d taken %d needs %d usable %d short %t over %t unsure %t wanted %t\n", l.Name,
				l.Capacity, l.held, l.keep, l.taken(), l.needs, l.usable, l.short, l.over, l.unsure, w.now.Before(l.wantedUntil))
			fmt.Fprintf(&text, "    in the store: held %d wants %d, of %d\n", w.held[at], w.wants[at], w.total(l.ID))
		}
		for _, c := range n.classes {
			fmt.Fprintf(&text, "  class %v may have jobs %t\n", c.lane, c.mayHaveJobs())
		}
	}
	return text.String()
}
