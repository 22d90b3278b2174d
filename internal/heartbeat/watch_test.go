package heartbeat

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// watched calls f with a watch of ten seconds, and reports when it called late; 0: never.
func watched(t *testing.T, f func(w *Watch)) time.Duration {
	t.Helper()
	var late atomic.Int64
	synctest.Test(t, func(*testing.T) {
		began := time.Now()
		w := Begin(10*time.Second, func() {
			if late.Swap(int64(time.Since(began))) != 0 {
				t.Error("late was called twice")
			}
		})
		f(w)
		w.Stop()
		time.Sleep(time.Hour)
	})
	return time.Duration(late.Load())
}

func TestSilenceIsFound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		f    func(w *Watch)
		late time.Duration
	}{
		"no beat":        {func(*Watch) { time.Sleep(time.Minute) }, 10 * time.Second},
		"it ends before": {func(*Watch) { time.Sleep(9 * time.Second) }, 0},
		"beats, and then none": {func(w *Watch) {
			for range 6 {
				time.Sleep(9 * time.Second)
				w.Beat()
			}
			time.Sleep(time.Minute)
		}, 64 * time.Second},
		"beats to the end": {func(w *Watch) {
			for range 60 {
				time.Sleep(9 * time.Second)
				w.Beat()
			}
		}, 0},
		"a wait that is held": {func(w *Watch) {
			time.Sleep(5 * time.Second)
			w.Hold()
			time.Sleep(33 * time.Second)
			w.Release()
			time.Sleep(time.Minute)
		}, 48 * time.Second},
		"two waits that overlap": {func(w *Watch) {
			w.Hold()
			time.Sleep(15 * time.Second)
			w.Hold()
			time.Sleep(15 * time.Second)
			w.Release()
			time.Sleep(30 * time.Second)
			w.Release()
			time.Sleep(9 * time.Second)
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if late := watched(t, c.f); late != c.late {
				t.Errorf("late after %v, want %v", late, c.late)
			}
		})
	}
}

// TestNothingIsWatched: a nil Watch takes everything and does nothing.
func TestNothingIsWatched(t *testing.T) {
	var w *Watch
	if n := testing.AllocsPerRun(10, func() { w.Beat(); w.Hold(); w.Release(); w.Stop() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestAFrozenProcessIsNoSilence: a timer that comes long after its time says that the whole process
// stood still. The code gets the limit once more.
func TestAFrozenProcessIsNoSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var late atomic.Int64
		w := Begin(10*time.Second, func() { late.Store(int64(time.Since(began))) })
		w.mu.Lock()
		w.timer.Reset(13 * time.Second) // as if it had slept through its time
		w.mu.Unlock()
		time.Sleep(time.Hour)
		if late := time.Duration(late.Load()); late != 23*time.Second {
			t.Errorf("late after %v", late)
		}
	})
}
