package grants_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast/internal/grants"
	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/slots"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

const look = 5 * time.Second

// unreliable is a store whose answers may be lost, and whose notifications no node hears.
type unreliable struct {
	store.Store
	lose  atomic.Int32 // so many of the next answers
	panic atomic.Int32 // so many of the next calls
	calls atomic.Int32
}

func (u *unreliable) Grant(ctx context.Context, params store.GrantParams) ([]store.Grant, error) {
	u.calls.Add(1)
	if u.panic.Add(-1) >= 0 {
		panic("a bug")
	}
	granted, err := u.Store.Grant(ctx, params)
	if u.lose.Add(-1) >= 0 {
		return nil, store.ErrUnavailable
	}
	return granted, err
}

// member is a node as far as limits go.
type member struct {
	*slots.Slots
	t    *testing.T
	st   *unreliable
	id   atomic.Int64
	dead atomic.Int32 // how often it was told so
}

func join(t *testing.T, st *unreliable) *member {
	t.Helper()
	m := &member{t: t, st: st, Slots: slots.New(slots.Config{Size: 10, MaxAside: 1, Kinds: map[string]string{"k": "k"}})}
	m.join()
	loop := grants.New(grants.Parts{
		Store: st, Slots: m.Slots, Namespace: "n", Node: m.id.Load, Every: func() time.Duration { return look },
		Dead: func(_ context.Context, id int64) {
			m.dead.Add(1)
			m.LoseAll(id)
			m.join()
			m.Demand(time.Now())
		},
		Free: func() {}, Look: func() {}, Turn: func() {}, Outage: logs.NewOutage(slog.New(slog.DiscardHandler)),
	})
	if err := loop.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			run(ctx, loop)
		}
	}()
	t.Cleanup(func() { stop(); <-done })
	return m
}

// run is the loop until it panics.
func run(ctx context.Context, loop *grants.Loop) {
	defer func() { _ = recover() }()
	loop.Run(ctx)
}

func (m *member) join() {
	id, err := m.st.Join(m.t.Context(), store.NodeInfo{Namespace: "n", Slots: 10})
	if err != nil {
		m.t.Error(err)
	}
	m.id.Store(id)
}

// room is for how many jobs it may claim, once it has had the time to find out.
func (m *member) room(after time.Duration) int {
	m.t.Helper()
	m.Demand(time.Now())
	time.Sleep(after) //nolint:forbidigo // Only called in a bubble, whose time is virtual.
	synctest.Wait()
	return m.Demand(time.Now()).Limit
}

// idle lets it find out that there are no jobs.
func (m *member) idle() {
	d := m.Claim(time.Now())
	m.Learn(d, d.Limit, nil)
	m.Demand(time.Now())
}

func inBubble(t *testing.T, test func(t *testing.T, st *unreliable)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		st := &unreliable{Store: model.New(time.Now)}
		l := store.Limit{Namespace: "n", Name: "three", LimitSettings: store.LimitSettings{Capacity: 3}}
		if _, err := st.SaveLimit(t.Context(), l, 0, ""); err != nil {
			t.Fatal(err)
		}
		test(t, st)
	})
}

// TestSlotsMoveUnheard: a node that holds slots and does not use them finds that another one wants
// some, and that one finds that they are free, without a notification.
func TestSlotsMoveUnheard(t *testing.T) {
	inBubble(t, func(t *testing.T, st *unreliable) {
		first := join(t, st)
		if n := first.room(time.Second); n != 3 {
			t.Fatalf("the first has room for %d", n)
		}
		first.idle()
		second := join(t, st)
		if n := second.room(time.Second); n != 0 {
			t.Fatalf("the second has room for %d of what the first holds", n)
		}
		if n := second.room(3 * look); n != 3 {
			t.Errorf("the second has room for %d when all have looked", n)
		}
		calls := st.calls.Load()
		if n := second.room(time.Hour); n != 3 || first.Demand(time.Now()).Limit != 0 {
			t.Errorf("later the second has room for %d, and the first for %d", n, first.Demand(time.Now()).Limit)
		}
		if n := st.calls.Load() - calls; n > 10 {
			t.Errorf("in an hour in which nothing happens the nodes make %d calls", n)
		}
	})
}

// TestLostAnswers: what was given and not heard of is asked for again.
func TestLostAnswers(t *testing.T) {
	inBubble(t, func(t *testing.T, st *unreliable) {
		st.lose.Store(3)
		m := join(t, st)
		if n := m.room(100 * time.Millisecond); n != 0 {
			t.Fatalf("it has room for %d and has heard nothing", n)
		}
		if n := m.room(10 * time.Second); n != 3 {
			t.Errorf("it has room for %d", n)
		}
	})
}

