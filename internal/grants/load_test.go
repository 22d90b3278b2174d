package grants

import (
	"testing"
	"time"
)

// TestReadingManyLimitsIsBounded: where it takes long, limits are read again only after nine times
// as long; where it does not, at once.
func TestReadingManyLimitsIsBounded(t *testing.T) {
	l := New(Parts{})
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
	l.loaded = l.loaded.Add(-10 * time.Hour)
	if wait := l.untilLoad(); wait > 0 {
		t.Errorf("ten hours later it waits for %v", wait)
	}
}
