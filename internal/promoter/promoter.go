// Package promoter makes deferred jobs available when they are due, by a timer on the next due
// time. Every node has one: it costs nothing while nothing is due, and two that look at once make a
// job available once.
//
// # What it promises
//
// A job that the promoter knows of, by a hint or since it has looked, is made available when it is
// due. One that it does not know of is found within Idle. While something is due that cannot be
// moved, because a transaction of a caller has locked it, it looks again, up to ten times a second.
//
// # How it fails
//
// The database is away: it looks again each second.
//
// # Imports
//
// This package imports store, and internal/logs, internal/observer and internal/supervise.
package promoter

import (
	"context"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/observer"
	"github.com/holdfastdev/holdfast/internal/supervise"
	"github.com/holdfastdev/holdfast/store"
)

const (
	// firstBlocked and LastBlocked bound the poll interval while something is due that cannot be
	// moved: a caller's transaction has locked it, or the clocks differ slightly.
	firstBlocked = 2 * time.Millisecond
	// LastBlocked is the longest such interval.
	LastBlocked = 100 * time.Millisecond
	// limit is how many due jobs one transaction makes available.
	limit = 2000
)

// Parts are what the promoter stands on.
type Parts struct {
	Store store.Store
	// Idle is how often it looks without a reason.
	Idle func() time.Duration
	// Announce tells the nodes what has become available.
	Announce func(...store.Wake)
	// Fatal is called with each error.
	Fatal func(error)
	// Turn is called after each look.
	Turn   func()
	Outage *logs.Outage
}

// Loop is the promoter of one node.
type Loop struct {
	Parts

	wakes chan struct{}

	blocked time.Duration // backoff while something is due that cannot be moved

	mu   sync.Mutex
	next time.Time // earliest hint since the last look; zero: none
}

// New makes a promoter.
func New(p Parts) *Loop { return &Loop{Parts: p, wakes: make(chan struct{}, 1)} }

// Hint notes that something is due at the given time.
func (l *Loop) Hint(due time.Time) {
	l.mu.Lock()
	earlier := l.next.IsZero() || due.Before(l.next)
	if earlier {
		l.next = due
	}
	l.mu.Unlock()
	if earlier {
		supervise.Signal(l.wakes)
	}
}

// takeHint returns the earliest hint and clears it.
func (l *Loop) takeHint() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	hint := l.next
	l.next = time.Time{}
	return hint
}

// Run looks until ctx ends.
func (l *Loop) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var at time.Time // when the timer fires
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.wakes:
			if hint := l.takeHint(); !hint.IsZero() && (at.IsZero() || hint.Before(at)) {
				at = hint
				timer.Reset(max(at.Sub(l.Store.Now()), 0))
			}
			continue
		case <-timer.C:
		}
		at = l.Look(ctx)
		l.Turn()
		timer.Reset(max(at.Sub(l.Store.Now()), 0))
	}
}

// some makes due jobs available, as many as one transaction takes.
func (l *Loop) some(ctx context.Context) (store.Promoted, error) {
	call, cancel := context.WithTimeout(ctx, store.CallTimeout)
	defer cancel()
	promoted, err := l.Store.Promote(call, limit)
	if err == nil {
		observer.Did(ctx, promoted.Jobs)
		l.Announce(promoted.Wakes...)
	}
	return promoted, err
}

// Once makes available what is due now.
func (l *Loop) Once(ctx context.Context) error {
	for ctx.Err() == nil {
		promoted, err := l.some(ctx)
		if err != nil || promoted.Jobs == 0 || !promoted.More {
			return err
		}
	}
	return nil
}

// Look makes due jobs available, and returns when to look again.
func (l *Loop) Look(ctx context.Context) time.Time {
	for {
		promoted, err := l.some(ctx)
		now := l.Store.Now()
		if err != nil {
			if ctx.Err() == nil {
				l.Fatal(err)
				l.Outage.Failed(logs.CallPromote, err)
			}
			return now.Add(time.Second)
		}
		l.Outage.Succeeded(logs.CallPromote)
		if promoted.Jobs > 0 && promoted.More {
			continue
		}
		if next := promoted.NextDue; promoted.Jobs > 0 || !promoted.More && (next.IsZero() || next.After(now)) {
			l.blocked = 0
		} else {
			l.blocked = min(max(2*l.blocked, firstBlocked), LastBlocked)
			return now.Add(l.blocked)
		}
		again := now.Add(l.Idle())
		if !promoted.NextDue.IsZero() && promoted.NextDue.Before(again) {
			again = promoted.NextDue
		}
		return again
	}
}
