package workers

import (
	"context"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

func newTestHub(t *testing.T) (h *hub, enter func(kind string) *waiter) {
	t.Helper()
	now := time.Now()
	h = newHub(func(ctx context.Context, _ string, _ func(store.Wake)) error {
		<-ctx.Done()
		return nil
	}, func() time.Time { return now }, func() {})
	return h, func(kind string) *waiter {
		w := &worker{Namespace: "default", Kinds: []string{kind}, serves: kind, Node: int64(len(h.groups) + 1)}
		one := h.enter(w)
		t.Cleanup(one.leave)
		return one
	}
}

func enqueueOf(kind string, change ...func(q *store.Enqueue)) *store.Enqueue {
	q := &store.Enqueue{}
	q.Job.Namespace, q.Job.Queue, q.Job.Kind = "default", "default", kind
	for _, f := range change {
		f(q)
	}
	return q
}

// TestReserve: what a batch may start on a poll that waits.
func TestReserve(t *testing.T) {
	t.Parallel()
	later := func(q *store.Enqueue) { q.Delay = time.Hour }
	keyed := func(q *store.Enqueue) { q.Job.OrderingKey = "k" }
	elsewhere := func(q *store.Enqueue) { q.Job.Namespace = "other" }
	for name, c := range map[string]struct {
		batch  []*store.Enqueue
		starts []int
	}{
		"nothing":                     {nil, nil},
		"another kind":                {[]*store.Enqueue{enqueueOf("b")}, nil},
		"another namespace":           {[]*store.Enqueue{enqueueOf("a", elsewhere)}, nil},
		"not due":                     {[]*store.Enqueue{enqueueOf("a", later)}, nil},
		"with an ordering key":        {[]*store.Enqueue{enqueueOf("a", keyed)}, nil},
		"among others":                {[]*store.Enqueue{enqueueOf("b"), enqueueOf("a"), enqueueOf("b"), enqueueOf("a")}, []int{1, 3}},
		"up to one that must wait":    {[]*store.Enqueue{enqueueOf("a"), enqueueOf("a", later), enqueueOf("a", keyed), enqueueOf("a")}, []int{0}},
		"as many as the poll may get": {[]*store.Enqueue{enqueueOf("a"), enqueueOf("a"), enqueueOf("a"), enqueueOf("a")}, []int{0, 1, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, enter := newTestHub(t)
			w := enter("a")
			w.ready()
			w.offers(&offer{want: 3, seq: 7})
			starting := h.reserve(c.batch)
			var starts []int
			for i, q := range c.batch {
				if q.Start {
					starts = append(starts, i)
				}
			}
			if len(starts) != len(c.starts) || (starting != nil) != (len(starts) > 0) {
				t.Fatalf("%v start, want %v", starts, c.starts)
			}
			for i := range starts {
				if starts[i] != c.starts[i] {
					t.Errorf("%v start, want %v", starts, c.starts)
				}
			}
			if starting == nil {
				if _, taken := w.withdraw(); taken {
					t.Error("the offer was taken")
				}
				return
			}
			if starting.Start.Node != w.of.Node || starting.Start.Seq != 7 {
				t.Errorf("it starts as %+v", starting.Start)
			}
			starting.Start.Claimed = make([]store.Claimed, len(starts))
			starting.Settle()
			if jobs, taken := w.withdraw(); !taken || len(jobs) != len(starts) {
				t.Errorf("the poll gets %d jobs, %t", len(jobs), taken)
			}
			for _, q := range c.batch {
				if q.Start {
					t.Error("an enqueue is still to start")
				}
			}
		})
	}
}

// TestReservedOnce: an offer is taken by one commit, and a poll that ends meanwhile waits for it.
func TestReservedOnce(t *testing.T) {
	t.Parallel()
	h, enter := newTestHub(t)
	w := enter("a")
	w.ready()
	if h.reserve([]*store.Enqueue{enqueueOf("a")}) != nil {
		t.Fatal("a poll that claims has no offer")
	}
	w.offers(&offer{want: 1, seq: 1})
	starting := h.reserve([]*store.Enqueue{enqueueOf("a")})
	if starting == nil || h.reserve([]*store.Enqueue{enqueueOf("a")}) != nil {
		t.Fatalf("the offer was taken never, or twice: %v", starting)
	}
	ended := make(chan bool, 1)
	go func() {
		_, taken := w.withdraw()
		ended <- taken
	}()
	select {
	case <-ended:
		t.Fatal("the poll did not wait for the commit")
	case <-time.After(20 * time.Millisecond):
	}
	starting.Settle()
	if !<-ended {
		t.Error("the poll does not know that its numbers are used")
	}
	w.offers(&offer{want: 1, seq: 2})
	if h.reserve([]*store.Enqueue{enqueueOf("a")}) != nil {
		t.Error("a poll that was not ready since has its offer taken")
	}
}
