package engine

import (
	"context"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// holdings compares, with each beat, the leases that the node has in the database with what it
// works on. A lease that nobody works on, beat after beat, is given up, so that no job is stuck
// because its node has lost sight of it: after a panic, an outcome or a claim whose answer was lost
// for good, or an error that was taken for the loss of a lease. It is the net below causes that are
// mended where they arise.
//
// Only claim records are asked about that are new since the last beat, or had something running then.
type holdings struct {
	patience time.Duration // how long a lease may look as if nobody worked on it: beats may follow each other at once
	node     int64         // whose leases these are
	claims   []int64
	from     int64
	suspects map[store.Lease]time.Time // since when nobody was found to work on them
}

// ask returns what to ask about with the next beat: all records whose jobs have been handed to the slots by now.
func (h *holdings) ask(node int64, settled int64) store.HeldParams {
	if h.node != node {
		*h = holdings{patience: h.patience, node: node, from: 1}
	}
	return store.HeldParams{Claims: h.claims, From: h.from, To: max(settled, h.from)}
}

// see takes in the answer. known reports whether the node works on a job, now or before it asked. Leases that nobody has worked on for some
// time are returned.
func (h *holdings) see(asked store.HeldParams, held []store.Lease, known func(store.ID) bool, now time.Time) (lost []store.Lease) {
	h.claims, h.from = nil, asked.To
	suspects := map[store.Lease]time.Time{}
	for _, l := range held {
		if n := len(h.claims); n == 0 || h.claims[n-1] != l.Claim {
			h.claims = append(h.claims, l.Claim)
		}
		if known(l.Job) {
			continue
		}
		since, before := h.suspects[l]
		switch {
		case !before:
			suspects[l] = now
		case now.Sub(since) < h.patience:
			suspects[l] = since
		default:
			lost = append(lost, l)
		}
	}
	slices.Sort(h.claims)
	h.claims = slices.Compact(h.claims)
	h.suspects = suspects
	return lost
}

// worksOn returns the jobs that the node has in hand: in slots, waiting for one, or with an outcome on its way.
func (n *node) worksOn() map[store.ID]bool {
	jobs := n.slots.jobs()
	n.engine.commit.ending(jobs)
	return jobs
}

// giveUp ends the runs of leases that nobody works on. What becomes of the jobs is what would if their node had died.
func (n *node) giveUp(ctx context.Context, lost []store.Lease) {
	for _, l := range lost {
		record, err := n.store.Get(ctx, l.Job)
		if err != nil || record.State != store.Running || record.Lease != l {
			continue // the next beat tells whether it is still there
		}
		n.log.Error("a job is running under a lease of this node, and nobody works on it; it is given up, please report this",
			"job", l.Job, "kind", record.Kind, "lease", l.Number)
		n.finish(n.lost(&record, l), nil, nil)
	}
}

// lost is the outcome of a run that nobody works on.
func (n *node) lost(record *store.Record, l store.Lease) *store.Outcome {
	o := &store.Outcome{
		Lease: l, State: store.Retryable, Reason: store.ReasonNodeLost, Error: "the node lost sight of the run",
		HasUnique: record.UniqueKey != nil, HasOrdering: record.OrderingKey != "", Answers: record.Answers, Parent: record.Parent,
		Durable: record.Journal > 0, HasChildren: record.Journal > 0, CancelSeen: record.CancelRequested,
	}
	policy := n.policies[record.Kind]
	delay, retry := policy.Lost(&record.Job)
	if o.Delay = delay; !retry {
		o.State, o.Reason = store.Failed, store.ReasonCrashLoop
	}
	return o
}
