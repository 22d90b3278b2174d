package rules

import (
	"errors"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/internal/slots"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/simulate/play"
)

// How nodes keep to limits over all nodes: with the account that the engine has.

func (w *world) account(d *play.Dice, n *node) *slots.Slots {
	cfg := slots.Config{
		Size: n.info.Slots, MaxAside: 1000, Kinds: map[string]string{}, Elapsed: func() time.Duration { return w.elapsed },
	}
	for _, kind := range kinds {
		cfg.Kinds[kind] = kind
	}
	if d.Chance(30) {
		cfg.Queues = []store.QueueDemand{{Name: queues[0]}, {Name: queues[1], Limit: 2}}
	}
	return slots.New(cfg)
}

// byAccount completes a claim by what the account says.
func (w *world) byAccount(n *node, p *store.ClaimParams, most int) {
	n.demand = n.slots.Claim(w.clock.Now())
	p.Limit, p.Queues = min(n.demand.Limit, most), n.demand.Queues
}

// accountant draws an active node that has an account.
func (w *world) accountant(d *play.Dice, fits func(*node) bool) *node {
	n, found := play.Choose(d, w.nodes, func(n *node) bool { return n.active() && n.slots != nil && (fits == nil || fits(n)) })
	if !found {
		w.claim(d)
		return nil
	}
	return n
}

func (w *world) load(d *play.Dice) {
	if n := w.accountant(d, nil); n != nil {
		w.loads(n)
	}
}

// loads lets a node see how limits are.
func (w *world) loads(n *node) {
	limits, err := w.store.Limits(w.ctx, namespace, "")
	w.tellf("%v looks at %d limits: %s", n, len(limits), outcome(err))
	if err != nil {
		return
	}
	n.known, n.over = nil, nil
	var over []store.Limit
	for _, l := range limits {
		if !l.PerKey {
			over, n.known = append(over, l), append(n.known, l.ID)
		}
		if held(&l) > l.Slots() {
			n.over = append(n.over, l.ID)
		}
	}
	n.slots.SetLimits(over)
	now := w.clock.Now()
	for i := range over {
		if held(&over[i]) < over[i].Slots() {
			n.slots.Freed(over[i].Name)
		}
		if at := over[i].WantedAt; !at.IsZero() && now.Sub(at).Abs() < 10*time.Second {
			n.slots.Wanted(over[i].Name, now)
		}
	}
}

// held is how many slots of a limit all nodes hold.
func held(l *store.Limit) (n int) {
	for _, h := range l.Holders {
		n += h.Slots
	}
	return n
}

// ask sends what a node has to ask. The call may come late, after the node has given it up.
func (w *world) ask(d *play.Dice) {
	n := w.accountant(d, func(n *node) bool { return n.asking == nil })
	if n != nil {
		w.asksFor(n, d.Chance(12), d.Chance(30))
	}
}

func (w *world) asksFor(n *node, late, again bool) {
	asks := n.slots.Asks(n.id, w.clock.Now())
	if len(asks) == 0 {
		return
	}
	n.call++
	p := store.GrantParams{Node: n.id, Call: n.call, Asks: asks}
	a := &asking{node: n.id, asks: asks, err: store.ErrUnavailable}
	if !late {
		a.grants, a.err = w.store.Grant(w.ctx, p)
	}
	w.tellf("%v asks %+v in call %d: %+v, %s", n, asks, p.Call, a.grants, outcome(a.err))
	if n.asking = a; late || again || a.err != nil {
		if n.delayed = append(n.delayed, p); len(n.delayed) > 5 {
			n.delayed = n.delayed[1:]
		}
	}
}

// answer lets an answer reach the node.
func (w *world) answer(d *play.Dice) {
	if n := w.accountant(d, func(n *node) bool { return n.asking != nil }); n != nil {
		w.hears(n, d.Chance(80))
	}
}

