package engine

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// set sets something of the queue while the node runs, and waits until it has heard of it.
func (b *bed) set(set store.AttemptSettings, unset store.Setting) {
	b.t.Helper()
	p := store.SetQueueParams{Namespace: "default", Queue: "default", Set: set, Unset: unset, Actor: "ada"}
	if _, err := b.e.SetQueue(b.t.Context(), p); err != nil {
		b.t.Fatal(err)
	}
	time.Sleep(time.Second) // after another one
	synctest.Wait()
}

// TestQueueSaysHowOftenAndWhen: what is set while a job waits for its second attempt holds for that
// one and those after it, and what is unset no longer does.
func TestQueueSaysHowOftenAndWhen(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		var mu sync.Mutex // two jobs run at once
		var starts []time.Time
		h := b.handle("k", func(context.Context, Attempt) ([]byte, error) {
			mu.Lock()
			defer mu.Unlock()
			starts = append(starts, time.Now())
			return nil, errBoom
		})
		h.MaxAttempts = 9
		h.BackoffFunc = func(int) time.Duration { return time.Minute }
		b.run()
		id := b.enqueue(b.job("k"))
		own := b.enqueue(b.job("k", func(e *store.Enqueue) { e.Job.MaxAttempts = 1 }))
		b.expect(b.wait(own), store.Failed, store.ReasonAttemptsExhausted)
		for b.get(id).State != store.Retryable { // its backoff is that of the handler
			time.Sleep(time.Millisecond)
		}
		b.set(store.AttemptSettings{MaxAttempts: 3, Backoff: store.Backoff{Base: 20 * time.Minute, Cap: time.Hour}}, 0)
		b.expect(b.wait(id), store.Failed, store.ReasonAttemptsExhausted)
		if len(starts) != 4 { // one of the job that has its own
			t.Fatalf("%d attempts", len(starts))
		}
		for want, gap := range map[time.Duration]time.Duration{
			time.Minute: starts[2].Sub(starts[0]), 40 * time.Minute: starts[3].Sub(starts[2]), // the second one of the backoff
		} {
			if gap < want || gap > want+time.Second {
				t.Errorf("the next attempt began after %v instead of %v", gap, want)
			}
		}
		b.set(store.AttemptSettings{}, store.SettingMaxAttempts|store.SettingBackoff)
		starts = nil
		b.wait(b.enqueue(b.job("k")))
		if len(starts) != 9 || starts[8].Sub(starts[0]) > 9*time.Minute {
			t.Errorf("%d attempts in %v as the handler says", len(starts), starts[len(starts)-1].Sub(starts[0]))
		}
	})
}

// TestQueueSaysHowLong: a timeout, and for how long an attempt may be silent, hold for those that
// begin; an attempt that has begun is left alone.
func TestQueueSaysHowLong(t *testing.T) {
	for reason, set := range map[store.Reason]store.AttemptSettings{
		store.ReasonTimeout: {Timeout: time.Minute}, store.ReasonHeartbeat: {Heartbeat: time.Minute},
	} {
		inBed(t, Config{}, func(b *bed) {
			h := b.handle("k", func(ctx context.Context, r Attempt) ([]byte, error) {
				select {
				case <-ctx.Done():
					return until(ctx, r)
				case <-time.After(time.Hour):
					return []byte(`1`), nil
				}
			})
			h.MaxAttempts, h.Timeout = 1, 2*time.Hour
			b.run()
			begun := b.enqueue(b.job("k"))
			synctest.Wait()
			b.set(set, 0)
			later := b.enqueue(b.job("k"))
			began := time.Now()
			b.expect(b.wait(later), store.Failed, reason)
			if took := time.Since(began); took < time.Minute || took > time.Minute+2*time.Second {
				t.Errorf("it ended after %v", took)
			}
			b.expect(b.wait(begun), store.Completed, "")
		})
	}
}

// TestQueueIsKnownBeforeTheFirstJob: what was set before the node has begun, without a wake-up.
func TestQueueIsKnownBeforeTheFirstJob(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		b.handle("k", func(context.Context, Attempt) ([]byte, error) { return nil, errBoom })
		id := b.enqueue(b.job("k"))
		p := store.SetQueueParams{Namespace: "default", Queue: "default", Set: store.AttemptSettings{MaxAttempts: 1}}
		if _, err := b.st.SetQueue(b.t.Context(), p); err != nil {
			t.Fatal(err)
		}
		b.run()
		b.expect(b.wait(id), store.Failed, store.ReasonAttemptsExhausted)
		if n := b.get(id).Attempt; n != 1 {
			t.Errorf("%d attempts", n)
		}
	})
}
