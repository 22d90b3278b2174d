package engine

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/internal/duty"
	"github.com/holdfastdev/holdfast/internal/holdings"
	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/pulse"
	"github.com/holdfastdev/holdfast/internal/supervise"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

func newHeart(n *node) *heart {
	return &heart{
		node: n, pulses: pulse.NewDetector(n.cfg.Beat, n.cfg.DeadAfter), holdings: holdings.New(n.cfg.Beat / 2),
	}
}

// loop sends a heartbeat at each interval and acts on the answer. After a failed beat it retries
// sooner, so that the node is not late after an outage.
func (h *heart) loop(ctx context.Context) {
	n := h.node
	timer := time.NewTimer(0) // beat at once: if there is no leader, this node becomes it
	defer timer.Stop()
	for {
		young := n.cfg.Beat
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-n.beatNow:
			young = 0
		}
		wait := n.cfg.Beat
		if h.beat(ctx) {
			supervise.Signal(n.factsNow)
		} else {
			wait /= 5
		}
		timer.Reset(wait)
		n.lookForEnded(ctx, young)
		n.turns.Note(duty.Heartbeat)
	}
}

// beat sends one heartbeat, and reports whether it got through.
func (h *heart) beat(ctx context.Context) bool {
	n := h.node
	id := n.id.Load()
	if failures := n.outage.Failures(); failures != h.failures {
		h.failures = failures
		h.holdings.Doubt() // it may have failed over
	}
	asked := h.holdings.Ask(id, n.numbers.settled(id))
	before, unwell := n.worksOn(), h.unwell()
	// A beat that hangs is no use; the next one may find another connection.
	call, cancel := context.WithTimeout(ctx, n.cfg.Beat)
	inFlight := n.outage.Began()
	defer n.outage.Ended(inFlight)
	began := time.Now() //nolint:forbidigo // as below
	beat, err := n.store.Beat(call, store.BeatParams{Node: id, LeaderTTL: 2 * n.cfg.Beat, Lead: true, Held: asked, Unwell: unwell})
	cancel()
	now := time.Now() //nolint:forbidigo // the monotonic clock, which cannot be set
	switch {
	case err == nil:
	case errors.Is(err, store.ErrNodeDead):
		h.pulses.Lost()
		n.declaredDead(ctx, id)
		return true
	case ctx.Err() != nil:
		return true
	default:
		n.engine.fatal(err)
		h.failed(now, err)
		return false
	}
	h.note(now, now.Sub(began))
	n.outage.Succeeded(logs.CallBeat)
	if n.leader.Swap(beat.Leader) != beat.Leader {
		n.log.Debug("leadership changed", logs.KeyLeader, beat.Leader, logs.KeyEpoch, beat.Epoch)
		n.schedule.Nudge()
	}
	h.setDead(h.pulses.See(now, beat))
	n.hear(id, beat.Mode)
	n.request(beat.Work)
	for _, c := range beat.Cancels {
		n.slots.Cancel(c.Job, usercode.CancelCause(c.Reason))
	}
	for _, id := range beat.Pauses {
		n.slots.Pause(id)
	}
	after := n.worksOn()
	known := func(job store.ID) bool { return before[job] || after[job] }
	h.setLost(h.holdings.See(asked, beat.Held, known, now))
	for _, run := range h.holdings.Without(n.slots.Gone(id, asked.To, beat.Held), now) {
		run.Cancel(store.ErrLeaseLost)
	}
	if n.slots.Held(id, asked.To, beat.Held, h.holdings.AreSure()) {
		n.dispatch.free()
	}
	return true
}

// waitForBeat waits until a heartbeat has succeeded, for one beat interval at most. A claim
// repeated at once could lock the row of the node again before the beat that waits for it.
func (d *dispatcher) waitForBeat(ctx context.Context) {
	const look = 100 * time.Millisecond
	since := time.Now() //nolint:forbidigo // the monotonic clock, by which beats are noted
	supervise.Signal(d.node.beatNow)
	for waited := time.Duration(0); waited < d.node.cfg.Beat && ctx.Err() == nil; waited += look {
		supervise.Sleep(ctx, look)
		if at, _ := d.node.heart.lastBeat(); at.After(since) {
			return
		}
	}
}

// lookForEnded stops the runs of jobs that were terminated, which takes away their leases. It skips
// runs younger than young, so that a node of short jobs sends no query.
func (n *node) lookForEnded(ctx context.Context, young time.Duration) {
	running := n.slots.RunningSince(n.store.Now().Add(-young))
	if len(running) == 0 {
		return
	}
	call, cancel := context.WithTimeout(ctx, n.cfg.Beat)
	defer cancel()
	ended, err := n.store.Ended(call, "", slices.Collect(maps.Keys(running)))
	if err != nil {
		return // the next beat asks again
	}
	for _, e := range ended {
		if e.State.Finished() {
			running[e.ID].Cancel(store.ErrLeaseLost)
			n.engine.news.EndedHere([]store.ID{e.ID})
		}
	}
}
