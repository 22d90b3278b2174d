package rules

import (
	"errors"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/simulate/play"
)

// anyNode draws an active node, or lets one join.
func (w *world) anyNode(d *play.Dice) *node {
	n, found := play.Choose(d, w.nodes, (*node).active)
	if !found {
		w.join(d)
		return nil
	}
	return n
}

// free returns an active node that waits for no answer. One that does sends again instead, and nil
// is returned.
func (w *world) free(d *play.Dice) *node {
	n := w.anyNode(d)
	if n != nil && n.pending != nil {
		w.send(n.pending, true)
		return nil
	}
	return n
}

// crew is how many nodes are active at the most.
const crew = 4

func (w *world) join(d *play.Dice) {
	active := 0
	for _, n := range w.nodes {
		if n.active() {
			active++
		}
	}
	if active >= crew {
		w.beat(d)
		return
	}
	n := &node{seed: d.Seed, seq: 1, info: store.NodeInfo{
		Name: "n", Namespace: namespace, Kinds: kinds, Slots: play.Among(d, 2, 4, 10), DeadAfter: 20 * time.Second,
		Policies: map[string]store.Policy{},
	}}
	for _, kind := range kinds {
		n.info.Policies[kind] = play.Among(d, store.Policy{Delays: []time.Duration{10 * time.Second}},
			store.Policy{MaxAttempts: 1, Delays: []time.Duration{time.Second}})
	}
	if w.about.has(Limits) {
		n.slots = w.account(d, n)
	}
	if w.enter(n) {
		w.nodes = append(w.nodes, n)
	}
}

// enter lets a node join, and reports whether it has.
func (w *world) enter(n *node) bool {
	id, err := w.store.Join(w.ctx, n.info)
	w.tellf("a node joins: %d, %s", id, outcome(err))
	if err != nil {
		return false
	}
	n.id, n.seq, n.frozen = id, 1, false
	if n.slots != nil {
		w.loads(n)
	}
	return true
}

// buried is what a node does that is told to be dead: it gives up all that it had and joins again.
func (w *world) buried(n *node, err error) {
	if !errors.Is(err, store.ErrNodeDead) {
		return
	}
	if n.slots != nil {
		n.slots.LoseAll(n.id)
		if n.pending != nil && n.pending.claim != nil {
			n.slots.LearnNothing()
		}
	}
	for _, r := range slices.Clone(n.runs) {
		w.over(n, r)
	}
	n.runs, n.pending, n.leads = nil, nil, false
	n.info.Was = n.id
	for !w.enter(n) {
		continue
	}
}

func (w *world) beat(d *play.Dice) {
	if n := w.anyNode(d); n != nil {
		w.beats(n, store.BeatParams{Node: n.id})
	}
}

func (w *world) lead(d *play.Dice) {
	if n := w.anyNode(d); n != nil {
		w.beats(n, store.BeatParams{Node: n.id, LeaderTTL: 15 * time.Second, Lead: true})
	}
}

// beats lets a node beat, and heed what it is told.
func (w *world) beats(n *node, p store.BeatParams) store.Beat {
	beat, err := w.store.Beat(w.ctx, p)
	w.tellf("%v beats, stands: %v: leads %v, %s", n, p.LeaderTTL > 0, beat.Leader, outcome(err))
	if err != nil {
		w.buried(n, err)
		return beat
	}
	if p.LeaderTTL > 0 && beat.Leader {
		n.leads, n.others = true, beat.Nodes
	} else if p.LeaderTTL > 0 {
		n.leads = false
	}
	return beat
}

// rescue lets a node that leads, or believes to, take the jobs of those that it takes for dead.
func (w *world) rescue(d *play.Dice) {
	n, found := play.Choose(d, w.nodes, func(n *node) bool { return n.active() && n.leads })
	if !found {
		w.lead(d)
		return
	}
	p := store.RescueParams{Limit: play.Among(d, 0, 0, 100, 1)}
	for _, b := range n.others {
		percent := 90
		if slices.ContainsFunc(w.nodes, func(other *node) bool { return other.id == b.Node && other.active() }) {
			percent = 15
		}
		if d.Chance(percent) {
			p.Dead = append(p.Dead, b)
		}
	}
	rescued, err := w.store.Rescue(w.ctx, p)
	w.tellf("%v rescues from %v: %d jobs, %s", n, p.Dead, len(rescued.Jobs), outcome(err))
}

func (w *world) leave(d *play.Dice) {
	if n := w.free(d); n != nil {
		_, err := w.store.Leave(w.ctx, n.id)
		w.tellf("%v leaves: %s", n, outcome(err))
		n.killed = n.killed || err == nil
	}
}

func (w *world) freeze(d *play.Dice) {
	if n := w.anyNode(d); n != nil {
		n.frozen = true
		w.tellf("%v stands still", n)
	}
}

func (w *world) thaw(d *play.Dice) {
	n, found := play.Choose(d, w.nodes, func(n *node) bool { return n.frozen && !n.killed })
	if !found {
		w.beat(d)
		return
	}
	n.frozen = false
	w.tellf("%v goes on", n)
}

func (w *world) kill(d *play.Dice) {
	if n := w.anyNode(d); n != nil {
		n.killed = true
		w.tellf("%v is killed", n)
	}
}
