//go:build soak

package engine

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// TestABusyNodeFindsOtherQueues: a node that claims all the time finds a job of which no wake-up
// has told, as when its queue has rested, in a queue that it has not heard of.
func TestABusyNodeFindsOtherQueues(t *testing.T) {
	patternBed(t, 5, func(b *bed) {
		var other atomic.Bool
		var ran atomic.Int64
		b.handle("k", func(_ context.Context, r Attempt) ([]byte, error) {
			if onNode(r).Job().Queue == "t-b" {
				other.Store(true)
				return nil, nil
			}
			time.Sleep(time.Duration(1+7*(ran.Add(1)%7)) * time.Millisecond) // so that a slot is free every other moment
			return nil, nil
		})
		var all []*store.Enqueue
		for i := range 1300 {
			all = append(all, b.job("k", inQueue("t-a"), func(e *store.Enqueue) {
				e.Job.ID[15], e.Job.ID[14] = byte(i), byte(i>>8)
			}))
		}
		b.run()
		b.enqueue(all...)
		time.Sleep(time.Second)
		untold := &store.Batch{Enqueues: []*store.Enqueue{b.job("k", inQueue("t-b"))}}
		if err := b.st.Store.Apply(b.t.Context(), untold); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * lookEvery)
		if ran.Load() == int64(len(all)) {
			t.Fatal("the node is not busy any more")
		}
		if !other.Load() {
			t.Error("the job of the other queue has not run")
		}
	})
}

// TestManyQueuesHeardOf: however many queues a node knows of, the next job of one begins when the
// one before has ended.
func TestManyQueuesHeardOf(t *testing.T) {
	patternBed(t, 1, func(b *bed) {
		var ran atomic.Int64
		b.handle("k", func(_ context.Context, r Attempt) ([]byte, error) {
			if onNode(r).Job().Queue == "t-x" {
				time.Sleep(2 * time.Second)
				ran.Add(1)
			}
			return nil, nil
		})
		b.run()
		for i := range 1100 {
			b.enqueue(b.job("k", inQueue(fmt.Sprint("t-", i))))
		}
		for range 8 {
			b.enqueue(b.job("k", inQueue("t-x")))
		}
		time.Sleep(17 * time.Second)
		if ran.Load() < 8 {
			t.Errorf("%d of 8 jobs of 2 s have run in 17 s, want all", ran.Load())
		}
	})
}
