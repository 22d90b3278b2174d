package faulttest

import (
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// TestCancelOfGenerations cancels a job whose child waits for a child, and so on, on a node
// that does not lead. Each generation ends the next one, and none waits for a beat.
func TestCancelOfGenerations(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, db *database) {
		const generations, beat = 8, 15 * time.Second
		leases := holdfast.WithLeases(beat, 5*time.Minute)
		leader := db.open(t, leases)
		register(t, leader, holdfast.NewKind[int, int]("another"), func(*holdfast.Run, int) (int, error) { return 0, nil })
		work(t, leader)
		eventually(t, "there is a leader", func() bool {
			nodes, err := leader.Nodes(t.Context())
			return err == nil && len(nodes) == 1 && nodes[0].Leader
		})
		hf := db.open(t, leases)
		kind := holdfast.NewKind[int, int]("generation")
		never := holdfast.NewSignal[int]("never")
		register(t, hf, kind, func(run *holdfast.Run, n int) (int, error) {
			if n == 1 {
				return never.Wait(run)
			}
			return kind.Call(run, n-1)
		})
		work(t, hf)
		first := enqueue(t, hf, kind, generations)
		family := func(states ...store.State) int {
			page, err := hf.List(t.Context(), store.Filter{States: states}, "", 100)
			if err != nil {
				t.Fatal(err)
			}
			return len(page.Jobs)
		}
		eventually(t, "all generations wait", func() bool { return family(store.Waiting) == generations })
		limit := generations * beat / 3
		if err := first.Cancel(t.Context(), "enough"); err != nil {
			t.Fatal(err)
		}
		if !comesTrue(limit, func() bool { return family(store.Cancelled) == generations }) {
			t.Errorf("%d of %d generations have ended within %v", family(store.Cancelled), generations, limit)
		}
	})
}
