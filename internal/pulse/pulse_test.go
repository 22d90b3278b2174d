package pulse

import (
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// watcher is a leader, and what it observes of one other node.
type watcher struct {
	*testing.T
	Detector
	now  time.Time // the monotonic clock
	db   time.Time // the database's clock
	at   time.Time // the stamp of the other's last beat
	lead bool
}

func newWatcher(t *testing.T) *watcher {
	t.Helper()
	w := &watcher{T: t, Detector: NewDetector(5*time.Second, 20*time.Second), lead: true}
	w.now, w.db = time.Unix(1_000, 0), time.Unix(1_000_000, 0)
	w.at = w.db
	return w
}

// beats advances both clocks by n beats, and checks whether the other is found dead.
func (w *watcher) beats(n int, alive, dead bool) {
	w.Helper()
	for i := range n {
		w.now, w.db = w.now.Add(w.beat), w.db.Add(w.beat)
		if alive {
			w.at = w.db.Add(-time.Second)
		}
		found := w.See(w.now, store.Beat{Leader: w.lead, At: w.db, Nodes: []store.NodeBeat{{Node: 7, At: w.at}}})
		if is := len(found) > 0; is != (dead && i == n-1) {
			w.Fatalf("beat %d: dead is %v", i+1, is)
		}
	}
}

func TestSilentNodeIsDead(t *testing.T) {
	w := newWatcher(t)
	w.beats(10, true, false)
	w.beats(3, false, false)
	w.beats(1, false, true)
}

func TestNewLeaderWatchesForTwoBeats(t *testing.T) {
	w := newWatcher(t)
	w.at = w.db.Add(-time.Hour)
	w.beats(2, false, false)
	w.beats(1, false, true)
}

// TestNewLeaderAfterTheClockJumped: the jump has ended the lease of the leader, so the next node to
// beat leads, and the stamps of all others are from before the jump.
func TestNewLeaderAfterTheClockJumped(t *testing.T) {
	for name, jump := range map[string]time.Duration{"back": -time.Hour, "forward": time.Hour} {
		t.Run(name, func(t *testing.T) {
			w := newWatcher(t)
			w.lead = false
			w.beats(10, true, false)
			w.db = w.db.Add(jump)
			w.lead = true
			w.beats(3, false, false) // 15 seconds after its last beat
			w.beats(5, true, false)
			w.beats(3, false, false)
			w.beats(1, false, true)
		})
	}
}

// TestLeaderDiesWithItsJobs: the next leader finds the dead one as soon as any other node.
func TestLeaderDiesWithItsJobs(t *testing.T) {
	w := newWatcher(t)
	w.lead = false
	w.beats(10, true, false)
	w.beats(1, false, false)
	w.lead = true
	w.beats(2, false, false)
	w.beats(1, false, true) // 21 seconds after the last stamp
}

func TestOwnBeatsAreNotKeptForEver(t *testing.T) {
	w := newWatcher(t)
	w.beats(1000, true, false)
	if n := len(w.own); n > 12 {
		t.Errorf("%d of our own beats are kept", n)
	}
}

func TestLeaderAfterAnOutageLetsTheOthersBeat(t *testing.T) {
	w := newWatcher(t)
	w.beats(10, true, false)
	// No node can beat for ten minutes; then this one can, and the other a little later.
	w.now, w.db = w.now.Add(10*time.Minute), w.db.Add(10*time.Minute)
	w.beats(2, false, false)
	w.beats(5, true, false)
	// If the other does not beat, it is dead.
	w.now, w.db = w.now.Add(10*time.Minute), w.db.Add(10*time.Minute)
	w.beats(3, false, false)
	w.beats(1, false, true)
}

func TestClockThatJumpsKillsNobodyAndHidesNobody(t *testing.T) {
	for name, jump := range map[string]time.Duration{"back": -time.Hour, "forward": time.Hour} {
		t.Run(name, func(t *testing.T) {
			w := newWatcher(t)
			w.beats(10, true, false)
			w.db = w.db.Add(jump)
			w.beats(10, true, false)
			w.db = w.db.Add(jump) // and then it dies
			w.beats(3, false, false)
			w.beats(1, false, true)
		})
	}
}

func TestWhoDoesNotLeadJudgesNobody(t *testing.T) {
	w := newWatcher(t)
	w.lead = false
	w.beats(20, false, false)
	w.lead, w.at = true, w.db
	w.beats(2, false, false)
}
