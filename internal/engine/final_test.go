package engine

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/internal/await"
	"github.com/holdfastdev/holdfast/store"
)

// TestRunWhoseLastPortionIsRefusedIsAnAttempt: it fails like any other attempt: the job waits for
// its backoff, and its attempts are limited.
func TestRunWhoseLastPortionIsRefusedIsAnAttempt(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		var runs atomic.Int64
		h := b.handle("d", func(_ context.Context, r Attempt) ([]byte, error) {
			runs.Add(1)
			s := r.Main()
			for range 600 { // more than one portion, written only at the end
				if _, err := s.TryReceive(&await.Signal{Name: "x"}); err != nil {
					return nil, err
				}
			}
			return []byte(`1`), nil
		})
		h.MaxAttempts, h.Backoff = 3, store.Backoff{Base: time.Minute, Cap: time.Minute}
		b.st.hook(func(p *probe) {
			p.onApply = func(batch *store.Batch) error {
				if len(batch.Appends) > 0 {
					return fmt.Errorf("%w: of its own making", store.ErrInvalid)
				}
				return nil
			}
		})
		b.run()
		began := time.Now()
		id := b.enqueue(b.job("d"))
		time.Sleep(30 * time.Second)
		if runs.Load() != 1 {
			t.Errorf("it ran %d times before its backoff was over", runs.Load())
		}
		b.expect(b.wait(id), store.Failed, store.ReasonAttemptsExhausted)
		if took := time.Since(began); runs.Load() != 3 || took < 2*time.Minute || took > 3*time.Minute {
			t.Errorf("it ran %d times in %v", runs.Load(), took)
		}
		if rec := b.get(id); len(rec.Attempts) != 3 || rec.Attempts[0].Reason != store.ReasonError {
			t.Errorf("attempts: %+v", rec.Attempts)
		}
	})
}
