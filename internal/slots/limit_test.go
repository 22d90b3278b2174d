package slots

import (
	"testing"
	"time"

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

// TestNobodyIsToldThatAllSlotsAreHeld: a node asks for no more slots than there are, and holds its
// own when more jobs wait than that.
func TestNobodyIsToldThatAllSlotsAreHeld(t *testing.T) {
	for _, unsure := range []bool{false, true} {
		b := newBed(t, 10)
		b.SetLimits([]store.Limit{{ID: 1, Version: 1, Name: "l", LimitSettings: store.LimitSettings{Capacity: 3}}})
		b.limits[0].unsure = unsure
		asks := b.Asks(1, b.now)
		if len(asks) != 1 || asks[0].Want != 3 {
			t.Fatalf("of 3 slots it asks for %+v", asks)
		}
		freed, short, _ := b.Granted(1, asks, []store.Grant{{Limit: 1, Slots: 3, Capacity: 3, Held: 3}})
		if len(freed)+len(short) > 0 {
			t.Errorf("it tells others that %v are free and %v wanted", freed, short)
		}
		if asks := b.Asks(1, b.now); len(asks) > 0 {
			t.Errorf("it has all slots and asks %+v", asks)
		}
	}
}

// TestSlotsAreKeptForPermits: a node that waits for the next permits of a rate keeps the slots of
// its other limit, though others want some; if it is known that no permit comes for long it gives
// them back, and asks for none.
func TestSlotsAreKeptForPermits(t *testing.T) {
	b := newBed(t, 10)
	of := func(per time.Duration) store.LimitSettings {
		return store.LimitSettings{Uncapped: true, Rate: &store.Rate{Count: 1, Per: per, Burst: 10}}
	}
	for _, c := range []struct {
		per     time.Duration
		none    bool // it was told that the next permit comes after that
		surplus int
	}{{50 * time.Millisecond, false, 0}, {time.Hour, true, 3}} {
		b.SetLimits([]store.Limit{
			{ID: 1, Version: int64(c.per), Name: "slots", LimitSettings: store.LimitSettings{Capacity: 3}},
			{ID: 2, Version: int64(c.per), Name: "rate", LimitSettings: of(c.per)},
		})
		slots, rate := b.limits[0], b.limits[1]
		if slots.ID != 1 {
			slots, rate = rate, slots
		}
		slots.held, slots.short = 3, false
		if c.none {
			rate.meter.notBefore = b.elapsed() + c.per
		}
		b.Wanted("slots", b.now)
		b.rooms(b.now)
		if got := slots.surplus(b.now); got != c.surplus {
			t.Errorf("one job in %v: it gives back %d slots, want %d", c.per, got, c.surplus)
		}
		if c.none && slots.lacks() > 0 {
			t.Errorf("it lacks %d slots that are of no use", slots.lacks())
		}
	}
}

// TestANeedThatGrowsIsNoShortage: a node whose need has grown while it asked, and that got all that
// it asked for, asks again at once. One that got less waits until some are free.
func TestANeedThatGrowsIsNoShortage(t *testing.T) {
	for _, granted := range []int{10, 9} {
		b := newBed(t, 20, queue("a", 10), queue("b", 10))
		b.SetLimits([]store.Limit{{ID: 1, Version: 1, Name: "l", LimitSettings: store.LimitSettings{Capacity: 100}}})
		b.Granted(1, b.Asks(1, b.now), []store.Grant{{Limit: 1, Slots: 2, Capacity: 100, Held: 2}})
		b.empty()
		b.Freed("l")
		b.Wanted("l", b.now) // so that it asks for no more than it needs
		b.Heard("a", b.now)
		asks := b.Asks(1, b.now)
		if len(asks) != 1 || asks[0].Want != 10 {
			t.Fatalf("it asks %+v", asks)
		}
		b.Heard("b", b.now)
		b.Demand(b.now)
		for len(b.AsksWait()) > 0 {
			<-b.AsksWait()
		}
		_, short, _ := b.Granted(1, asks, []store.Grant{{Limit: 1, Slots: granted, Capacity: 100, Held: granted}})
		again, told := b.Asks(1, b.now), len(b.AsksWait()) > 0
		if granted == 10 && (len(short) > 0 || !told || len(again) != 1 || again[0].Want != 20) {
			t.Errorf("it got all: short %v, told %t, asks %+v", short, told, again)
		}
		if granted == 9 && (len(short) != 1 || len(again) > 0) {
			t.Errorf("it got less: short %v, asks %+v", short, again)
		}
	}
}

// TestWhatAClaimMayHaveTakenCounts: a claim that was cut off may have taken as many jobs as it
// asked for. They count until a beat has told what the node holds of that claim, and no longer.
func TestWhatAClaimMayHaveTakenCounts(t *testing.T) {
	b := newBed(t, 10)
	b.SetLimits([]store.Limit{{ID: 1, Version: 1, Name: "l", LimitSettings: store.LimitSettings{Capacity: 3}}})
	b.Granted(1, b.Asks(1, b.now), []store.Grant{{Limit: 1, Slots: 3, Capacity: 3, Held: 3}})
	if d := b.Claim(b.now); d.Limit != 3 {
		t.Fatalf("it claims %d", d.Limit)
	}
	b.CutOff(7)
	room := func(want int, when string) {
		t.Helper()
		if d := b.Demand(b.now); d.Limit != want {
			t.Errorf("%s there is room for %d, want %d", when, d.Limit, want)
		}
	}
	room(0, "at first")
	b.Held(1, 6, nil, true)
	room(0, "after a beat that has not seen that claim")
	lost := b.claimed("", 1)
	b.Held(1, 7, []store.Lease{lost[0].Lease}, false)
	room(0, "while a job of it is held that the node does not know")
	if !b.Held(1, 7, nil, true) {
		t.Error("it is not told of the room")
	}
	room(3, "after it")

	b.count(&lost[0].Job, lost[0].Lease)
	room(2, "with a job that counts")
	b.Held(1, lost[0].Lease.Claim, nil, true)
	room(2, "after a beat that has not seen its claim")
	b.Held(1, lost[0].Lease.Claim+1, []store.Lease{lost[0].Lease}, true)
	room(2, "while it is held")
	b.Held(1, lost[0].Lease.Claim+1, nil, true)
	room(3, "when its lease is gone")
}

// TestNothingStartsWhileTooManyAreHeld: a node that hears that more slots are held than there are
// claims nothing, also when some of its own are free, until it has given these back.
func TestNothingStartsWhileTooManyAreHeld(t *testing.T) {
	b := newBed(t, 10)
	of := func(version int64, capacity int, holders ...store.Holder) []store.Limit {
		return []store.Limit{{
			ID: 1, Version: version, Name: "l", LimitSettings: store.LimitSettings{Capacity: capacity}, Holders: holders,
		}}
	}
	b.SetLimits(of(1, 3))
	b.Granted(1, b.Asks(1, b.now), []store.Grant{{Limit: 1, Slots: 3, Capacity: 3, Held: 3}})
	jobs := b.admit("", 3)
	b.SetLimits(of(2, 1, store.Holder{Node: 1, Slots: 3}))
	for i := range jobs[:2] {
		b.end(jobs[i])
		b.Over([]*store.Outcome{{Lease: jobs[i].Lease, Final: store.Completed}}, b.now)
	}
	b.expect("while one runs of three that are held", 0, 0)
	asks := b.Asks(1, b.now)
	if len(asks) != 1 || asks[0].Keep != 1 {
		t.Fatalf("it asks %+v", asks)
	}
	b.Granted(1, asks, []store.Grant{{Limit: 1, Slots: 1, Capacity: 1, Held: 1}})
	b.end(jobs[2])
	b.Over([]*store.Outcome{{Lease: jobs[2].Lease, Final: store.Completed}}, b.now)
	b.expect("when none runs of one that is held", 1, 1)
}

// TestWishesLast: slots that others have wanted are given back when they are no longer used,
// however long that takes; and who has got too few asks again for what others hold, but not at
// once.
func TestWishesLast(t *testing.T) {
	l := store.Limit{ID: 1, Version: 1, Name: "l", LimitSettings: store.LimitSettings{Capacity: 1}}
	holder, other := newBed(t, 10), newBed(t, 10)
	for b, slots := range map[*bed]int{holder: 1, other: 0} {
		b.SetLimits([]store.Limit{l})
		b.Granted(1, b.Asks(1, b.now), []store.Grant{{Limit: 1, Slots: slots, Capacity: 1, Held: 1}})
	}
	job := holder.admit("", 1)[0]
	holder.Wanted("l", holder.now)
	holder.now = holder.now.Add(time.Hour)
	holder.end(job)
	holder.Over([]*store.Outcome{{Lease: job.Lease, Final: store.Completed}}, holder.now)
	holder.empty()
	asks := holder.Asks(1, holder.now)
	if len(asks) != 1 || asks[0].Want != 0 {
		t.Fatalf("the one that holds it asks %+v", asks)
	}
	holder.Granted(1, asks, []store.Grant{{Limit: 1, Capacity: 1}})

	if asks := other.Asks(1, other.now); len(asks) != 0 {
		t.Errorf("the other asks again at once: %+v", asks)
	}
	other.now = other.now.Add(repeats)
	if asks := other.Asks(1, other.now); len(asks) != 1 || asks[0].Want == 0 {
		t.Errorf("the other asks %+v later", asks)
	}
}

// TestWhatIsOfNoUseIsNotAskedForAtOnce: a node that gives slots back, as it lacks those of another
// limit, does not ask for them again until something happens.
func TestWhatIsOfNoUseIsNotAskedForAtOnce(t *testing.T) {
	b := newBed(t, 10)
	b.SetLimits([]store.Limit{
		{ID: 1, Version: 1, Name: "l", LimitSettings: store.LimitSettings{Capacity: 4}},
		{ID: 2, Version: 1, Name: "m", LimitSettings: store.LimitSettings{Capacity: 4}},
	})
	b.Granted(1, b.Asks(1, b.now), []store.Grant{{Limit: 1, Slots: 4, Capacity: 4, Held: 4}, {Limit: 2, Slots: 0, Capacity: 4, Held: 4}})
	b.Wanted("l", b.now)
	asks := b.Asks(1, b.now)
	if len(asks) != 1 || asks[0].Limit != 1 || asks[0].Want != 0 {
		t.Fatalf("it asks %+v, want to give back what it cannot use", asks)
	}
	b.Granted(1, asks, []store.Grant{{Limit: 1, Slots: 0, Capacity: 4, Held: 0}})
	if asks := b.Asks(1, b.now); len(asks) > 0 {
		t.Errorf("it asks again: %+v", asks)
	}
	b.Freed("l")
	if asks := b.Asks(1, b.now); len(asks) != 1 {
		t.Errorf("when some are free it asks %+v", asks)
	}
}
