package faulttest

import (
	"context"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/faults"
)

// TestDueInAMoment enqueues jobs that are due in a moment, on a node that has nothing else to
// do, with commits that take longer than that moment. They must not wait for the look that an
// idle node takes now and then: these take none.
func TestDueInAMoment(t *testing.T) {
	t.Parallel()
	const commit = 5 * time.Millisecond
	moments := []struct {
		name string
		at   func() holdfast.EnqueueOption
	}{
		{"in 200 µs", func() holdfast.EnqueueOption { return holdfast.Delay(200 * time.Microsecond) }},
		{"now", func() holdfast.EnqueueOption { return holdfast.RunAt(time.Now()) }},
		{"in 1 ms", func() holdfast.EnqueueOption { return holdfast.Delay(time.Millisecond) }},
		{"in 5 ms", func() holdfast.EnqueueOption { return holdfast.Delay(commit) }},
		{"1 ms from now", func() holdfast.EnqueueOption { return holdfast.RunAt(time.Now().Add(time.Millisecond)) }},
	}
	onEach(t, func(t *testing.T, db *database) {
		slow := db.slow(t, commit)
		for _, m := range moments {
			t.Run(m.name, func(t *testing.T) {
				t.Parallel()
				// Each has a node of its own that serves a queue of its own, so that none wakes
				// another.
				hf := slow.open(t, holdfast.WithNamespace(m.name), neverLooks())
				started := make(chan struct{}, 1)
				kind := holdfast.NewKind[int, int]("due")
				register(t, hf, kind, func(*holdfast.Run, int) (int, error) { started <- struct{}{}; return 0, nil })
				work(t, hf)
				for n := range 8 {
					job := enqueue(t, hf, kind, n, m.at())
					select {
					case <-started:
					case <-time.After(patience):
						t.Fatalf("job %d has not started within %v: %s", n+1, patience, told(get(t, hf, job.ID)))
					}
				}
			})
		}
	})
}

// slow is the database with commits that take their time. PostgreSQL is far away; SQLite's own
// commits are the slow ones.
func (db *database) slow(t *testing.T, commit time.Duration) *database {
	t.Helper()
	if db.url != "" {
		p := newProxy(t, db.url)
		p.slow(func([]byte, bool) time.Duration { return commit / 2 })
		return p.database()
	}
	return db.wrapped(func(st store.Store) store.Store {
		return faults.Wrap(st, func(c faults.Call) faults.Fault {
			if c.Op != "Apply" {
				return faults.Fault{}
			}
			return faults.Fault{After: func(ctx context.Context) { linger(ctx, commit) }}
		})
	})
}
