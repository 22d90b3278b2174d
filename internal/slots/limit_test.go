package slots

import (
	"testing"

	"github.com/holdfastdev/holdfast/store"
)

// TestNothingIsKeptForWhatIsNotLeased: a node that joins again while an enqueue of its earlier
// membership is on its way, which the store will refuse to start, keeps nothing for that: others
// may have all slots by now.
func TestNothingIsKeptForWhatIsNotLeased(t *testing.T) {
	b := newBed(t, 10)
	b.SetLimits([]store.Limit{{ID: 1, Version: 1, Name: "l", LimitSettings: store.LimitSettings{Capacity: 3}}})
	grant := func(node int64, slots int) {
		t.Helper()
		asks := b.Asks(node, b.now)
		if len(asks) != 1 {
			t.Fatalf("it asks %+v", asks)
		}
		b.Granted(node, asks, []store.Grant{{Limit: 1, Slots: slots, Capacity: 3, Held: 3}})
	}
	grant(1, 3)
	b.empty()
	jobs := []*store.Enqueue{{}, {}, {}}
	if n := b.Reserve(jobs, b.now); n != 3 {
		t.Fatalf("%d are reserved", n)
	}
	b.LoseAll(1)
	b.Heard("", b.now)
	for _, a := range b.Asks(2, b.now) {
		if a.Keep != 0 {
			t.Errorf("it keeps %d slots for jobs that are not leased", a.Keep)
		}
	}
	b.AdmitReserved(jobs, nil)
}
