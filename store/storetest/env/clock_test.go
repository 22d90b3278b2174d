package env

import (
	"testing"
	"time"
)

func TestClockMovesOnlyWhenTold(t *testing.T) {
	t.Parallel()
	c := NewClock()
	if !c.Now().Equal(Start) || !c.Now().Equal(c.Now()) {
		t.Fatalf("it is %v", c.Now())
	}
	if got := c.Advance(1500 * time.Nanosecond); !got.Equal(Start.Add(time.Microsecond)) || !c.Now().Equal(got) {
		t.Fatalf("it is %v", c.Now())
	}
	c.Set(Start.Add(999).In(time.FixedZone("", 3600)))
	if !c.Now().Equal(Start) || c.Now().Location() != time.UTC {
		t.Fatalf("it is %v", c.Now())
	}
	if got := c.Advance(-time.Hour); !got.Equal(Start.Add(-time.Hour)) {
		t.Fatalf("it is %v", got)
	}
}
