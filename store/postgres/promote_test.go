package postgres_test

import (
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// TestPromotionPassesOverWhatACallerHolds, and is not asked for again and again until it is let go.
// What is due next is not hidden by it.
func TestPromotionPassesOverWhatACallerHolds(t *testing.T) {
	t.Parallel()
	config := used(t, nil)
	clock := &hand{at: time.Now().UTC().Truncate(time.Millisecond)}
	config.Clock = clock.now
	s := open(t, config)
	enqueue(t, s, newJob(withKey("k"), func(q *store.Enqueue) { q.Delay = time.Second }))
	other := newJob(withKey("k"), func(q *store.Enqueue) { q.OnConflict, q.Delay = store.Replace, time.Hour })
	tx, commit, _ := callers["pgx"](t, config.URL)
	if err := s.EnqueueTx(t.Context(), tx, []*store.Enqueue{other}); err != nil || !other.Result.Replaced {
		t.Fatalf("EnqueueTx: %v, %+v", err, other)
	}
	clock.move(2*time.Second, 0)
	next := func() time.Time {
		t.Helper()
		promoted, err := s.Promote(t.Context(), 100)
		if err != nil || promoted.Jobs != 0 || promoted.More {
			t.Fatalf("promoted %+v, %v", promoted, err)
		}
		return promoted.NextDue
	}
	if pause := next().Sub(s.Now()); pause != 100*time.Millisecond {
		t.Errorf("to be looked at again %v after a look that could do nothing", pause)
	}
	enqueue(t, s, newJob(func(q *store.Enqueue) { q.Delay = 80 * time.Millisecond }))
	if pause := next().Sub(s.Now()); pause != 80*time.Millisecond {
		t.Errorf("to be looked at again after %v, and another job is due in 80 ms", pause)
	}
	if err := commit(); err != nil {
		t.Fatal(err)
	}
}
