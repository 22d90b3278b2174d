package simulate

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/faults"
	"github.com/holdfastdev/holdfast/store/storetest/simulate/play"
)

// node is one as it sees itself. It knows what it was told, and no more.
type node struct {
	seed    uint64
	id      int64
	info    store.NodeInfo
	skew    time.Duration // of its clock
	seq     int64
	runs    []*run
	pending *request   // without an answer: it is sent again before anything else
	sent    []*request // with an answer: they may arrive once more
	frozen  bool
	killed  bool
	leads   bool
	others  []store.NodeBeat // as it was told when it led
	plans   []*plan          // as it has read when it led
}

// run is a job that the node believes to run.
type run struct {
	claimed  store.Claimed
	last     int64 // of its journal
	asked    bool  // to cancel, as it knows
	children bool
}

func (r *run) Name() uint64 { return (&job{body: r.claimed.Job}).Name() }

// request is what a node has sent.
type request struct {
	node  *node
	seed  uint64
	batch *store.Batch
	runs  []*run // of its appends and outcomes
	claim *store.ClaimParams
}

func (n *node) Name() uint64 { return n.seed }

func (n *node) String() string { return fmt.Sprintf("node %d", n.id) }

func (r *request) Name() uint64 { return r.seed }

// active are the nodes that do something: they need not live.
func (n *node) active() bool { return !n.frozen && !n.killed }

// anyNode draws an active node, or lets one join.
func (w *world) anyNode(d *play.Dice) *node {
	n, found := play.Choose(d, w.nodes, (*node).active)
	if !found {
		w.join(d)
		return nil
	}
	return n
}

// crew is how many nodes are there at the most.
const crew = 5

func (w *world) join(d *play.Dice) bool {
	active := 0
	for _, n := range w.nodes {
		if n.active() {
			active++
		}
	}
	if active >= crew {
		return w.beat(d)
	}
	info := store.NodeInfo{Name: "n", Namespace: namespace, Slots: 10, DeadAfter: 20 * time.Second, Policies: map[string]store.Policy{}}
	for _, kind := range kinds {
		info.Policies[kind] = play.Among(d,
			store.Policy{Delays: []time.Duration{10 * time.Second}},
			store.Policy{MaxAttempts: 1, Delays: []time.Duration{time.Second}},
			store.Policy{MaxAttempts: 5, Backoff: store.Backoff{Base: 7 * time.Second, Cap: 10 * time.Second}},
		)
		info.Kinds = append(info.Kinds, kind)
		if d.Chance(80) {
			info.Kinds = append(info.Kinds, kind+"@v1")
		}
	}
	id, err := w.store.Join(w.ctx, info)
	w.tellf("a node joins: %d, %s", id, outcome(err))
	if err == nil {
		skew := play.Among(d, 0, 0, time.Millisecond, 5*time.Second, -5*time.Second)
		w.nodes = append(w.nodes, &node{seed: d.Seed, id: id, info: info, skew: skew, seq: 1})
	}
	return true
}

// send sends a request, for the first time or again.
func (w *world) send(r *request, again bool) {
	if r.claim != nil {
		w.sendClaim(r, again)
		return
	}
	batch := faults.Copy(r.batch)
	if again {
		for _, a := range batch.Appends {
			a.Repeat = true
		}
		for _, o := range batch.Outcomes {
			o.Repeat = true
		}
	}
	err := store.ApplyEach(w.ctx, w.store, batch)
	w.tellf("%v, again: %v: %s: %s", r.node, again, describe(batch), outcome(err))
	if isLost(err) {
		r.node.pending = r
		return
	}
	r.node.pending = nil
	r.node.keep(r)
	for i, a := range batch.Appends {
		if a.Err != nil {
			r.node.drop(r.runs[i])
			continue
		}
		r.runs[i].last = a.LastSeq()
		r.runs[i].children = r.runs[i].children || len(a.Enqueues) > 0
	}
	for i := range batch.Outcomes {
		r.node.drop(r.runs[len(batch.Appends)+i])
	}
	if batch.Start != nil {
		w.begin(r.node, batch.Start.Claimed)
	}
}

func (w *world) sendClaim(r *request, again bool) {
	p := *r.claim
	p.Repeat = again
	claimed, err := w.store.Claim(w.ctx, p)
	w.tellf("%v claims %d of %v with the number %d, again: %v: %v, %s",
		r.node, p.Limit, p.Queues, p.Seq, again, leasesOf(claimed), outcome(err))
	switch {
	case isLost(err):
		r.node.pending = r
	case err != nil:
		r.node.pending = nil
		w.buried(r.node, err)
	default:
		r.node.pending = nil
		r.node.keep(r)
		w.begin(r.node, claimed)
	}
}

// begin lets a node run what it was told to have claimed, if it does not already. A run reads the
// journal first.
func (w *world) begin(n *node, claimed []store.Claimed) {
	for _, c := range claimed {
		if slices.ContainsFunc(n.runs, func(r *run) bool { return r.claimed.Lease == c.Lease }) {
			continue
		}
		r := &run{claimed: c, asked: c.CancelRequested}
		if j := w.witness.jobs[c.Job.ID]; j != nil {
			r.last = j.lastEntry()
		}
		r.children = slices.ContainsFunc(w.witness.order, func(j *job) bool { return j.body.Parent == c.Job.ID })
		n.runs = append(n.runs, r)
	}
}

// buried is what a node does that is told to be dead: it joins again, or, for a while, goes on with
// what it has.
func (w *world) buried(n *node, err error) {
	if errors.Is(err, store.ErrNodeDead) && play.Mix(n.seed+uint64(n.seq))%2 == 0 {
		n.runs, n.killed = nil, true
	}
}

func (n *node) drop(r *run) {
	n.runs = slices.DeleteFunc(n.runs, func(other *run) bool { return other == r })
}

// keep remembers a request that may arrive once more.
func (n *node) keep(r *request) {
	if n.sent = append(n.sent, r); len(n.sent) > 10 {
		n.sent = n.sent[1:]
	}
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

// leaderTTL is how long the lease of a leader lasts.
const leaderTTL = 15 * time.Second

func (w *world) beat(d *play.Dice) bool {
	n := w.anyNode(d)
	if n == nil {
		return true
	}
	w.beats(n, store.BeatParams{Node: n.id})
	return true
}

func (w *world) lead(d *play.Dice) bool {
	n := w.anyNode(d)
	if n == nil {
		return true
	}
	w.beats(n, store.BeatParams{Node: n.id, LeaderTTL: leaderTTL, Lead: true})
	return true
}

// beats lets a node beat, and heed what it is told.
func (w *world) beats(n *node, p store.BeatParams) (beat store.Beat, ok bool) {
	beat, err := w.store.Beat(w.ctx, p)
	w.tellf("%v beats, stands: %v: leads %v, cancels %d, pauses %d, work %+v, %s", n, p.LeaderTTL > 0, beat.Leader, len(beat.Cancels),
		len(beat.Pauses), beat.Work, outcome(err))
	if err != nil {
		if !isLost(err) {
			w.buried(n, err)
		}
		return beat, false
	}
	for _, c := range beat.Cancels {
		for _, r := range n.runs {
			r.asked = r.asked || r.claimed.Job.ID == c.Job
		}
	}
	if p.LeaderTTL > 0 {
		if n.leads = beat.Leader; n.leads {
			n.others = beat.Nodes
		}
	}
	return beat, true
}
