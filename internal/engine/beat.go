package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// beatLoop says at each interval that the node lives, and does what the answer asks for.
func (n *node) beatLoop(ctx context.Context) {
	ticker := time.NewTicker(n.cfg.Beat)
	defer ticker.Stop()
	last := n.store.Now()
	n.beat(ctx, &last) // become the leader, if there is none, without waiting for the first interval
	for {
		young := n.cfg.Beat
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-n.beatNow:
			young = 0
		}
		n.beat(ctx, &last)
		n.lookForEnded(ctx, young)
	}
}

// beat sends one heartbeat. last is when the previous one got through.
func (n *node) beat(ctx context.Context, last *time.Time) {
	id := n.id.Load()
	// A beat that hangs is no use; the next one may find another connection.
	call, cancel := context.WithTimeout(ctx, n.cfg.Beat)
	beat, err := n.store.Beat(call, store.BeatParams{Node: id, LeaderTTL: 3 * n.cfg.Beat, DeadAfter: n.cfg.DeadAfter})
	cancel()
	now := n.store.Now()
	switch {
	case err == nil:
	case errors.Is(err, store.ErrNodeDead):
		n.declaredDead(ctx, id)
		*last = now
		return
	case ctx.Err() != nil:
		return
	default:
		n.log.Warn("heartbeat failed", "node", id, "silent", now.Sub(*last), "error", err)
		if now.Sub(*last) > 2*n.cfg.Beat {
			n.leader.Store(false) // whoever cannot beat judges nobody, not even itself
		}
		return
	}
	if now.Sub(*last) > 3*n.cfg.Beat {
		// The database was away from us, and perhaps from everybody: let the others beat before anyone is declared dead.
		n.quietUntil.Store(now.Add(2 * n.cfg.Beat).UnixMicro())
	}
	*last = now
	if n.leader.Swap(beat.Leader) != beat.Leader {
		n.log.Debug("leadership changed", "node", id, "leader", beat.Leader, "epoch", beat.Epoch)
	}
	n.tell(beat.Work)
	for _, c := range beat.Cancels {
		n.slots.cancel(c.Job, cancelCause(c.Reason))
	}
	for _, id := range beat.Pauses {
		n.slots.pause(id)
	}
}

// tell asks for the duties of a leader that have something to do. What fails, or comes later, is in the answer of the next beat.
func (n *node) tell(work store.Work) {
	if work.Rescue {
		signal(n.rescueNow)
	}
	if work.SweepCancels {
		signal(n.sweepNow)
	}
	if work.CloseChildren {
		signal(n.closeNow)
	}
}

// lookForEnded ends the runs of jobs that were terminated: whoever did so took their leases. Runs that are younger than
// the given age are not looked at, so that a node of short jobs asks nothing.
func (n *node) lookForEnded(ctx context.Context, young time.Duration) {
	running := n.slots.runningSince(n.store.Now().Add(-young))
	if len(running) == 0 {
		return
	}
	call, cancel := context.WithTimeout(ctx, n.cfg.Beat)
	defer cancel()
	ended, err := n.store.Ended(call, slices.Collect(maps.Keys(running)))
	if err != nil {
		return // the next beat asks again
	}
	for _, e := range ended {
		if e.State.Finished() {
			running[e.ID].run.cancel(store.ErrLeaseLost)
		}
	}
}

// cancelCause is the cause with which a run ends that somebody asked to cancel.
func cancelCause(reason string) error {
	if reason == "" {
		return ErrCancelled
	}
	return fmt.Errorf("%w: %s", ErrCancelled, reason)
}
