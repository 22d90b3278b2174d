package faulttest

import (
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// TestTurnsOfAKey runs a line of jobs of one ordering key on a node that has nothing else to
// do. Each turn is handed on as the one before ends, and not found by a poll: those would add
// up to far more than the same number of jobs takes of which each is enqueued when the one
// before has ended. They would do so each time: a machine that stands still may make one line late.
func TestTurnsOfAKey(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, db *database) {
		const jobs, poll, tries = 200, 50 * time.Millisecond, 4
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

		ins := make([]int, jobs)
		for i := range ins {
			ins[i] = i
		}
		limit := jobs*poll/3 + 3*alone
		for try := 1; ; try++ {
			order = nil
			began := time.Now()
			line, err := kind.EnqueueMany(t.Context(), hf, ins, holdfast.OrderingKey("one"))
			if err != nil {
				t.Fatal(err)
			}
			ends(t, hf, line[jobs-1].ID, store.Completed)
			took := time.Since(began)
			for i, n := range order {
				if i != n {
					t.Fatalf("job %d had turn %d", n, i)
				}
			}
			if took <= limit {
				return
			}
			if try == tries {
				t.Fatalf("%d turns take %v, again and again, where others take %v", jobs, took, alone)
			}
		}
	})
}
