package slots

import (
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/internal/gcra"
	"github.com/holdfastdev/holdfast/store"
)

// TestPermitsAreNotTakenForTheKindsOfOthers: a node that has claimed in vain with permits of a
// rate, as jobs of its queue are of kinds that others handle, looks before it takes more. So theirs
// are not lost to it.
func TestPermitsAreNotTakenForTheKindsOfOthers(t *testing.T) {
	b := newKindsBed(t, 10, "own")
	rate := store.Rate{Count: 50, Per: time.Second, Burst: 5}
	b.SetLimits([]store.Limit{{ID: 1, Version: 1, Name: "rate", LimitSettings: store.LimitSettings{Uncapped: true, Rate: &rate}}})
	var state gcra.State
	state.Become(b.now.UnixMicro(), &rate)
	asks := func() (wants int) { // what goes back is no matter
		all, sent, _ := b.PermitAsks(b.now)
		for _, a := range all {
			wants += a.Want
		}
		b.Permitted(all, nil, sent) // the answer is lost
		return wants
	}
	claims := func(kinds ...string) int { return len(b.claimAll(kinds...)) }
	for range 2 {
		b.Heard("q", b.now)
		b.Demand(b.now)
		b.permit(&state)
		if got := claims(); got != 0 {
			t.Fatalf("it claims %d jobs of others", got)
		}
		b.now = b.now.Add(time.Second)
		for range 3 {
			b.Heard("q", b.now)
			if asks() > 0 {
				t.Fatal("it takes permits for jobs that may be of others again")
			}
			b.find() // none of its own
			if d := b.Demand(b.now); d.Look || d.Likely || asks() > 0 {
				t.Fatalf("without a job of its own it would do something: %+v", d)
			}
			b.now = b.now.Add(time.Second)
		}
		b.Heard("q", b.now)
		b.find("own")
		if b.Demand(b.now).Look {
			t.Fatal("it looks again for what it has found")
		}
		if b.permit(&state); b.roomFor("own") == 0 && b.roomFor("") == 0 {
			t.Fatal("it has found a job, and takes no permits")
		}
		if claims("own") == 0 {
			t.Fatal("it claims none of its own")
		}
		b.now = b.now.Add(time.Second)
		b.Heard("q", b.now)
		if d := b.Demand(b.now); d.Look || asks() == 0 {
			t.Fatalf("it looks first though its last claim was of use: %+v", d)
		}
		b.now = b.now.Add(time.Second)
	}
}

// TestAJobHeardOfDuringTheLookIsNotLost: what is enqueued while it is looked for jobs is looked for
// again.
func TestAJobHeardOfDuringTheLookIsNotLost(t *testing.T) {
	b := newKindsBed(t, 10, "own")
	rate := store.Rate{Count: 50, Per: time.Second, Burst: 5}
	b.SetLimits([]store.Limit{{ID: 1, Version: 1, Name: "rate", LimitSettings: store.LimitSettings{Uncapped: true, Rate: &rate}}})
	b.Heard("q", b.now)
	b.Demand(b.now)
	b.limits[0].meter.vain = true
	if !b.Demand(b.now).Look || !b.TakeLook() {
		t.Fatal("it does not look")
	}
	b.Heard("q", b.now)
	b.Found(nil, b.now)
	b.find("own")
	if asks, _, _ := b.PermitAsks(b.now); len(asks) == 0 {
		t.Fatal("it has found a job, and takes no permits")
	}
}
