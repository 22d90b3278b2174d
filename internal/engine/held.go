package engine

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/observer"
	"github.com/holdfastdev/holdfast/store"
)

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
			"a job had a lease of this node, but no handler was running it; it was rescued, please report this unless the database has failed over",
			slog.Int64(logs.KeyLease, numbers[r.Job]), slog.String(logs.KeyState, r.State.String()), slog.String(logs.KeyReason, string(r.Reason)))
	}
	return nil
}
