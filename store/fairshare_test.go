package store_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfastdev/holdfast/store"
)

// TestParts: each part is what its node gets if slots are dealt out one unit after the other to
// those that want some yet. Then nobody has more than a unit more than another one that wants more;
// together they have all there are, if they want as many.
func TestParts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		capacity, unit := rapid.IntRange(0, 30).Draw(t, "capacity"), rapid.IntRange(1, 4).Draw(t, "unit")
		nodes := make([]store.Holder, rapid.IntRange(1, 6).Draw(t, "nodes"))
		for i := range nodes {
			nodes[i] = store.Holder{Node: int64(i + 1), Slots: rapid.IntRange(0, 30).Draw(t, "wants")}
		}
		for i := range nodes {
			wants := append([]store.Holder{}, nodes...)
			wants[i].Slots = capacity // as much as there is
			got, left := dealt(capacity, unit, wants)
			if part := store.Part(capacity, unit, nodes[i].Node, nodes); part != got[i] {
				t.Fatalf("of %d slots in units of %d that are wanted by %+v node %d has %d, want %d", capacity, unit, nodes, i+1, part, got[i])
			}
			if left > 0 {
				t.Fatalf("%d slots are left", left)
			}
		}
	})
}

// dealt deals slots out in rounds.
func dealt(capacity, unit int, wants []store.Holder) (got []int, left int) {
	got, left = make([]int, len(wants)), capacity
	for again := true; again; {
		again = false
		for i, w := range wants {
			n := min(unit, w.Slots-got[i], left)
			got[i] += n
			left -= n
			again = again || n > 0
		}
	}
	return got, left
}
