package remote

import (
	"testing"
	"time"
)

// TestDoubt: a token that was accepted may be so again for a minute from its first refusal on.
func TestDoubt(t *testing.T) {
	t.Parallel()
	var d doubt
	now := time.Now()
	for i, step := range []struct {
		after    time.Duration
		accepted bool
		holds    bool
	}{{0, false, true}, {59 * time.Second, false, true}, {2 * time.Second, false, false}, {0, true, false}, {0, false, true}} {
		now = now.Add(step.after)
		if step.accepted {
			d.over()
		} else if d.holds(now) != step.holds {
			t.Errorf("step %d: it holds: %v", i, !step.holds)
		}
	}
}
