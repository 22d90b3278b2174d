package view

import (
	"context"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

const (
	// awaitedFor is how long it is looked for slots that a node of this store has said that it
	// wants. It says so again.
	awaitedFor = 10 * time.Second
	// mostAwaited is of how many limits.
	mostAwaited = 64
)

// awaited are the limits of which nodes of this store want slots. A change by another process may
// be that it has given some back, which is told at once: to find that out costs a read, and to tell
// of any change a claim.
type awaited struct {
	mu sync.Mutex
	of map[limitName]*wish
}

type limitName struct{ namespace, name string }

// wish is what a node of this store waits for.
type wish struct {
	until time.Time
	free  int64 // slots that were free at the last look; negative: at none
}

// want notes that slots of a limit are wanted.
func (a *awaited) want(l limitName, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if w := a.of[l]; w != nil {
		w.until = now.Add(awaitedFor)
		return
	}
	if len(a.of) == mostAwaited {
		return // other changes tell
	}
	if a.of == nil {
		a.of = map[limitName]*wish{}
	}
	a.of[l] = &wish{until: now.Add(awaitedFor), free: -1}
}

// any reports whether slots of a limit are wanted.
func (a *awaited) any() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.of) > 0
}

// names are those limits of which slots are still wanted.
func (a *awaited) names(now time.Time) (names []limitName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for l, w := range a.of {
		if now.After(w.until) {
			delete(a.of, l)
			continue
		}
		names = append(names, l)
	}
	return names
}

// found notes how many slots of a limit are free, and reports whether these are more than before.
func (a *awaited) found(l limitName, free int64) (more bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	w := a.of[l]
	if w == nil {
		return false
	}
	more, w.free = free > max(w.free, 0), free
	return more
}

// newlyFreed returns wake-ups for the limits of which slots are wanted, and more of which are free
// than at the last look.
func (v Verbs) newlyFreed(ctx context.Context, now time.Time) (wakes []store.Wake) {
	names := v.awaited.names(now)
	if len(names) == 0 {
		return nil
	}
	free := make([]int64, len(names))
	err := v.d.Read(ctx, "watch", func(t *core.Tx) error {
		for i, l := range names {
			s := t.Stmt("limit_free")
			s.BindText(l.namespace)
			s.BindText(l.name)
			free[i] = 0
			if err := db.Each(s, func() error { free[i] = s.ReadInt(); return nil }); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil // it is told of all changes all the same
	}
	for i, l := range names {
		if v.awaited.found(l, free[i]) {
			wakes = append(wakes, store.Wake{Kind: store.WakeSlotsFree, Namespace: l.namespace, Queue: l.name})
		}
	}
	return wakes
}
