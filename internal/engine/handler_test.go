package engine

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// promised returns the policy of a kind that the node has written on joining.
func (b *bed) promised(kind string) store.Policy {
	b.t.Helper()
	nodes, err := b.st.Nodes(b.t.Context())
	if err != nil || len(nodes) != 1 {
		b.t.Fatalf("%d nodes, error %v", len(nodes), err)
	}
	return nodes[0].Info.Policies[kind]
}

// TestBackoffIsAskedForTheAttemptsThereAre: and for no others, because a function may look delays
// up in a list with as many elements as attempts.
func TestBackoffIsAskedForTheAttemptsThereAre(t *testing.T) {
	for attempts, want := range map[int][]int{1: nil, 3: {1, 2}, 0: upTo(store.DefaultMaxAttempts - 1), 1000: upTo(policySample)} {
		inBed(t, Config{}, func(b *bed) {
			var asked []int
			h := b.handle("k", ok)
			h.MaxAttempts = attempts
			h.BackoffFunc = func(attempt int) time.Duration { asked = append(asked, attempt); return time.Second }
			b.run()
			if !slices.Equal(asked, want) {
				t.Errorf("MaxAttempts %d: asked for %v instead of %v", attempts, asked, want)
			}
			if p := b.promised("k"); p.MaxAttempts != attempts || len(p.Delays) != len(want) {
				t.Errorf("MaxAttempts %d: the policy is %+v", attempts, p)
			}
		})
	}
}

func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i + 1
	}
	return all
}

// TestBackoffThatPanicsCostsNoPromise: the delays returned before the panic apply, here and for
// rescues; and the panic is not counted as Holdfast's.
func TestBackoffThatPanicsCostsNoPromise(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		var starts []time.Time
		h := b.handle("k", func(context.Context, Attempt) ([]byte, error) {
			starts = append(starts, time.Now())
			return nil, errBoom
		})
		h.MaxAttempts = 4
		delays := []time.Duration{time.Minute, 3 * time.Minute}
		h.BackoffFunc = func(attempt int) time.Duration { return delays[attempt-1] }
		b.run()
		if p := b.promised("k"); p.MaxAttempts != 4 || !slices.Equal(p.Delays, delays) {
			t.Errorf("the policy is %+v", p)
		}
		ended := b.wait(b.enqueue(b.job("k")))
		b.expect(ended, store.Failed, store.ReasonAttemptsExhausted)
		if ended.Error != "boom" || len(starts) != 4 {
			t.Fatalf("%d attempts, error %q", len(starts), ended.Error)
		}
		for i, want := range append(delays, delays[1]) {
			if gap := starts[i+1].Sub(starts[i]); gap < want || gap > want+250*time.Millisecond {
				t.Errorf("attempt %d began after %v instead of %v", i+2, gap, want)
			}
		}
		if h := b.runner().Health(); len(h.Troubles) != 0 {
			t.Errorf("troubles: %+v", h.Troubles)
		}
	})
}

// TestBackoffMayLookAtTheClient: like any user code.
func TestBackoffMayLookAtTheClient(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		looked := false
		h := b.handle("k", ok)
		h.BackoffFunc = func(int) time.Duration {
			looked = b.e.mu.TryLock() // as Health does
			if looked {
				b.e.mu.Unlock()
			}
			return time.Second
		}
		b.run()
		synctest.Wait()
		if !looked {
			t.Error("the engine is locked while a backoff is asked")
		}
	})
}
