// Package gates decides which jobs run of those that a claim would take and that count in limits
// per key: what both stores do, as a pure function.
//
// The gate of a key lets through as many jobs as its limit has slots. A claim takes jobs from
// ready, finds out how many of each gate run and which wait there already, and lets the first ones
// through; the others wait at the gate, where they cost claims nothing.
//
// Of ours, it imports only store.
package gates

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/holdfastdev/holdfast/store"
)

// Portion is how many jobs that wait at gates one transaction puts back into ready, over all gates.
// Of a limit that was deleted there may be very many.
const Portion = 1000

// Most is how many jobs one claim puts behind their gates before it gives up looking for others.
const Most = 2000

// Place is where a job is in the line of its gate.
type Place struct {
	Priority int
	RunAt    int64 // in microseconds
	ID       store.ID
}

// Compare orders places: the more urgent first, then those that were due before.
func (p Place) Compare(q Place) int {
	return cmp.Or(cmp.Compare(p.Priority, q.Priority), cmp.Compare(p.RunAt, q.RunAt), bytes.Compare(p.ID[:], q.ID[:]))
}

// Gate is one as a claim finds it.
type Gate struct {
	Unbounded bool // there is no limit
	Free      int  // slots; below 1: none
	// Heads are the first that wait and that the claim might take, as many as there are free slots.
	Heads []Place

	through int
}

// Admit reports whether a job of the gate runs: it does if a slot is left beside those that were
// admitted before and those that wait before it. Where nothing bounds them jobs still wait at most
// until those have gone on that wait before them: their limit was deleted a moment ago.
func (g *Gate) Admit(p Place) bool {
	before, _ := slices.BinarySearchFunc(g.Heads, p, Place.Compare)
	if g.Unbounded {
		return before == 0
	}
	if g.through+before >= g.Free {
		return false
	}
	g.through++
	return true
}

// Through is how many jobs were admitted.
func (g *Gate) Through() int { return g.through }

// Released are the heads that go back to ready, for the next claim: as many as there are slots.
func (g *Gate) Released() []Place {
	if g.Unbounded {
		return g.Heads
	}
	return g.Heads[:max(0, min(len(g.Heads), g.Free-g.through))]
}

// LeftOf returns what may still be taken by each demand once some jobs are.
func LeftOf(all []store.QueueDemand, claimed []store.Claimed) []store.QueueDemand {
	if all == nil || len(claimed) == 0 {
		return all
	}
	demands := store.NewDemands(all)
	left := slices.Clone(all)
	var last *store.Job // of the same lane often many come one after the other
	at := -1
	for i := range claimed {
		j := &claimed[i].Job
		if last == nil || j.Queue != last.Queue || j.Kind != last.Kind || j.Version != last.Version {
			at = demands.For(j.Queue, j.ClaimKind())
		}
		if last = j; at >= 0 {
			left[at].Limit--
		}
	}
	return left
}
