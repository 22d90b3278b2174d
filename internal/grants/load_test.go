package grants

import (
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/internal/slots"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

// TestReadingManyLimitsIsBounded: where it takes long, limits are read again only after nine times
// as long, but not later than without a change; where it does not, at once.
func TestReadingManyLimitsIsBounded(t *testing.T) {
	l := New(Parts{Every: func() time.Duration { return 10 * time.Hour }})
	if wait := l.untilLoad(); wait > 0 {
		t.Errorf("before limits were read it waits for %v", wait)
	}
	l.loaded, l.took = time.Now(), slowLoad-1
	if wait := l.untilLoad(); wait > 0 {
		t.Errorf("after a quick one it waits for %v", wait)
	}
	l.took = time.Hour
	if wait := l.untilLoad(); wait <= 8*time.Hour || wait > 9*time.Hour {
		t.Errorf("after one of an hour it waits for %v, want nine hours", wait)
	}
	l.took = 5 * time.Hour // in an outage
	if wait := l.untilLoad(); wait <= 9*time.Hour || wait > 10*time.Hour {
		t.Errorf("after one of five hours it waits for %v, want the ten hours of a look without a change", wait)
	}
	l.loaded = l.loaded.Add(-11 * time.Hour)
	if wait := l.untilLoad(); wait > 0 {
		t.Errorf("eleven hours later it waits for %v", wait)
	}
}

// TestWantedSlotsAreLookedAt: who holds slots that others want is told to look whether it needs
// them.
func TestWantedSlotsAreLookedAt(t *testing.T) {
	told := 0
	l := New(Parts{
		Slots: slots.New(slots.Config{Size: 1}), Store: model.New(time.Now), Free: func() { told++ },
	})
	l.Heard(store.Wake{Kind: store.WakeSlotsWanted, Queue: "l"})
	if told != 1 {
		t.Errorf("it is told %d times", told)
	}
}
