package engine

import (
	"context"
	"time"

	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/supervise"
	"github.com/holdfastdev/holdfast/store"
)

const (
	// firstBlocked and lastBlocked bound the poll interval while something is due that cannot be
	// moved: a caller's transaction has locked it, or the clocks differ slightly.
	firstBlocked = 2 * time.Millisecond
	lastBlocked  = 100 * time.Millisecond
)

func newPromoter(n *node) *promoter {
	return &promoter{node: n, wakes: make(chan struct{}, 1)}
}

// hint notes that something is due at the given time.
func (p *promoter) hint(due time.Time) {
	p.mu.Lock()
	earlier := p.next.IsZero() || due.Before(p.next)
	if earlier {
		p.next = due
	}
	p.mu.Unlock()
	if earlier {
		supervise.Signal(p.wakes)
	}
}

// takeHint returns the earliest hint and clears it.
func (p *promoter) takeHint() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	hint := p.next
	p.next = time.Time{}
	return hint
}

func (p *promoter) loop(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var at time.Time // when the timer fires
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.wakes:
			if hint := p.takeHint(); !hint.IsZero() && (at.IsZero() || hint.Before(at)) {
				at = hint
				timer.Reset(max(at.Sub(p.node.store.Now()), 0))
			}
			continue
		case <-timer.C:
		}
		at = p.look(ctx)
		p.node.turns.Note("promotion")
		timer.Reset(max(at.Sub(p.node.store.Now()), 0))
	}
}

// look makes due jobs available, and returns when to look again.
func (p *promoter) look(ctx context.Context) time.Time {
	n := p.node
	for {
		call, cancel := context.WithTimeout(ctx, store.CallTimeout)
		promoted, err := n.store.Promote(call, promoteLimit)
		cancel()
		now := n.store.Now()
		if err != nil {
			if ctx.Err() == nil {
				n.engine.fatal(err)
				n.outage.Failed(logs.CallPromote, err)
			}
			return now.Add(time.Second)
		}
		n.outage.Succeeded(logs.CallPromote)
		n.engine.announce(promoted.Wakes...)
		if promoted.Jobs > 0 && promoted.More {
			continue
		}
		if next := promoted.NextDue; promoted.Jobs > 0 || !promoted.More && (next.IsZero() || next.After(now)) {
			p.blocked = 0
		} else {
			p.blocked = min(max(2*p.blocked, firstBlocked), lastBlocked)
			return now.Add(p.blocked)
		}
		again := now.Add(n.dispatch.slowest())
		if !promoted.NextDue.IsZero() && promoted.NextDue.Before(again) {
			again = promoted.NextDue
		}
		return again
	}
}
