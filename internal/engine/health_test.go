package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// TestHealthOfANode: its loops turn, and it knows how late its jobs are and how long the database
// is away.
func TestHealthOfANode(t *testing.T) {
	inBed(t, Config{Node: NodeConfig{Slots: 1}}, func(b *bed) {
		leave := make(chan struct{})
		b.handle("long", func(context.Context, Attempt) ([]byte, error) { <-leave; return nil, nil })
		health := func() Health { return b.runner().Health() }
		if h := health(); h.Node != 0 || h.Loops != nil || h.Lag != 0 || !h.AwaySince.IsZero() {
			t.Errorf("before the node runs: %+v", h)
		}
		b.run()
		time.Sleep(11 * time.Second)
		h := health()
		for _, loop := range []string{"claims", "heartbeat", "promote"} {
			if at := h.Loops[loop]; time.Since(at) > 10*time.Second {
				t.Errorf("%s turned at %v", loop, at)
			}
		}
		if h.Lag != 0 || !h.AwaySince.IsZero() || h.Running != 0 {
			t.Errorf("an idle node: %+v", h)
		}

		// One job runs, and others come to wait for its slot.
		running := b.enqueue(b.job("long"))
		synctest.Wait()
		time.Sleep(time.Minute)
		if h := health(); h.Lag != 0 || h.Running != 1 {
			t.Errorf("with a job that waits for nothing: %+v", h)
		}
		waits := b.enqueue(b.job("long"), b.job("long"))
		time.Sleep(20 * time.Second)
		if h := health(); h.Lag != 20*time.Second {
			t.Errorf("with jobs that wait for 20 s the lag is %v", h.Lag)
		}
		leave <- struct{}{}
		b.expect(b.wait(running), store.Completed, "")
		synctest.Wait()
		time.Sleep(10 * time.Second)
		if h := health(); h.Lag != 30*time.Second {
			t.Errorf("with a job that waits for 30 s the lag is %v", h.Lag)
		}
		close(leave)
		b.expect(b.wait(waits), store.Completed, "")
		time.Sleep(time.Second)
		if h := health(); h.Lag != 0 || h.Running != 0 {
			t.Errorf("when all is done: %+v", h)
		}

		b.st.hook(func(p *probe) { p.onBeat = func() error { return store.ErrUnavailable } })
		time.Sleep(time.Minute)
		if h := health(); time.Since(h.AwaySince) < 50*time.Second || h.AwaySince.IsZero() || h.Silent < 55*time.Second {
			t.Errorf("the database is away since %v", h.AwaySince)
		}
		b.st.hook(func(p *probe) { p.onBeat = nil })
		time.Sleep(10 * time.Second)
		if h := health(); !h.AwaySince.IsZero() {
			t.Errorf("the database is away since %v, though it answers", h.AwaySince)
		}
	})
}
