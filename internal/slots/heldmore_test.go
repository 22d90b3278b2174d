package slots

import (
	"testing"

	"github.com/holdfastdev/holdfast/store"
)

// TestNodeHoldsMoreThanItKnows: a node of which the store says that it holds more slots than it
// knows, as a crash of the database has lost that it gave them back, says once more what it holds;
// also of a limit in which none of its jobs counts any more. It uses none before the answer.
func TestNodeHoldsMoreThanItKnows(t *testing.T) {
	for _, queues := range [][]string{nil, {"elsewhere"}} {
		b := newBed(t, 10, queue("mail", 10))
		l := store.Limit{ID: 1, Version: 1, Name: "l", LimitSettings: store.LimitSettings{Capacity: 3}}
		b.SetLimits([]store.Limit{l})
		b.Granted(1, b.Asks(1, b.now), []store.Grant{{Limit: 1, Slots: 3, Capacity: 3, Held: 3}})
		b.empty()
		b.Wanted("l", b.now)
		b.Granted(1, b.Asks(1, b.now), []store.Grant{{Limit: 1, Slots: 0, Capacity: 3, Held: 0}})
		if queues != nil {
			l.Queues, l.Version = queues, 2
			b.SetLimits([]store.Limit{l})
			b.SetLimits([]store.Limit{l}) // dropped, as it is of no use
		}
		if asks := b.Asks(1, b.now); len(asks) != 0 {
			t.Fatalf("queues %v: before the crash it asks %+v", queues, asks)
		}

		l.Holders = []store.Holder{{Node: 1, Slots: 3}, {Node: 2, Slots: 0}}
		b.SetLimits([]store.Limit{l})
		if n := b.limits[0].room(); n != 0 {
			t.Errorf("queues %v: it uses %d slots that it has given back", queues, n)
		}
		asks := b.Asks(1, b.now)
		if len(asks) != 1 || asks[0].Keep != 0 || asks[0].Want != 0 {
			t.Fatalf("queues %v: when the store says that it holds 3 slots it asks %+v", queues, asks)
		}
		freed, _, _ := b.Granted(1, asks, []store.Grant{{Limit: 1, Slots: 0, Capacity: 3, Held: 0}})
		if len(freed) != 1 {
			t.Errorf("queues %v: it tells nobody that slots are free", queues)
		}
		l.Holders = nil
		b.SetLimits([]store.Limit{l})
		if asks := b.Asks(1, b.now); len(asks) != 0 {
			t.Errorf("queues %v: then it asks %+v", queues, asks)
		}
	}
}
