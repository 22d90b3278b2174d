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

// watch is a node whose slots know no job, and which is asked what it asks with each beat.
type watch struct {
	t    *testing.T
	h    Holdings
	now  time.Time
	next int64 // number of the next claim
}

func newWatch(t *testing.T, next int64) *watch {
	t.Helper()
	return &watch{t: t, h: New(time.Second), now: time.Unix(1_000, 0), next: next}
}

// beat is one beat, if the database has a lease, and reports whether the node gives it up.
func (w *watch) beat(leaked store.Lease) (asked store.HeldParams, isGivenUp bool) {
	w.now = w.now.Add(2 * time.Second)
	asked = w.h.Ask(3, w.next)
	var held []store.Lease
	if leaked.Claim >= asked.From && leaked.Claim < asked.To || slices.Contains(asked.Claims, leaked.Claim) {
		held = []store.Lease{leaked}
	}
	return asked, len(w.h.See(asked, held, func(store.ID) bool { return false }, w.now)) > 0
}

// asks is a beat that asks about the old records from one to before another.
func (w *watch) asks(from, to int64) {
	w.t.Helper()
	asked, _ := w.beat(store.Lease{})
	if n := int64(len(asked.Claims)); n != to-from || n > 0 && (asked.Claims[0] != from || asked.Claims[n-1] != to-1) {
		w.t.Fatalf("it asks about %d records, wanted those from %d to %d", n, from, to)
	}
}

// TestRecordsAreLookedAtAgain: all of them now and then, and once the database may be another one,
// with so many beats as that takes.
func TestRecordsAreLookedAtAgain(t *testing.T) {
	const newest = 2*again + 500
	w := newWatch(t, newest)
	walk := func() {
		t.Helper()
		w.asks(newest-again, newest)
		w.asks(newest-2*again, newest-again)
		w.asks(1, newest-2*again)
	}
	quiet := func(beats int) {
		t.Helper()
		for range beats {
			w.asks(0, 0)
		}
	}
	quiet(often - 1)
	walk()
	quiet(2)
	w.h.Doubt()
	if asked, again := w.h.Ask(3, newest), w.h.Ask(3, newest); !slices.Equal(asked.Claims, again.Claims) {
		t.Fatal("a beat that fails is not repeated")
	}
	walk()
	quiet(1)
}

// TestDoubtsKeepNoWalkFromItsEnd: a lease that is far back is given up though calls go on failing,
// and the newest records are looked at after each.
func TestDoubtsKeepNoWalkFromItsEnd(t *testing.T) {
	for every := range 4 {
		w := newWatch(t, 5*again)
		lease := func(claim int64) store.Lease {
			return store.Lease{Job: uuid.Must(uuid.NewV7()), Number: 1, Node: 3, Claim: claim}
		}
		w.beat(store.Lease{})
		w.h.Doubt()
		far, beats := lease(2*again), 0
		for isGivenUp := false; !isGivenUp; beats++ {
			if every > 0 && beats%every == 0 {
				w.h.Doubt()
			}
			if _, isGivenUp = w.beat(far); beats == 20 {
				t.Fatalf("with a failure each %d beats a lease that is far back is not given up", every)
			}
		}
		w.h.Doubt()
		if asked, _ := w.beat(store.Lease{}); !slices.Contains(asked.Claims, 5*again-1) {
			t.Errorf("after a failure it asks about %d records, and not about the newest", len(asked.Claims))
		}
	}
}

// TestManyClaimsHideNoLease: of a node that claims much the whole is looked at as well, without a
// failure.
func TestManyClaimsHideNoLease(t *testing.T) {
	w := newWatch(t, 5*again)
	w.beat(store.Lease{})
	lost := store.Lease{Job: uuid.Must(uuid.NewV7()), Number: 1, Node: 3, Claim: 5*again - 1}
	for beats := range 1000 {
		w.next += again / 2
		if _, isGivenUp := w.beat(lost); isGivenUp {
			t.Logf("it is given up with beat %d", beats)
			return
		}
	}
	t.Error("a lease is not given up, of whose end the database does not know")
}
