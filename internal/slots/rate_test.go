package slots

import (
	"testing"
	"time"
)

func TestPaceFollowsWhatEnds(t *testing.T) {
	var p completionRate
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if n := p.ahead(now); n != 0 {
		t.Errorf("before anything ended %d jobs are expected", n)
	}
	for range 1000 { // one each 100 µs
		now = now.Add(100 * time.Microsecond)
		p.ended(now)
	}
	if n, expected := p.ahead(now), int(prefetchHorizon/(100*time.Microsecond)); n < expected*95/100 || n > expected*105/100 {
		t.Errorf("10,000 a second make %d jobs within the horizon, not %d", n, expected)
	}
	for range 600 { // whether a window has just begun or is nearly over
		now = now.Add(100 * time.Microsecond)
		p.ended(now)
		if n := p.ahead(now); n < 475 || n > 525 {
			t.Fatalf("10,000 a second make %d jobs within the horizon", n)
		}
	}
	now = now.Add(time.Second)
	if n := p.ahead(now); n > int(prefetchHorizon/(100*time.Microsecond))/10 {
		t.Errorf("a second after the last end %d jobs are expected", n)
	}
	for range 5 { // long jobs
		now = now.Add(time.Second)
		p.ended(now)
	}
	if n := p.ahead(now.Add(time.Millisecond)); n > 1 {
		t.Errorf("one end a second makes %d jobs within the horizon", n)
	}
}
