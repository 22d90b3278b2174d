package faulttest

import (
	"context"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// TestTurnsOfAKey runs a line of jobs of one ordering key on a node that has nothing else to
// do. Each turn is handed on as the one before ends, and not found by a poll: those would add
// up to far more than the same number of jobs takes of which each is enqueued when the one
// before has ended.
func TestTurnsOfAKey(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, db *database) {
		const jobs, poll = 200, 50 * time.Millisecond
		hf := db.open(t)
		kind := holdfast.NewKind[int, int]("turn")
		var order []int // of one turn at a time
		register(t, hf, kind, func(_ *holdfast.Run, n int) (int, error) { order = append(order, n); return n, nil })
		work(t, hf)
		began := time.Now()
		for range jobs {
			if err := finishes(t.Context(), hf, kind, 0); err != nil {
				t.Fatal(err)
			}
		}
		alone := time.Since(began)
		order = nil

		ins := make([]int, jobs)
		for i := range ins {
			ins[i] = i
		}
		line, err := kind.EnqueueMany(t.Context(), hf, ins, holdfast.OrderingKey("one"))
		if err != nil {
			t.Fatal(err)
		}
		limit := jobs*poll/3 + 3*alone
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		if err := hf.Wait(ctx, line[jobs-1].ID); err != nil {
			page, _ := hf.List(t.Context(), store.Filter{States: []store.State{store.Completed}}, "", 1000)
			t.Fatalf("%d of %d turns within %v, where others take %v: %v", len(page.Jobs)-jobs, jobs, limit, alone, err)
		}
		for i, n := range order {
			if i != n {
				t.Fatalf("job %d had turn %d", n, i)
			}
		}
	})
}