// TestPanicOfACall: a call that panics while slots are given back is made again.
func TestPanicOfACall(t *testing.T) {
	inBubble(t, func(t *testing.T, st *unreliable) {
		m := join(t, st)
		if n := m.room(time.Second); n != 3 {
			t.Fatalf("it has room for %d", n)
		}
		m.idle()
		st.panic.Store(1)
		m.Wanted("three", time.Now())
		if m.room(time.Minute); st.panic.Load() > 0 {
			t.Fatal("no call has panicked")
		}
		m.Heard("", time.Now())
		if n := m.room(time.Minute); n != 3 {
			t.Errorf("a minute later it has room for %d", n)
		}
	})
}

// TestDeadNodeAsksAgain: under its new id, and what it held before is not its own.
func TestDeadNodeAsksAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, st *unreliable) {
		m := join(t, st)
		if n := m.room(time.Second); n != 3 {
			t.Fatalf("it has room for %d", n)
		}
		nodes, err := st.Nodes(t.Context())
		if err != nil || len(nodes) != 1 {
			t.Fatal(nodes, err)
		}
		dead := store.NodeBeat{Node: nodes[0].ID, At: nodes[0].BeatAt}
		if _, err := st.Rescue(t.Context(), store.RescueParams{Dead: []store.NodeBeat{dead}}); err != nil {
			t.Fatal(err)
		}
		m.Wanted("three", time.Now()) // so that it calls
		m.idle()
		if n := m.room(10 * time.Second); m.dead.Load() != 1 || m.id.Load() == dead.Node {
			t.Fatalf("it was told %d times that it is dead, and has room for %d", m.dead.Load(), n)
		}
		m.Heard("", time.Now())
		if n := m.room(10 * time.Second); n != 3 {
			t.Errorf("it has room for %d again", n)
		}
		limits, err := st.Limits(t.Context(), "n", "three")
		if err != nil || len(limits) != 1 || len(limits[0].Holders) != 1 || limits[0].Holders[0].Node != m.id.Load() {
			t.Errorf("the store has %+v, %v", limits, err)
		}
	})
}

// TestFairShareUnheard: a node that uses all slots of a fair limit finds that another one wishes
// for some, and gives them back as its jobs end, without a notification. Then nothing moves any
// more.
func TestFairShareUnheard(t *testing.T) {
	inBubble(t, func(t *testing.T, st *unreliable) {
		l, err := st.Limits(t.Context(), "n", "three")
		if err != nil {
			t.Fatal(err)
		}
		l[0].Capacity, l[0].Fair = 4, true
		if _, err := st.SaveLimit(t.Context(), l[0], l[0].Version, ""); err != nil {
			t.Fatal(err)
		}
		first := join(t, st)
		if n := first.room(time.Second); n != 4 {
			t.Fatalf("the first has room for %d", n)
		}
		jobs := first.work(4)
		second := join(t, st)
		if n := second.room(3 * look); n != 0 {
			t.Fatalf("the second has room for %d of what the first uses", n)
		}
		for i, c := range jobs[:3] {
			first.End(&c.Job, nil, time.Now())
			first.Over([]*store.Outcome{{Lease: c.Lease, Final: store.Completed}}, time.Now())
			if n, want := first.room(time.Second), max(0, i-1); n != want {
				t.Errorf("after %d jobs the first has room for %d", i+1, n)
			}
		}
		if n := second.room(3 * look); n != 2 {
			t.Errorf("the second has room for %d", n)
		}
		calls := st.calls.Load()
		if n, m := first.room(time.Minute), second.room(time.Minute); n != 1 || m != 2 {
			t.Errorf("later they have room for %d and %d", n, m)
		}
		if n := st.calls.Load() - calls; n > 60 { // each says now and then what it wishes for
			t.Errorf("in two minutes in which nothing happens the nodes make %d calls", n)
		}
	})
}

// work lets it claim jobs and begin them.
func (m *member) work(n int) (jobs []store.Claimed) {
	m.t.Helper()
	d := m.Claim(time.Now())
	for i := range n {
		var c store.Claimed
		c.Job.ID[15], c.Job.Kind = byte(i+1), "k"
		c.Lease = store.Lease{Job: c.Job.ID, Number: 1, Node: m.id.Load(), Claim: 1, Slot: i}
		jobs = append(jobs, c)
	}
	if len(m.Admit(jobs)) != n {
		m.t.Fatal("they have no slots")
	}
	m.Learn(d, d.Limit, jobs)
	return jobs
}
