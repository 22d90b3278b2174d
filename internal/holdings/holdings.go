// Package holdings finds leases that a node has lost track of, and runs whose leases the database
// does not have.
//
// With each beat a node compares the leases that it has in the database with what it works on, and
// gives up a lease that it has not worked on for several beats. So no job is stuck because its node
// has lost track of it: after a panic, an outcome or a claim whose answer was lost for good, an
// error taken for the loss of a lease, or a failover to a database that does not have what was
// confirmed last. It is a safety net; the causes are handled where they arise. A leaked lease is
// reported with each beat until it is gone, so a failed call is retried. The other way round, a run
// whose lease the database has not had for several beats has lost it.
//
// Each beat asks only about claim records that are new since the last one, or had running jobs
// then. Records whose runs have all ended are looked at again in walks, a number of them with each
// beat, the newest first: one begins a while after the last one has ended, as not each failover is
// noticed, and at once when the database may be another one; a walk that is under way then goes on,
// and the newest are looked at beside it. So what a beat costs does not grow with what the node has
// claimed, and failures that go on keep no walk from its end.
package holdings

import (
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/internal/slots"
	"github.com/holdfastdev/holdfast/store"
)

const (
	// again is how many records are looked at again with one beat.
	again = 1000
	// often is with which beats a walk may begin without a reason.
	often = 12
)

// Holdings is what the beats have shown so far. It is for one goroutine.
type Holdings struct {
	patience time.Duration
	node     int64 // the membership that has the leases
	claims   []int64
	from     int64
	beats    int
	below    int64                     // the walk goes on with the records below this one; 1 or less: it has ended
	doubted  bool                      // another one is to begin when it has
	newest   bool                      // the newest records are to be looked at beside it
	suspects map[store.Lease]time.Time // when each was first seen without work
	gone     map[store.Lease]time.Time // of runs; when each was first not in the database
}

// New returns Holdings for a node of which nothing is known. A lease may look leaked for as long as
// the patience: beats may follow each other at once.
func New(patience time.Duration) Holdings { return Holdings{patience: patience} }

// Doubt notes that the database may not have what it has confirmed.
func (h *Holdings) Doubt() { h.doubted, h.newest = true, true }

// Ask returns what the next beat asks about: all claim records whose jobs have reached the slots by
// now, which are those below settled.
func (h *Holdings) Ask(node, settled int64) store.HeldParams {
	if h.node != node {
		*h = Holdings{patience: h.patience, node: node, from: 1}
	}
	if h.beats++; h.below <= 1 && (h.doubted || h.beats%often == 0) {
		h.below, h.doubted, h.newest = h.from, false, false
	}
	asked := store.HeldParams{Claims: addBelow(h.claims, h.below), From: h.from, To: max(settled, h.from)}
	if h.newest {
		asked.Claims = addBelow(asked.Claims, h.from)
	}
	return asked
}

// addBelow adds the newest records below one.
func addBelow(claims []int64, below int64) []int64 {
	claims = slices.Clip(claims)
	for seq := max(below-again, 1); seq < below; seq++ {
		claims = append(claims, seq)
	}
	return claims
}

// See evaluates the answer to Ask. known reports whether the node works on a job now or did before
// the beat. It returns the leases that it has not worked on for longer than the patience.
func (h *Holdings) See(asked store.HeldParams, held []store.Lease, known func(store.ID) bool, now time.Time) (lost []store.Lease) {
	h.claims, h.from, h.below, h.newest = nil, asked.To, max(h.below-again, 0), false
	suspects := map[store.Lease]time.Time{}
	for _, l := range held {
		if n := len(h.claims); n == 0 || h.claims[n-1] != l.Claim {
			h.claims = append(h.claims, l.Claim)
		}
		if known(l.Job) {
			continue
		}
		since, before := h.suspects[l]
		if !before {
			since = now
		}
		suspects[l] = since
		if before && now.Sub(since) >= h.patience {
			lost = append(lost, l)
		}
	}
	slices.Sort(h.claims)
	h.claims = slices.Compact(h.claims)
	h.suspects = suspects
	return lost
}

// AreSure reports whether the node worked on all that it holds, as the last answer was.
func (h *Holdings) AreSure() bool { return len(h.suspects) == 0 }

// Without is told of the runs whose leases the database does not have, with each beat, and returns
// those of which that has been so for longer than the patience.
func (h *Holdings) Without(runs []slots.Run, now time.Time) (lost []slots.Run) {
	gone := map[store.Lease]time.Time{}
	for _, run := range runs {
		since, before := h.gone[run.Lease()]
		if !before {
			since = now
		} else if now.Sub(since) >= h.patience {
			lost = append(lost, run)
		}
		gone[run.Lease()] = since
	}
	h.gone = gone
	return lost
}
