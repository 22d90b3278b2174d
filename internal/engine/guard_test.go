package engine

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestPanicOfACallLeavesNothingDown: only a loop is down until it restarts; a call is simply made
// again when needed.
func TestPanicOfACallLeavesNothingDown(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		g := b.e.guard
		if !g.Try("wake-ups", func() { panic("once") }) {
			t.Error("the panic was not told")
		}
		if g.Try("answers", func() {}) {
			t.Error("a panic was told that did not happen")
		}
		h := b.runner().Health()
		if len(h.Troubles) != 1 || h.Troubles[0].Part != "wake-ups" || h.Troubles[0].Panics != 1 || h.Troubles[0].Down {
			t.Errorf("troubles: %+v", h.Troubles)
		}
	})
}

// TestLoopIsDownUntilItBeginsAgain: even if another part panics meanwhile.
func TestLoopIsDownUntilItBeginsAgain(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		g := b.e.guard
		ctx, cancel := context.WithCancel(b.t.Context())
		defer cancel()
		runs := 0
		go g.Supervise(ctx, "a loop", func(ctx context.Context) {
			if runs++; runs == 1 {
				panic("once")
			}
			<-ctx.Done()
		})
		synctest.Wait()
		g.Try("a loop", func() { panic("while it rests") })
		if h := b.runner().Health(); len(h.Troubles) != 1 || !h.Troubles[0].Down {
			t.Errorf("while it rests: %+v", h.Troubles)
		}
		time.Sleep(time.Second)
		if h := b.runner().Health(); len(h.Troubles) != 1 || h.Troubles[0].Down || h.Troubles[0].Panics != 2 {
			t.Errorf("when it runs again: %+v", h.Troubles)
		}
	})
}

// TestLoopThatRanWellBeginsAgainSoon: the backoff starts over after a long time without a panic.
func TestLoopThatRanWellBeginsAgainSoon(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		ctx, cancel := context.WithCancel(b.t.Context())
		defer cancel()
		ranFor := []time.Duration{0, 0, 0, 0, 0, 0, time.Hour, 0}
		var rests []time.Duration
		ended := time.Now()
		b.e.guard.Supervise(ctx, "a loop", func(context.Context) {
			rests = append(rests, time.Since(ended))
			if len(ranFor) == 0 {
				return
			}
			time.Sleep(ranFor[0])
			ranFor, ended = ranFor[1:], time.Now()
			panic("again")
		})
		rests = rests[1:] // no wait before the first run
		if !slices.IsSorted(rests[:6]) || rests[5] < 2*time.Second {
			t.Errorf("rests of a loop that keeps panicking: %v", rests[:6])
		}
		if rests[6] > time.Second || rests[7] < rests[6] {
			t.Errorf("rests after an hour of good running: %v", rests[6:])
		}
	})
}
