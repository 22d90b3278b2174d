package local

import (
	"testing"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// TestNotifierThatPanicsBeginsAgain: what it was sending is lost, as it may be, and nothing else
// is.
func TestNotifierThatPanicsBeginsAgain(t *testing.T) {
	s := &Store{DB: &pg.DB{}} // without a pool, which to send with panics
	s.Notifier.init(s)
	for _, queue := range []string{"first", "second"} {
		s.Notifier.Tell("me", []store.Wake{{Kind: store.WakeReady, Namespace: "default", Queue: queue}})
		s.Notifier.done.Wait()
		s.Notifier.mu.Lock()
		if s.Notifier.running || len(s.Notifier.pending) != 0 {
			t.Errorf("after %s: running %v, pending %v", queue, s.Notifier.running, s.Notifier.pending)
		}
		s.Notifier.mu.Unlock()
	}
	s.Notifier.stop()
}