// hears lets a node know what it was granted, and tell the others.
func (w *world) hears(n *node, tells bool) {
	a := n.asking
	n.asking = nil
	if a.err != nil {
		n.slots.Granted(a.node, a.asks, nil)
		if errors.Is(a.err, store.ErrNodeDead) && a.node == n.id {
			w.buried(n, a.err)
		}
		return
	}
	for _, g := range a.grants {
		n.over = slices.DeleteFunc(n.over, func(id int64) bool { return id == g.Limit })
		if g.Held > g.Capacity {
			n.over = append(n.over, g.Limit)
		}
	}
	freed, short, stale := n.slots.Granted(a.node, a.asks, append([]store.Grant{}, a.grants...))
	w.tellf("%v hears of its slots: %v are free, %v are short, %v", n, freed, short, stale)
	for _, other := range w.nodes {
		if other == n || !other.active() || other.slots == nil || !tells {
			continue
		}
		for _, name := range freed {
			other.slots.Freed(name)
		}
		for _, name := range short {
			other.slots.Wanted(name, w.clock.Now())
		}
	}
}

// hear lets a node hear something that need not be so.
func (w *world) hear(d *play.Dice) {
	n := w.accountant(d, nil)
	if n == nil {
		return
	}
	name := play.Among(d, limitNames...)
	switch d.Below(3) {
	case 0:
		n.slots.Wanted(name, w.clock.Now())
	case 1:
		n.slots.Freed(name)
	default:
		n.slots.Heard("", w.clock.Now())
		n.slots.Probe()
	}
}

// askPermits lets a node ask for permits, or hear what it has got.
func (w *world) askPermits(d *play.Dice) {
	if n := w.accountant(d, nil); n != nil {
		w.permits(n, d.Chance(15), d.Chance(30))
	}
}

// looks lets a node find out which queues have jobs, if it wants to know.
func (w *world) looks(n *node) {
	if !n.slots.Demand(w.clock.Now()).Look || !n.slots.TakeLook() {
		return
	}
	busy, err := w.store.Busy(w.ctx, namespace)
	if w.tellf("%v looks for jobs: %d queues and kinds: %s", n, len(busy), outcome(err)); err != nil {
		n.slots.NotFound()
		return
	}
	n.slots.Found(busy, w.clock.Now())
}

func (w *world) permits(n *node, late, again bool) {
	if c := n.permits; c != nil {
		n.permits = nil
		n.slots.Permitted(c.asks, c.answer, c.sent)
		return
	}
	w.looks(n)
	n.slots.Demand(w.clock.Now())
	asks, sent, _ := n.slots.PermitAsks(w.clock.Now())
	if len(asks) == 0 {
		return
	}
	c := &permitCall{asks: asks, sent: sent}
	if !late {
		if answer, err := w.store.TakePermits(w.ctx, asks); err == nil {
			c.answer = append([]store.Permits{}, answer...)
		}
	}
	w.tellf("%v asks for permits %+v: %+v", n, asks, c.answer)
	if n.permits = c; late || again {
		if n.late = append(n.late, asks); len(n.late) > 5 {
			n.late = n.late[1:]
		}
	}
}

// lateAsk lets a call for slots or permits arrive that was given up, or once more.
func (w *world) lateAsk(d *play.Dice) {
	n, found := play.Choose(d, w.nodes, func(n *node) bool { return len(n.delayed)+len(n.late) > 0 })
	if !found {
		w.ask(d)
		return
	}
	if i := d.Below(len(n.delayed) + len(n.late)); i < len(n.delayed) {
		grants, err := w.store.Grant(w.ctx, n.delayed[i])
		w.tellf("the call %+v arrives late: %+v, %s", n.delayed[i], grants, outcome(err))
	} else {
		taken, err := w.store.TakePermits(w.ctx, n.late[i-len(n.delayed)])
		w.tellf("the call %+v arrives late: %+v, %s", n.late[i-len(n.delayed)], taken, outcome(err))
	}
}
