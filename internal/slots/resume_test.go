package slots

import (
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// TestADrainThatIsTakenBackIsAskedFor: a node that was told that the next permit comes in an hour,
// as its limit was drained, asks again when that was taken back, whether or not it has heard of the
// drain.
func TestADrainThatIsTakenBackIsAskedFor(t *testing.T) {
	for _, heard := range []bool{true, false} {
		b := newBed(t, 10)
		l := store.Limit{ID: 1, Version: 1, Name: "rate", LimitSettings: store.LimitSettings{
			Uncapped: true, Rate: &store.Rate{Count: 100, Per: time.Second, Burst: 10},
		}}
		if b.SetLimits([]store.Limit{l}); heard {
			l.DrainedUntil = b.now.Add(time.Hour)
			b.SetLimits([]store.Limit{l})
		}
		b.Heard("", b.now)
		b.Demand(b.now)
		asks, sent, _ := b.PermitAsks(b.now)
		if len(asks) != 1 {
			t.Fatalf("it asks %+v", asks)
		}
		b.Permitted(asks, []store.Permits{{Limit: 1, Period: 10 * time.Millisecond, Burst: 8, Next: time.Hour}}, sent)
		for len(b.PermitsWait()) > 0 {
			<-b.PermitsWait()
		}
		if asks, _, _ := b.PermitAsks(b.now); len(asks) > 0 {
			t.Fatalf("it asks %+v while the limit is drained", asks)
		}
		l.DrainedUntil = b.now
		b.SetLimits([]store.Limit{l})
		told := len(b.PermitsWait()) > 0
		if asks, _, _ := b.PermitAsks(b.now); !told || len(asks) != 1 {
			t.Errorf("when that was taken back, and it had heard of it: %t, it is told: %t, and asks %+v", heard, told, asks)
		}
	}
}
