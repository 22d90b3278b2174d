package engine

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/observer"
	"github.com/holdfastdev/holdfast/internal/slots"
	"github.com/holdfastdev/holdfast/store"
)

// ask returns what the next beat asks about: all claim records whose jobs have reached the slots by
// now.
func (h *holdings) ask(node int64, settled int64) store.HeldParams {
	if h.node != node {
		*h = holdings{patience: h.patience, node: node, from: 1}
	}
	return store.HeldParams{Claims: h.claims, From: h.from, To: max(settled, h.from)}
}

// see evaluates the answer to ask. known reports whether the node works on a job now or did before
// the beat. It returns the leases that it has not worked on for longer than the patience.
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

// without is told of the runs whose leases the database does not have, with each beat, and returns
// those of which that has been so for longer than the patience.
func (h *holdings) without(runs []slots.Run, now time.Time) (lost []slots.Run) {
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

// worksOn returns the jobs that the node works on: in slots, in the buffer, or with an outcome on
// its way.
func (n *node) worksOn() map[store.ID]bool {
	jobs := n.slots.Jobs()
	n.engine.ending(jobs)
	return jobs
}

const (
	// giveUpLimit is how many leases one call gives up.
	giveUpLimit = 100
	// giveUpTimeout bounds that call. The next beat finds what it left, and the next call may use
	// another connection.
	giveUpTimeout = 5 * time.Second
)

// giveUp gives up the leases that the last beat found. It is a duty of its own, so that the
// heartbeat never waits for it, however many leases there are and however slow the database is.
func (n *node) giveUp(ctx context.Context) error {
	for {
		lost := n.heart.takeLost(giveUpLimit)
		if len(lost) == 0 {
			return nil
		}
		// Since that beat the node may have joined again, or have claimed the job again.
		own, known := n.id.Load(), n.worksOn()
		lost = slices.DeleteFunc(lost, func(l store.Lease) bool { return l.Node != own || known[l.Job] })
		if len(lost) == 0 {
			continue
		}
		if err := n.giveUpSome(ctx, lost); err != nil {
			return err
		}
	}
}

// giveUpSome gives up leases by rescuing their jobs, as if the node had died: the store decides
// what becomes of them, from what it knows and this node has lost.
func (n *node) giveUpSome(ctx context.Context, lost []store.Lease) error {
	ctx, cancel := context.WithTimeout(ctx, giveUpTimeout)
	defer cancel()
	rescued, err := n.store.Rescue(ctx, store.RescueParams{Lost: lost})
	n.announce(rescued)
	observer.Did(ctx, len(rescued.Jobs))
	if err != nil {
		return err
	}
	numbers := map[store.ID]int64{}
	for _, l := range lost {
		numbers[l.Job] = l.Number
	}
	for _, r := range rescued.Jobs {
		n.lines.Say(slog.LevelError, logs.About{Job: r.Job, Kind: r.Kind, Queue: r.Queue},
			"a job had a lease of this node, but no handler was running it; it was rescued, please report this",
			slog.Int64(logs.KeyLease, numbers[r.Job]), slog.String(logs.KeyState, r.State.String()), slog.String(logs.KeyReason, string(r.Reason)))
	}
	return nil
}
