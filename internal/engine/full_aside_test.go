package engine

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// TestOutcomesThatWaitAreNotWithoutNumber: at the limit of blocked outcomes the node takes no more
// jobs, neither by claims nor by fast starts; then everything goes on.
func TestOutcomesThatWaitAreNotWithoutNumber(t *testing.T) {
	const most = 20
	inBed(t, Config{Node: NodeConfig{Slots: 4, maxAside: most}}, func(b *bed) {
		var runs atomic.Int64
		b.handle("k", func(context.Context, Attempt) ([]byte, error) { runs.Add(1); return nil, nil })
		b.run()
		h := &held{ends: map[store.ID]bool{}}
		var jobs []*store.Enqueue
		for range 20 * most {
			jobs = append(jobs, b.job("k"))
			h.ends[jobs[len(jobs)-1].Job.ID] = true
		}
		b.st.hook(func(p *probe) { p.instead = h.apply(b) })
		for _, q := range jobs {
			b.enqueue(q)
			time.Sleep(50 * time.Millisecond)
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if n := runs.Load(); n < most || n > 2*most {
			t.Errorf("%d jobs ran whose outcomes cannot be stored", n)
		}
		h.open.Store(true)
		for _, q := range jobs {
			b.expect(b.wait(q.Job.ID), store.Completed, "")
			if rec := b.get(q.Job.ID); rec.Attempt != 1 {
				t.Errorf("attempt %d: %+v", rec.Attempt, rec.Attempts)
			}
		}
		if n, _ := b.runner().node.slots.Aside(); n != 0 {
			t.Errorf("%d outcomes are still counted", n)
		}
	})
}
