//go:build soak

package engine

import (
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// TestOutcomesThatAreHeldHoldUpNoSlots: blocked outcomes free their slots, however many there are.
func TestOutcomesThatAreHeldHoldUpNoSlots(t *testing.T) {
	inBed(t, Config{Node: NodeConfig{Slots: 1}}, func(b *bed) {
		b.handle("k", ok)
		h := &held{ends: map[store.ID]bool{}}
		var ids []store.ID
		for range 5 * maxPending(1) / 4 {
			q := b.job("k")
			h.ends[q.Job.ID] = true
			ids = append(ids, b.enqueue(q))
		}
		b.st.hook(func(p *probe) { p.instead = h.apply(b) })
		b.run()
		time.Sleep(10 * time.Second)
		b.expect(b.wait(b.enqueue(b.job("k"))), store.Completed, "")
		h.open.Store(true)
		for _, id := range ids {
			b.expect(b.wait(id), store.Completed, "")
		}
	})
}
