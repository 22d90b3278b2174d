package rules

import (
	"math"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/faults"
	"github.com/holdfastdev/holdfast/store/storetest/simulate/play"
)

func (w *world) claim(d *play.Dice) {
	n := w.free(d)
	if n == nil {
		return
	}
	p := &store.ClaimParams{Limit: play.Among(d, 1, 1, 2, 3, 10)}
	switch {
	case n.slots != nil:
		if d.Chance(70) {
			n.slots.Heard("", w.clock.Now())
		}
		w.byAccount(n, p, play.Among(d, 1, 3, 1000))
	case d.Chance(30):
		for _, q := range queues {
			p.Queues = append(p.Queues, store.QueueDemand{Name: q, Limit: d.Below(4)})
		}
	}
	if d.Chance(20) {
		p.Aging = time.Minute
	}
	w.claims(n, d.Seed, p)
}

// claims sends a claim, with what is said in each.
func (w *world) claims(n *node, seed uint64, p *store.ClaimParams) {
	if p.Limit == 0 {
		n.slots.Learn(n.demand, 0, nil)
		return
	}
	p.Node, p.Seq, p.Namespace, p.Kinds = n.id, n.seq, namespace, n.info.Kinds
	n.seq += int64(p.Records())
	w.eye.asks(n, p)
	w.send(&request{node: n, seed: seed, claim: p}, false)
}

// send sends a request, for the first time or again.
func (w *world) send(r *request, again bool) {
	if r.claim != nil {
		w.sendClaim(r, again)
		return
	}
	n, batch := r.node, faults.Copy(r.batch)
	for _, o := range batch.Outcomes {
		o.Repeat = again
	}
	err := store.ApplyEach(w.ctx, w.store, batch)
	for i, o := range batch.Outcomes {
		w.tellf("%v ends %s as %v, again: %v: %v, %s", n, short(o.Lease.Job), o.State, again, batch.Outcomes[i].Final, outcome(o.Err))
	}
	if n.pending = nil; isLost(err) {
		n.pending = r
		return
	}
	must("Apply", err)
	n.keep(r)
	if n.slots != nil {
		n.slots.Over(batch.Outcomes, w.clock.Now())
	}
	for i, o := range batch.Outcomes {
		if n.slots != nil && o.Err != nil {
			n.slots.Lost(o.Lease)
		}
		w.over(n, r.runs[i])
	}
}

// over ends a run, whose slot another one may get.
func (w *world) over(n *node, r *run) {
	r.ended = true
	n.runs = slices.DeleteFunc(n.runs, func(other *run) bool { return other == r })
	if n.slots == nil || !r.begun {
		return
	}
	if next, ok := n.slots.End(r.Job(), r, w.clock.Now()); ok {
		for _, other := range n.runs {
			if other.claimed.Lease == next.Lease {
				w.begin(n, other)
			}
		}
	}
}

// begin begins a run that has a slot.
func (w *world) begin(n *node, r *run) {
	r.begun = true
	n.slots.Begin(r.claimed.Job.ID, r)
}

func (w *world) sendClaim(r *request, again bool) {
	n, p := r.node, *r.claim
	p.Repeat = again
	claimed, err := w.store.Claim(w.ctx, p)
	w.tellf("%v claims %d of %v with the number %d, again: %v: %v, %s", n, p.Limit, p.Queues, p.Seq, again, named(claimed), outcome(err))
	if n.pending = nil; isLost(err) {
		n.pending = r
		return
	}
	if err != nil {
		n.pending = r // so that its account is settled
		w.buried(n, err)
		return
	}
	r.took = len(claimed) > 0
	n.keep(r)
	w.takeIn(n, p.Limit, claimed)
}

// takeIn lets a node run what it has claimed.
func (w *world) takeIn(n *node, limit int, claimed []store.Claimed) {
	for _, c := range claimed {
		n.runs = append(n.runs, &run{claimed: c, begun: n.slots == nil})
	}
	if n.slots == nil {
		return
	}
	for _, c := range n.slots.Admit(slices.Clone(claimed)) {
		for _, r := range n.runs {
			if r.claimed.Lease == c.Lease {
				w.begin(n, r)
			}
		}
	}
	n.slots.Learn(n.demand, limit, claimed)
}

// keep remembers a request that may arrive once more.
func (n *node) keep(r *request) {
	if n.sent = append(n.sent, r); len(n.sent) > 10 {
		n.sent = n.sent[1:]
	}
}

func (w *world) end(d *play.Dice) { w.endSome(d, 1) }

func (w *world) endAll(d *play.Dice) { w.endSome(d, 1000) }

