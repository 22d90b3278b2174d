package workers

import (
	"context"
	"errors"
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
	}, func() time.Time { return now }, func() {}, func(*worker) bool { return true })
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
				if _, taken, err := w.withdraw(time.Minute, nil); taken || err != nil {
					t.Errorf("the offer was taken: %v", err)
				}
				return
			}
			if starting.Start.Node != w.of.Node || starting.Start.Seq != 7 {
				t.Errorf("it starts as %+v", starting.Start)
			}
			starting.Start.Claimed = make([]store.Claimed, len(starts))
			starting.Settle()
			if jobs, taken, err := w.withdraw(time.Minute, nil); !taken || len(jobs) != len(starts) || err != nil {
				t.Errorf("the poll gets %d jobs, %t, %v", len(jobs), taken, err)
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
		_, taken, err := w.withdraw(time.Minute, nil)
		ended <- taken && err == nil
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

// TestLateStarts: a poll does not wait for a commit that does not end, and what starts by it is
// given back.
func TestLateStarts(t *testing.T) {
	t.Parallel()
	h, enter := newTestHub(t)
	w := enter("a")
	w.ready()
	w.offers(&offer{want: 1, seq: 1})
	starting := h.reserve([]*store.Enqueue{enqueueOf("a")})
	back := make(chan int, 1)
	jobs, taken, err := w.withdraw(time.Millisecond, func(jobs []store.Claimed) { back <- len(jobs) })
	if len(jobs) > 0 || !taken || !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("%v, %t, %v", jobs, taken, err)
	}
	starting.Start.Claimed = make([]store.Claimed, 1)
	starting.Settle()
	if n := <-back; n != 1 {
		t.Errorf("%d jobs are given back", n)
	}
}

// TestOffersEndWithLimits: what is heard of limits ends all offers.
func TestOffersEndWithLimits(t *testing.T) {
	t.Parallel()
	h, enter := newTestHub(t)
	for range 2 {
		w := enter("a")
		w.ready()
		w.offers(&offer{want: 1, seq: 1})
	}
	h.heard(store.Wake{Kind: store.WakeLimit, Namespace: "default"})
	if h.reserve([]*store.Enqueue{enqueueOf("a")}) != nil {
		t.Error("an offer was taken that knows nothing of the limit")
	}
}
