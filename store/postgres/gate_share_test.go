package postgres_test

import (
	"testing"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/gates"
)

// TestAGateOfMoreSlotsThanItsShare: of a key with more free slots than one transaction lets jobs
// go, a portion goes on and the note of it is done with, as what went on is not counted yet. The
// claims that take these let as many of the others go as there are slots.
func TestAGateOfMoreSlotsThanItsShare(t *testing.T) {
	t.Parallel()
	const slots, waiting = gates.Portion + 400, gates.Portion + 700
	s := open(t, used(t, nil))
	limit := func(capacity int, version int64) int64 {
		settings := store.LimitSettings{Capacity: capacity, PerKey: true}
		l, err := s.SaveLimit(t.Context(), store.Limit{Namespace: "default", Name: "a", LimitSettings: settings}, version, "")
		if err != nil {
			t.Fatal(err)
		}
		return l.Version
	}
	node, seq := join(t, s), int64(0)
	claim := func() []store.Claimed {
		seq += 100
		runs, err := s.Claim(t.Context(), demand(node, seq, 1000))
		if err != nil {
			t.Fatal(err)
		}
		return runs
	}
	version := limit(1, 0)
	enqueue(t, s, ofLimit("a"))
	first := claim()
	if len(first) != 1 {
		t.Fatalf("%d jobs were claimed", len(first))
	}
	var jobs []*store.Enqueue
	for range waiting {
		jobs = append(jobs, ofLimit("a"))
	}
	enqueue(t, s, jobs...)
	for range 2 { // the second puts those behind their gate that the first did not come to
		if runs := claim(); len(runs) != 0 {
			t.Fatalf("%d jobs run beside one", len(runs))
		}
	}
	limit(slots, version)
	batch := &store.Batch{Outcomes: []*store.Outcome{first[0].Outcome(store.Completed)}}
	if err := apply(t, s, batch); err != nil || batch.Outcomes[0].Err != nil {
		t.Fatal(err, batch.Outcomes[0].Err)
	}
	for _, w := range batch.Woken {
		if w.Kind == store.WakeDeferred {
			t.Errorf("it tells of more to do: %+v", w)
		}
	}
	for _, want := range []int{gates.Portion, slots - gates.Portion, 0} {
		if runs := claim(); len(runs) != want {
			t.Errorf("%d jobs were claimed, want %d", len(runs), want)
		}
	}
}
