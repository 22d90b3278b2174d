package engine

import (
	"context"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/internal/replay"
	"github.com/holdfastdev/holdfast/store"
)

// TestAnOutageIsNoSilence: the time in which a run waits for the database is not that of its
// handler.
func TestAnOutageIsNoSilence(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		step := func(context.Context, int) ([]byte, error) { return []byte(`1`), nil }
		h := b.handle("k", func(_ context.Context, r Attempt) ([]byte, error) {
			for _, name := range []string{"first", "second"} {
				if _, err := r.Main().Step(name, replay.StepPolicy{}, step); err != nil {
					return nil, err
				}
			}
			return []byte(`1`), nil
		})
		h.Heartbeat, h.MaxAttempts = 10*time.Second, 1
		b.run()
		began := time.Now()
		b.st.hook(func(p *probe) {
			p.onApply = func(batch *store.Batch) error {
				if len(batch.Appends) > 0 && time.Since(began) < 5*time.Minute {
					return store.ErrUnavailable
				}
				return nil
			}
		})
		id := b.enqueue(b.job("k"))
		b.expect(b.wait(id), store.Completed, "")
		if took := time.Since(began); took < 5*time.Minute {
			t.Errorf("it took only %v", took)
		}
	})
}
