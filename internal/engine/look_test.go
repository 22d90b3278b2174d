package engine

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// patternBed is a bed with a node of ten slots that serves queues by pattern.
func patternBed(t *testing.T, slots int, test func(*bed)) {
	t.Helper()
	cfg := Config{}
	cfg.Node.Slots, cfg.Node.Queues = 10, []store.QueueDemand{{Name: "t-*", Limit: slots}}
	inBed(t, cfg, test)
}

func inQueue(name string) func(*store.Enqueue) {
	return func(e *store.Enqueue) { e.Job.Queue = name }
}

// TestJobsRunWhileALookFails: of queues that a node hears of.
func TestJobsRunWhileALookFails(t *testing.T) {
	patternBed(t, 0, func(b *bed) {
		b.st.hook(func(p *probe) { p.onBusy = func() error { return store.ErrUnavailable } })
		var ran atomic.Int64
		b.handle("k", func(context.Context, Attempt) ([]byte, error) { ran.Add(1); return nil, nil })
		b.run()
		for i := range 5 {
			b.enqueue(b.job("k", inQueue("t-a")))
			time.Sleep(50 * time.Millisecond)
			if ran.Load() != int64(i+1) {
				t.Errorf("%d of %d jobs have run", ran.Load(), i+1)
			}
		}
	})
}
