package slots

import (
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// TestWantedSlotsAreGivenBackAtOnce: while the jobs of a node use slots that others want it is
// found out whether it has more of them. If not, it gives the slots back when these end, without a
// claim.
func TestWantedSlotsAreGivenBackAtOnce(t *testing.T) {
	b := oneSlot(t)
	if b.Demand(b.now).Look {
		t.Error("it looks for jobs though nobody else wants the slot")
	}
	b.Wanted("l", b.now)
	b.find() // no jobs
	if d := b.Demand(b.now); d.Look || d.Likely || d.Waits {
		t.Errorf("as there is no more job it would do something: %+v", d)
	}
	b.endFirst()
	if asks := b.Asks(1, b.now); len(asks) != 1 || asks[0].Keep != 0 {
		t.Errorf("it asks %+v, and does not give its slot back", asks)
	}
}

// TestWantedSlotsAreKeptForMoreJobs: if there are more, the node goes on with them, and does not
// look again before it has claimed.
func TestWantedSlotsAreKeptForMoreJobs(t *testing.T) {
	b := oneSlot(t)
	b.Wanted("l", b.now)
	b.find("a")
	b.now = b.now.Add(time.Second)
	b.Wanted("l", b.now)
	if b.Demand(b.now).Look {
		t.Error("it looks again for jobs that it knows of")
	}
	b.endFirst()
	if asks := b.Asks(1, b.now); len(asks) > 0 {
		t.Errorf("it gives a slot back that it can use: %+v", asks)
	}
	if got := b.claimAll("a"); len(got) != 1 {
		t.Errorf("it claims %d jobs", len(got))
	}
	b.now = b.now.Add(time.Second)
	b.find() // the next claim may have taken the last one
}

// TestJobsHeardOfDuringALookAreKept: a job that is enqueued while it is looked for jobs is not
// lost.
func TestJobsHeardOfDuringALookAreKept(t *testing.T) {
	b := oneSlot(t)
	b.Wanted("l", b.now)
	if !b.Demand(b.now).Look || !b.TakeLook() {
		t.Fatal("it does not look for jobs")
	}
	b.Heard("q", b.now)
	b.Found(nil, b.now)
	b.endFirst()
	if asks := b.Asks(1, b.now); len(asks) > 0 {
		t.Errorf("it gives a slot back for which it has heard of a job: %+v", asks)
	}
	if d := b.Demand(b.now); !d.Likely {
		t.Errorf("it would not claim: %+v", d)
	}
}

// TestWantedSlotsAreNoNewsForLongQueues: it is not looked for jobs of which some are known to wait.
func TestWantedSlotsAreNoNewsForLongQueues(t *testing.T) {
	b := oneSlot(t)
	c := b.classOf(lane{"q", "a"})
	c.knows(&store.Claimed{ClaimedAt: b.now, Job: store.Job{RunAt: b.now.Add(-backlog)}}, c.news)
	b.Wanted("l", b.now)
	if b.Demand(b.now).Look {
		t.Error("it looks for jobs that it knows of")
	}
}

// TestAClaimTellsWhatALookWould: it is not looked for jobs for which the node holds a slot.
func TestAClaimTellsWhatALookWould(t *testing.T) {
	b := oneSlot(t)
	b.limits[0].Capacity, b.limits[0].held = 2, 2
	b.Wanted("l", b.now)
	if d := b.Demand(b.now); d.Look || !d.Likely {
		t.Errorf("it looks for jobs that it may claim: %+v", d)
	}
}

// TestASlotIsForAJobThatWaits: while a node waits for a slot it is found out which of its queues
// have jobs, where wake-ups have told of any, so that the slot is not first tried on one without.
func TestASlotIsForAJobThatWaits(t *testing.T) {
	b := newKindsBed(t, 10, "a", "b")
	b.SetLimits([]store.Limit{{ID: 1, Version: 1, Name: "l", LimitSettings: store.LimitSettings{
		Capacity: 1, Kinds: map[string]int{"a": 1, "b": 1},
	}}})
	asks := b.Asks(1, b.now)
	b.Granted(1, asks, []store.Grant{{Limit: 1, Capacity: 1, Held: 1}})
	b.Heard("", b.now)
	b.find("b")
	if d := b.Demand(b.now); d.Look {
		t.Error("it looks again without news")
	}
	b.Freed("l")
	b.hold()
	if a, b := b.roomFor("a"), b.roomFor("b"); a != 0 || b != 1 {
		t.Errorf("the slot is for %d jobs of a, and %d of b, want b", a, b)
	}
}

// TestAWakeUpOfAQueueIsSure: it is not looked for jobs of a queue that a wake-up has named, before
// a claim has taken some.
func TestAWakeUpOfAQueueIsSure(t *testing.T) {
	b := oneSlot(t)
	b.Wanted("l", b.now)
	b.Heard("q", b.now)
	if b.Demand(b.now).Look {
		t.Error("it looks for jobs of which it was told")
	}
	b.Heard("", b.now)
	if b.Demand(b.now).Look {
		t.Error("a wake-up for any queue makes it forget that it was told")
	}
	b.endFirst()
	b.claimAll("a")
	if !b.Demand(b.now).Look {
		t.Error("it does not look, though the claim may have taken the last one")
	}
}

// oneSlot is a node that holds the one slot of a limit and runs a job with it. For all it knows
// there are more.
func oneSlot(t *testing.T) *kindsBed {
	t.Helper()
	b := newKindsBed(t, 10, "a")
	b.SetLimits([]store.Limit{{ID: 1, Version: 1, Name: "l", LimitSettings: store.LimitSettings{Capacity: 1}}})
	b.hold()
	if got := b.claimAll("a"); len(got) != 1 {
		t.Fatalf("it claims %d jobs", len(got))
	}
	return b
}
