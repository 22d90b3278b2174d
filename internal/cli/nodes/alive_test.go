package nodes

import (
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
)

// TestIsAlive: systemd is told that a node is alive while it beats, or cannot for want of the
// database; one that stands still is started again.
func TestIsAlive(t *testing.T) {
	t.Parallel()
	at := time.Now()
	for what, test := range map[string]struct {
		h    holdfast.Health
		want bool
	}{
		"not begun":     {holdfast.Health{}, true},
		"no beat yet":   {holdfast.Health{Node: 1, Silent: time.Hour}, true},
		"beats":         {holdfast.Health{Node: 1, BeatAt: at, Silent: 4 * time.Second, DeadAfter: 20 * time.Second}, true},
		"late":          {holdfast.Health{Node: 1, BeatAt: at, Silent: 20 * time.Second, DeadAfter: 20 * time.Second}, true},
		"stands still":  {holdfast.Health{Node: 1, BeatAt: at, Silent: 21 * time.Second, DeadAfter: 20 * time.Second}, false},
		"database away": {holdfast.Health{Node: 1, BeatAt: at, Silent: time.Hour, DeadAfter: 20 * time.Second, AwaySince: at}, true},
	} {
		if got := isAlive(&test.h); got != test.want {
			t.Errorf("%s: %t", what, got)
		}
	}
}
