package postgres

import (
	"testing"

	"github.com/holdfastdev/holdfast/store"
)

// TestNotifierThatPanicsBeginsAgain: what it was sending is lost, as it may be, and nothing else is.
func TestNotifierThatPanicsBeginsAgain(t *testing.T) {
	s := &localStore{database: &database{}} // without a pool, which to send with panics
	s.notifier.init(s)
	for _, queue := range []string{"first", "second"} {
		s.notifier.tell("me", []store.Wake{{Kind: store.WakeReady, Namespace: "default", Queue: queue}})
		s.notifier.done.Wait()
		s.notifier.mu.Lock()
		if s.notifier.running || len(s.notifier.pending) != 0 {
			t.Errorf("after %s: running %v, pending %v", queue, s.notifier.running, s.notifier.pending)
		}
		s.notifier.mu.Unlock()
	}
	s.notifier.stop()
}
