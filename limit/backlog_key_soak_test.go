//go:build soak

package limit_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/limit"
	"github.com/holdfastdev/holdfast/store"
)

// TestBacklogOfKeyIsExact: producers of one client, of the same keys in any order, never exceed the
// bound of any key while they wait for room and workers work, and all get through.
func TestBacklogOfKeyIsExact(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		const most = 3
		keys := []string{"a", "b", "c"}
		hf := open(t, source, limit.BacklogOfKeyWait("mail", most), limit.BacklogWait("mail", 7), holdfast.WithSlots(5))
		if err := light.Handle(hf, func(*holdfast.Run, time.Duration) error { return nil }); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		var producers sync.WaitGroup
		var through atomic.Int64
		for i := range 6 {
			producers.Go(func() {
				for n := range 4 {
					if _, err := hf.EnqueueBatch(ctx, mail(keys[i%3], keys[(i+n)%3])); err != nil {
						t.Error(err)
						return
					}
					through.Add(1)
				}
			})
		}
		eventually(t, "some are let through, without workers", func() bool { return through.Load() >= 3 })
		if err := hf.Start(ctx); err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() { producers.Wait(); close(done) }()
		for ended := false; !ended; {
			select {
			case <-done:
				ended = true
			default:
			}
			for i, n := range waitingOf(t, source, keys...) {
				if n > most {
					t.Fatalf("%d jobs of the key %s wait", n, keys[i])
				}
			}
		}
	})
}
