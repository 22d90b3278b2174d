package sqlite_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
	"github.com/holdfastdev/holdfast/store/storetest"
)

// TestIdleKeysAreForgotten: a key of which the burst is whole again has no row, those at which jobs
// wait excepted.
func TestIdleKeysAreForgotten(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	source := sqlite.File(file(t))
	source.Clock = clock.Now
	s, db := open(t, source), database(t, source.Path)
	rows := func() (n int) {
		if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM holdfast_key_rate").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	settings := store.LimitSettings{PerKey: true, Uncapped: true, Rate: &store.Rate{Count: 6, Per: time.Minute, Burst: 1}}
	if _, err := s.SaveLimit(t.Context(), store.Limit{Namespace: "default", Name: "tenant", LimitSettings: settings}, 0, ""); err != nil {
		t.Fatal(err)
	}
	node := join(t, s)
	add := func(keys int) {
		batch := &store.Batch{}
		for i := range keys {
			q := newJob()
			q.Job.MaxAttempts, q.Job.Options.Limit, q.Job.Options.LimitKey = 3, "tenant", strconv.Itoa(i)
			batch.Enqueues = append(batch.Enqueues, q)
		}
		if err := s.Apply(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}
	claimed := func(seq int64, want int) {
		if runs, err := claim(context.Background(), s, node, seq, 1000); err != nil || len(runs) != want {
			t.Fatalf("%d jobs were claimed, want %d: %v", len(runs), want, err)
		}
	}
	retain := func() {
		for more := true; more; {
			retained, err := s.Retain(t.Context(), store.Retention{Limit: 70})
			if err != nil {
				t.Fatal(err)
			}
			more = retained.More
		}
	}
	add(300)
	add(1)
	claimed(1, 300)
	if retain(); rows() != 300 {
		t.Fatalf("%d keys are kept of which permits are taken, of 300", rows())
	}
	clock.Advance(10 * time.Second)
	if retain(); rows() != 1 {
		t.Fatalf("%d keys are kept, and a job waits at one", rows())
	}
	if _, err := s.Promote(t.Context(), 100); err != nil {
		t.Fatal(err)
	}
	claimed(100, 1)
	clock.Advance(10 * time.Second)
	if retain(); rows() != 0 {
		t.Fatalf("%d keys are kept", rows())
	}
}
