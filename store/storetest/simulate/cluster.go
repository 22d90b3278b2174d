package simulate

import (
	"math"
	"slices"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/faults"
	"github.com/holdfastdev/holdfast/store/storetest/simulate/play"
)

// What nodes do besides their work: they live, lead, and die.

// repeat sends again what was not answered, of a node or of a sender outside.
func (w *world) repeat(d *play.Dice) bool {
	if l, found := play.Choose(d, w.letters, nil); found && d.Chance(50) {
		w.letters = slices.DeleteFunc(w.letters, func(other *letter) bool { return other == l })
		if !w.knows(l.batch) {
			return false
		}
		w.post(l)
		return true
	}
	n, found := play.Choose(d, w.nodes, func(n *node) bool { return n.active() && n.pending != nil })
	if !found {
		return w.late(d)
	}
	w.send(n.pending, true)
	return true
}

// late lets something that was sent long ago arrive once more. Its sender may be dead, and is
// not there for the answer.
func (w *world) late(d *play.Dice) bool {
	var sent []*request
	for _, n := range w.nodes {
		sent = append(sent, n.sent...)
		if n.killed && n.pending != nil {
			sent = append(sent, n.pending)
		}
	}
	r, found := play.Choose(d, sent, func(r *request) bool { return r.batch == nil || w.knows(r.batch) })
	if !found {
		return w.beat(d)
	}
	if r.claim != nil {
		p := *r.claim
		p.Repeat = true
		claimed, err := w.store.Claim(w.ctx, p)
		w.tellf("the claim %d of %v arrives once more: %v, %s", p.Seq, r.node, leasesOf(claimed), outcome(err))
		return true
	}
	again := d.Chance(60)
	batch := faults.Copy(r.batch)
	for _, a := range batch.Appends {
		a.Repeat = again
	}
	for _, o := range batch.Outcomes {
		o.Repeat = again
	}
	err := store.ApplyEach(w.ctx, w.store, batch)
	w.tellf("a batch of %v arrives once more: %s: %s", r.node, describe(batch), outcome(err))
	return true
}

// knows reports whether no job of a batch was removed: to bring one back is no repetition.
func (w *world) knows(b *store.Batch) bool {
	all := b.Enqueues
	for _, a := range b.Appends {
		all = append(slices.Clip(all), a.Enqueues...)
		if w.witness.jobs[a.Lease.Job] == nil {
			return false
		}
	}
	for _, q := range b.Sends {
		if w.witness.jobs[q.Job] == nil {
			return false
		}
	}
	for _, q := range all {
		if w.witness.removed[q.Job.ID] {
			return false
		}
	}
	return true
}

// audit lets a node ask what it holds, and give up what it does not work on.
func (w *world) audit(d *play.Dice) bool {
	n := w.free(d)
	if n == nil {
		return true
	}
	beat, ok := w.beats(n, store.BeatParams{Node: n.id, Held: store.HeldParams{From: 0, To: math.MaxInt64}})
	var lost []store.Lease
	for _, l := range beat.Held {
		if !slices.ContainsFunc(n.runs, func(r *run) bool { return r.claimed.Lease == l }) {
			lost = append(lost, l)
		}
	}
	if ok && len(lost) > 0 {
		rescued, err := w.store.Rescue(w.ctx, store.RescueParams{Lost: lost})
		w.tellf("%v gives up %v: %v, %s", n, lost, rescued.Jobs, outcome(err))
	}
	return true
}

func (w *world) leave(d *play.Dice) bool {
	n := w.free(d)
	if n == nil {
		return true
	}
	_, err := w.store.Leave(w.ctx, n.id)
	w.tellf("%v leaves: %s", n, outcome(err))
	if err == nil {
		n.killed, n.runs = true, nil
	}
	return true
}

func (w *world) freeze(d *play.Dice) bool {
	n := w.anyNode(d)
	if n != nil {
		n.frozen = true
		w.tellf("%v is frozen", n)
	}
	return true
}

func (w *world) thaw(d *play.Dice) bool {
	n, found := play.Choose(d, w.nodes, func(n *node) bool { return n.frozen && !n.killed })
	if !found {
		return w.beat(d)
	}
	n.frozen = false
	w.tellf("%v goes on", n)
	return true
}

func (w *world) kill(d *play.Dice) bool {
	n := w.anyNode(d)
	if n != nil {
		n.killed = true
		w.tellf("%v is killed", n)
	}
	return true
}

// rescue lets a node that leads, or believes to, take the jobs of those that it takes for dead: by
// what it was told when it led.
func (w *world) rescue(d *play.Dice) bool {
	n, found := play.Choose(d, w.nodes, func(n *node) bool { return n.active() && n.leads })
	if !found {
		return w.lead(d)
	}
	p := store.RescueParams{Limit: play.Among(d, 0, 0, 100, 1)}
	for _, b := range n.others {
		percent := 90 // of those that are not known
		for _, other := range w.nodes {
			if other.id == b.Node && other.active() {
				percent = 12
			}
		}
		if d.Chance(percent) {
			p.Dead = append(p.Dead, b)
		}
	}
	rescued, err := w.store.Rescue(w.ctx, p)
	w.tellf("%v rescues from %v, at most %d: %v, %s", n, p.Dead, p.Limit, rescued.Jobs, outcome(err))
	return true
}

func (w *world) promote(d *play.Dice) bool {
	limit := play.Among(d, 1000, 1000, 2)
	promoted, err := w.store.Promote(w.ctx, limit)
	w.tellf("promote %d: %d, more %v, %s", limit, promoted.Jobs, promoted.More, outcome(err))
	return true
}

func (w *world) sweep(*play.Dice) bool {
	swept, err := w.store.SweepCancels(w.ctx)
	w.tellf("sweep: %d, %s", swept.Jobs, outcome(err))
	return true
}

func (w *world) closeChildren(d *play.Dice) bool {
	closed, err := w.store.CloseChildren(w.ctx, play.Among(d, 100, 100, 1))
	w.tellf("close children: %+v, %s", closed, outcome(err))
	return true
}
