package engine

import (
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/internal/duty"
	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/store"
)

// known is the mode that the last beat told of.
func (m *mode) known() store.NodeMode {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.is
}

// hear does what people want of the node, as a beat of a membership tells.
func (n *node) hear(membership int64, wanted store.NodeMode) {
	m := &n.mode
	m.mu.Lock()
	defer m.mu.Unlock()
	if membership == m.lost || wanted == m.is && !m.unsure {
		return
	}
	if wanted != m.is {
		n.log.Info("a person has changed the node's mode", logs.KeyMode, wanted.String(), logs.KeyRunning, n.slots.Running())
	}
	if wanted == store.NodeDrains && m.is != store.NodeDrains {
		close(m.drained)
	}
	m.is, m.unsure = wanted, false
	n.setQuiet(wanted != store.NodeRuns)
}

// doubt keeps a node that joins again from claiming until a beat tells whether it may: it is the
// same process, and what people want of it stays. lost is the membership that it had.
func (n *node) doubt(lost int64) {
	m := &n.mode
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lost, m.unsure = lost, true
	n.setQuiet(true)
}

// setQuiet stops claiming and starting jobs, and gives back those that have not started; or ends
// that.
func (n *node) setQuiet(quiet bool) {
	for _, c := range n.slots.SetQuiet(quiet) {
		n.release(c)
	}
	if !quiet {
		n.dispatch.wake("")
	}
}

// stillAfter is how long a loop may do nothing that looks for work every so often, before it is
// said to stand still. One call of the store may take as long as it may.
const stillAfter = 3 * store.CallTimeout

// unwell says what is wrong with a node that can beat. It needs no query, and is mostly nil. Only
// the beat loop calls it.
func (h *heart) unwell() (wrong []string) {
	n := h.node
	now := time.Now() //nolint:forbidigo // for people, by the clock that notes turns
	for _, t := range n.engine.guard.Troubles() {
		if t.Down {
			wrong = append(wrong, fmt.Sprintf("%s is down after panic %d: %s", t.Part, t.Panics, t.Last))
		}
	}
	if since := n.engine.outage.Since(); !since.IsZero() && now.Sub(since) > stillAfter {
		wrong = append(wrong, "calls of the database have failed for "+now.Sub(since).Round(time.Second).String())
	}
	still := func(loop string, since time.Time) {
		if d := now.Sub(since); !since.IsZero() && d > n.dispatch.slowest()+stillAfter {
			wrong = append(wrong, fmt.Sprintf("%s: the loop has stood still for %v", loop, d.Round(time.Second)))
		}
	}
	still(duty.Promote, n.turns.Last(duty.Promote))
	if h.fullAt.IsZero() || n.slots.Demand(n.store.Now()).Limit == 0 {
		h.fullAt = now // without a slot, or quiet, it has no reason to claim
	}
	claimed := n.turns.Last(duty.Claims)
	if claimed.Before(h.fullAt) {
		claimed = h.fullAt
	}
	still(duty.Claims, claimed)
	return wrong
}
