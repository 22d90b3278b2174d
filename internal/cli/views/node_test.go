package views

import (
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// TestSilentNode: a node that was killed is said to have been seen some time ago before it counts
// as dead.
func TestSilentNode(t *testing.T) {
	n := &store.Node{
		ID: 1, StartedAt: sampleTime, BeatAt: sampleTime, Info: store.NodeInfo{Name: "a", Namespace: "x", DeadAfter: 20 * time.Second},
	}
	for age, want := range map[time.Duration]struct {
		status, warning string
		alive, silent   bool
	}{
		10 * time.Second: {status: "alive", alive: true},
		12 * time.Second: {
			"alive, seen 12s ago",
			"node 1 (a) has sent no heartbeat for 12s; it counts as alive, and its jobs as running, for at least 8s more", true, true,
		},
		30 * time.Second: {"alive, seen 30s ago", "node 1 (a) has sent no heartbeat for 30s", true, true},
		31 * time.Second: {"silent, seen 31s ago", "node 1 (a) has sent no heartbeat for 31s", false, true},
	} {
		now := sampleTime.Add(age)
		v := NewNode(n, now)
		if status := NodeRow(now, n)[3]; status != want.status || v.Alive != want.alive || v.Silent != want.silent {
			t.Errorf("after %v it is %q, alive: %v, silent: %v; want %+v", age, status, v.Alive, v.Silent, want)
		}
		if got := SilentText(n, "x", now); got != want.warning || SilentText(n, "other", now) != "" {
			t.Errorf("after %v the warning is %q, want %q", age, got, want.warning)
		}
	}
	n.DeadAt = sampleTime
	if got := SilentText(n, "x", sampleTime.Add(time.Hour)); got != "" {
		t.Errorf("one that has ended: %s", got)
	}
}

// TestNodeEnds: a table says whether a node left or died, and of one that ended before stores noted
// that it says no more than it knows.
func TestNodeEnds(t *testing.T) {
	now := sampleTime.Add(5 * time.Minute)
	for end, want := range map[store.NodeEnd][2]string{
		store.NodeLeft: {"left 5m ago", "left"}, store.NodeDied: {"dead 5m ago", "dead"}, store.NodeEndUnknown: {"ended 5m ago", ""},
	} {
		n := &store.Node{ID: 1, StartedAt: sampleTime, BeatAt: sampleTime, DeadAt: sampleTime, Ended: end}
		if status, said := NodeRow(now, n)[3], string(NewNode(n, now).Ended); status != want[0] || said != want[1] {
			t.Errorf("%v is told as %q and %q, want %q", end, status, said, want)
		}
	}
}
