package grants

import (
	"testing"
	"time"
)

// TestGap: calls take a fifth of the time, and a few in a row are not waited for.
func TestGap(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, took := range []time.Duration{0, 100 * time.Microsecond, 3 * time.Millisecond, 12 * time.Millisecond, time.Second} {
		var g gap
		now, inCalls, atOnce := began, time.Duration(0), 0
		for range 1000 {
			now, inCalls = now.Add(took), inCalls+took
			wait := g.after(took, now)
			if wait < leastGap || wait > mostGap {
				t.Fatalf("after a call of %v it waits %v", took, wait)
			}
			if wait == leastGap && now.Sub(began) < credit/2 {
				atOnce++
			}
			now = now.Add(wait)
		}
		if most := (now.Sub(began) + 2*credit) / (gapShare + 1); gapShare*took <= mostGap && inCalls > most {
			t.Errorf("calls of %v take %v of %v", took, inCalls, now.Sub(began))
		}
		if took <= 3*time.Millisecond && atOnce < 3 {
			t.Errorf("of calls of %v only %d are made at once", took, atOnce)
		}
	}
}