// endSome ends runs of a node. If none has one, a node claims instead.
func (w *world) endSome(d *play.Dice, most int) {
	begun := func(r *run) bool { return r.begun }
	n, found := play.Choose(d, w.nodes, func(n *node) bool {
		return n.active() && (n.pending != nil || slices.ContainsFunc(n.runs, begun))
	})
	switch {
	case !found:
		w.claim(d)
		return
	case n.pending != nil:
		w.send(n.pending, true)
		return
	}
	req := &request{node: n, seed: d.Seed, batch: &store.Batch{}}
	if most == 1 {
		r, _ := play.Choose(d, n.runs, begun)
		req.runs = []*run{r}
	} else {
		for _, r := range n.runs {
			if r.begun {
				req.runs = append(req.runs, r)
			}
		}
	}
	for _, r := range req.runs {
		req.batch.Outcomes = append(req.batch.Outcomes, w.outcome(d, r))
	}
	w.send(req, false)
}

// outcome draws how a run ends.
func (w *world) outcome(d *play.Dice, r *run) *store.Outcome {
	o := r.claimed.Outcome(play.Among(d, store.Completed, store.Completed, store.Completed, store.Completed, store.Retryable,
		store.Scheduled, store.Available, store.Failed, store.Cancelled))
	switch o.State {
	case store.Failed, store.Retryable:
		o.Reason, o.Error = store.ReasonError, "it broke"
	case store.Scheduled:
		if w.about.has(Rests) && d.Chance(70) {
			w.rests(d, r, o)
		}
	default:
	}
	if o.State == store.Retryable || o.State == store.Scheduled && o.RunAt.IsZero() {
		o.Delay = play.Among(d, 0, time.Second, 20*time.Second, time.Hour)
	}
	return o
}

// giveBack gives back what a node has claimed and not begun.
func (w *world) giveBack(d *play.Dice) {
	n, found := play.Choose(d, w.nodes, func(n *node) bool { return n.active() && n.pending == nil && n.slots != nil })
	if found {
		w.givesBack(n, d.Seed)
	}
}

func (w *world) givesBack(n *node, seed uint64) {
	req := &request{node: n, seed: seed, batch: &store.Batch{}}
	for _, c := range n.slots.TakeBuffer() {
		for _, r := range n.runs {
			if r.claimed.Lease == c.Lease {
				req.runs, req.batch.Outcomes = append(req.runs, r), append(req.batch.Outcomes, r.claimed.Outcome(store.Available))
			}
		}
	}
	if len(req.runs) > 0 {
		w.send(req, false)
	}
}

// repeat sends again what was not answered, of a node or of a sender outside.
func (w *world) repeat(d *play.Dice) {
	if l, found := play.Choose(d, w.letters, nil); found && d.Chance(50) {
		w.letters = slices.DeleteFunc(w.letters, func(other *letter) bool { return other == l })
		w.post(l)
		return
	}
	n, found := play.Choose(d, w.nodes, func(n *node) bool { return n.active() && n.pending != nil })
	if !found {
		w.late(d)
		return
	}
	w.send(n.pending, true)
}

// late lets something that was sent long ago arrive once more, or for the first time. Its sender is
// not there for the answer.
func (w *world) late(d *play.Dice) {
	if w.about.has(Limits) && d.Chance(60) {
		w.lateAsk(d)
		return
	}
	var sent []*request
	for _, n := range w.nodes {
		sent = append(sent, n.sent...)
		if n.killed && n.pending != nil {
			sent = append(sent, n.pending)
		}
	}
	// A claim that took nothing and arrives once more may take jobs, of which its node does not
	// know. It finds and gives them back soon (audit), but may have taken others meanwhile.
	r, found := play.Choose(d, sent, func(r *request) bool { return r.claim == nil || r.took || !w.about.has(Limits) })
	switch {
	case !found:
		w.beat(d)
	case r.claim != nil:
		p := *r.claim
		p.Repeat = true
		claimed, err := w.store.Claim(w.ctx, p)
		w.tellf("the claim %d of %d arrives once more: %v, %s", p.Seq, p.Node, named(claimed), outcome(err))
	default:
		batch := faults.Copy(r.batch)
		for _, o := range batch.Outcomes {
			o.Repeat = d.Chance(60)
		}
		err := store.ApplyEach(w.ctx, w.store, batch)
		w.tellf("%d outcomes of %v arrive once more: %s", len(batch.Outcomes), r.node, outcome(err))
	}
}

// audit lets a node ask what it holds, and give up what it does not know of.
func (w *world) audit(d *play.Dice) {
	if n := w.free(d); n != nil {
		w.audits(n)
	}
}

func (w *world) audits(n *node) {
	beat := w.beats(n, store.BeatParams{Node: n.id, Held: store.HeldParams{From: 0, To: math.MaxInt64}})
	lost := slices.DeleteFunc(beat.Held, func(l store.Lease) bool {
		return slices.ContainsFunc(n.runs, func(r *run) bool { return r.claimed.Lease == l })
	})
	if len(lost) > 0 {
		_, err := w.store.Rescue(w.ctx, store.RescueParams{Lost: lost})
		w.tellf("%v gives up %d jobs: %s", n, len(lost), outcome(err))
	}
}

func named(claimed []store.Claimed) (names []string) {
	for _, c := range claimed {
		names = append(names, short(c.Job.ID))
	}
	return names
}
