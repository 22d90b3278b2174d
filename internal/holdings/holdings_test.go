package holdings

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/store"
)

func TestHoldingsSuspectBeforeTheyGiveUp(t *testing.T) {
	h := New(time.Second)
	now := time.Unix(1_000, 0)
	lease := func(claim int64) store.Lease {
		return store.Lease{Job: uuid.Must(uuid.NewV7()), Number: 1, Node: 3, Claim: claim}
	}
	mine, lost := lease(1), lease(2)
	known := func(job store.ID) bool { return job == mine.Job }
	see := func(want ...store.Lease) {
		t.Helper()
		asked := h.Ask(3, 10)
		if got := h.See(asked, []store.Lease{mine, lost}, known, now); !slices.Equal(got, want) {
			t.Fatalf("given up: %v, want %v", got, want)
		}
	}
	if asked := h.Ask(3, 5); asked.From != 1 || asked.To != 5 || asked.Claims != nil {
		t.Fatalf("the first question: %+v", asked)
	}
	see()
	if asked := h.Ask(3, 10); asked.From != 10 || asked.To != 10 || !slices.Equal(asked.Claims, []int64{1, 2}) {
		t.Fatalf("the second question: %+v", asked)
	}
	now = now.Add(time.Millisecond)
	see() // a beat that follows at once proves nothing
	now = now.Add(time.Second)
	see(lost)
	if asked := h.Ask(4, 3); asked.From != 1 || asked.To != 3 || asked.Claims != nil {
		t.Fatalf("a new membership: %+v", asked)
	}
}

// TestRecordsAreLookedAtAgain: all of them once the database may be another one, with so many beats
// as that takes, and the newest now and then.
func TestRecordsAreLookedAtAgain(t *testing.T) {
	h := New(time.Second)
	now := time.Unix(1_000, 0)
	const newest = 2*again + 500
	beat := func(held ...store.Lease) (asked store.HeldParams, lost []store.Lease) {
		now = now.Add(2 * time.Second)
		asked = h.Ask(3, newest)
		return asked, h.See(asked, held, func(store.ID) bool { return false }, now)
	}
	covers := func(asked store.HeldParams, from, to int64) {
		t.Helper()
		if n := int64(len(asked.Claims)); n != to-from || n > 0 && (asked.Claims[0] != from || asked.Claims[n-1] != to-1) {
			t.Fatalf("it asks about %d records, wanted those from %d to %d", n, from, to)
		}
	}
	quiet := func(beats int) {
		t.Helper()
		for range beats {
			asked, _ := beat()
			covers(asked, 0, 0)
		}
	}
	quiet(often - 1)
	asked, _ := beat()
	covers(asked, newest-again, newest)
	quiet(1)

	h.Doubt()
	if asked, again := h.Ask(3, newest), h.Ask(3, newest); !slices.Equal(asked.Claims, again.Claims) {
		t.Fatal("a beat that fails is not repeated")
	}
	leaked := store.Lease{Job: uuid.Must(uuid.NewV7()), Number: 1, Node: 3, Claim: newest - again - 1}
	asked, _ = beat()
	covers(asked, newest-again, newest)
	asked, lost := beat(leaked)
	covers(asked, newest-2*again, newest-again)
	if lost != nil {
		t.Fatalf("given up at once: %v", lost)
	}
	asked, lost = beat(leaked)
	if !slices.Equal(asked.Claims[:1], []int64{leaked.Claim}) || !slices.Equal(lost, []store.Lease{leaked}) {
		t.Fatalf("it asks about record %d, and gives up %v", asked.Claims[0], lost)
	}
	covers(store.HeldParams{Claims: asked.Claims[1:]}, 1, newest-2*again)
	beat()
	quiet(1)
}
