package slots

import (
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// fairBed is the bed of a node that holds and uses four slots of a fair limit of four.
func fairBed(t *testing.T) (*bed, []store.Claimed) {
	t.Helper()
	b := newBed(t, 10)
	b.SetLimits([]store.Limit{{ID: 1, Version: 1, Name: "l", LimitSettings: store.LimitSettings{Capacity: 4, Fair: true}}})
	b.answer(10, store.Grant{Limit: 1, Slots: 4, Capacity: 4, Held: 4, Part: 4})
	start := b.admit("", 4)
	for _, c := range start {
		b.begin(c)
	}
	b.Freed("l")
	return b, start
}

// answer answers the one ask that there is, which wants so many.
func (b *bed) answer(want int, g store.Grant) (freed, short []string) {
	b.t.Helper()
	asks := b.Asks(1, b.now)
	if len(asks) != 1 || asks[0].Want != want {
		b.t.Fatalf("it asks %+v, want one ask for %d", asks, want)
	}
	freed, short, _ = b.Granted(1, asks, []store.Grant{g})
	return freed, short
}

func (b *bed) over(c store.Claimed) {
	b.end(c)
	b.Over([]*store.Outcome{{Lease: c.Lease, Final: store.Completed}}, b.now)
}

// TestANodeOverItsPartGivesBack: what a job leaves that ends is not used again, but given back,
// though nobody has said again that slots are wanted; and the node says how many it still wishes
// for: its slots, and those that jobs will leave as soon as these ended. Others are not told that
// it got too few.
func TestANodeOverItsPartGivesBack(t *testing.T) {
	b, start := fairBed(t)
	b.answer(10, store.Grant{Limit: 1, Slots: 4, Capacity: 4, Held: 4, Part: 2})
	b.Freed("l")
	if asks := b.Asks(1, b.now); len(asks) > 0 {
		t.Fatalf("it asks %+v while its jobs run", asks)
	}
	b.over(start[0])
	b.expect("when a job has ended", 0, 0)
	freed, short := b.answer(11, store.Grant{Limit: 1, Slots: 3, Capacity: 4, Held: 4, Part: 2})
	if len(freed) != 1 || len(short) > 0 {
		t.Errorf("freed %v, short %v", freed, short)
	}
	b.over(start[1])
	b.answer(12, store.Grant{Limit: 1, Slots: 2, Capacity: 4, Held: 4, Part: 2})
	b.over(start[2])
	b.expect("within its part", 1, 1)
	if asks := b.Asks(1, b.now); len(asks) > 0 {
		t.Errorf("within its part it asks %+v", asks)
	}
}

// TestAWishThatIsNoneIsTakenBack: a node that would have more slots, and is to be quiet then, says
// so if others want some.
func TestAWishThatIsNoneIsTakenBack(t *testing.T) {
	b, _ := fairBed(t)
	b.answer(10, store.Grant{Limit: 1, Slots: 4, Capacity: 4, Held: 4, Part: 4})
	b.SetQuiet(true)
	if asks := b.Asks(1, b.now); len(asks) > 0 {
		t.Fatalf("it asks %+v while nobody wants slots", asks)
	}
	b.Wanted("l", b.now)
	b.answer(4, store.Grant{Limit: 1, Slots: 4, Capacity: 4, Held: 4, Part: 3})
	if asks := b.Asks(1, b.now); len(asks) > 0 {
		t.Errorf("it asks again: %+v", asks)
	}
}

// TestAWishIsRepeated: a node that got too few slots says so again with a look, but not with each;
// others are told once.
func TestAWishIsRepeated(t *testing.T) {
	b := newBed(t, 10)
	at := time.Duration(0)
	b.elapsed = func() time.Duration { return at }
	l := store.Limit{ID: 1, Version: 1, Name: "l", LimitSettings: store.LimitSettings{Capacity: 4, Fair: true}}
	l.Holders, l.Wishes = []store.Holder{{Node: 1, Slots: 2}, {Node: 2, Slots: 2}}, []store.Holder{{Node: 1, Slots: 10}, {Node: 2, Slots: 10}}
	b.SetLimits([]store.Limit{l})
	got := store.Grant{Limit: 1, Slots: 2, Capacity: 4, Held: 4, Part: 2}
	if _, short := b.answer(10, got); len(short) != 1 {
		t.Error("others are not told")
	}
	for _, c := range []struct {
		after time.Duration
		asks  int
	}{{time.Second, 0}, {repeatWish, 1}, {time.Second, 0}, {repeatWish, 1}} {
		at += c.after
		if b.SetLimits([]store.Limit{l}); len(b.Asks(1, b.now)) != c.asks {
			t.Fatalf("at %v it does not ask %d times", at, c.asks)
		}
		if c.asks > 0 {
			asks := []store.LimitAsk{{Limit: 1, Version: 1, Keep: 2, Want: 10}}
			if _, short, _ := b.Granted(1, asks, []store.Grant{got}); len(short) > 0 {
				t.Error("others are told again")
			}
		}
	}
}

// TestNoSlotsAreTakenBesideAFairLimitWithoutAPart: slots of a limit are of no use while the node
// has no part in another one that its jobs count in. The nodes that have one need them: else these
// would give theirs back, and none would get on.
func TestNoSlotsAreTakenBesideAFairLimitWithoutAPart(t *testing.T) {
	b := newBed(t, 5)
	limits := []store.Limit{
		{ID: 1, Version: 1, Name: "plain", LimitSettings: store.LimitSettings{Capacity: 1}},
		{ID: 2, Version: 1, Name: "fair", LimitSettings: store.LimitSettings{Capacity: 1, Fair: true}},
	}
	b.member = 2
	limits[1].Wishes = []store.Holder{{Node: 1, Slots: 5}} // which comes before this one
	b.SetLimits(limits)
	for _, a := range b.Asks(2, b.now) {
		if a.Limit == 1 {
			t.Errorf("it asks for %d slots that it cannot use", a.Want)
		}
	}
	limits[0].Fair, limits[0].Wishes, limits[0].Version = true, limits[1].Wishes, 2
	b.SetLimits(limits)
	if asks := b.Asks(2, b.now); len(asks) != 2 {
		t.Errorf("without a part in either it says that it wishes for %+v", asks)
	}
	for _, l := range b.limits {
		l.keep = notAsking
	}
	limits[0].Fair, limits[0].Wishes, limits[0].Version = false, nil, 3
	limits[1].Wishes = nil
	b.SetLimits(limits)
	if asks := b.Asks(2, b.now); len(asks) == 0 || asks[0].Limit != 1 {
		t.Errorf("as it has a part it asks %+v", asks)
	}
}
