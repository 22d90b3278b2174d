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

// counting is a store that counts calls for permits, and loses the first answers.
type counting struct {
	store.Store
	calls, lose atomic.Int32
}

func (c *counting) TakePermits(ctx context.Context, asks []store.PermitAsk) ([]store.Permits, error) {
	c.calls.Add(1)
	taken, err := c.Store.TakePermits(ctx, asks)
	if c.lose.Add(-1) >= 0 {
		return nil, store.ErrUnavailable
	}
	return taken, err
}

// rated runs the loop of a node whose jobs count in a limit with a rate.
func rated(t *testing.T, rate store.Rate, test func(st *counting, s *slots.Slots)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		st := &counting{Store: model.New(time.Now)}
		l := store.Limit{Namespace: "n", Name: "r", LimitSettings: store.LimitSettings{Uncapped: true, Rate: &rate}}
		if _, err := st.SaveLimit(t.Context(), l, 0, ""); err != nil {
			t.Fatal(err)
		}
		s := slots.New(slots.Config{Size: 1000, MaxAside: 1, Kinds: map[string]string{"k": "k"}})
		loop := grants.New(grants.Parts{
			Store: st, Slots: s, Namespace: "n", Node: func() int64 { return 1 }, Every: func() time.Duration { return look },
			Dead: func(context.Context, int64) {}, Free: func() {}, Look: func() {}, Turn: func() {},
			Outage: logs.NewOutage(slog.New(slog.DiscardHandler)),
		})
		if err := loop.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); loop.RunPermits(ctx) }()
		defer func() { stop(); <-done }()
		test(st, s)
	})
}

// lookFor has it looked for jobs, of which there are some, where the node is in doubt.
func lookFor(s *slots.Slots) {
	if s.Demand(time.Now()).Look && s.TakeLook() {
		s.Found([]store.BusyQueue{{Name: "q", Kind: "k"}}, time.Now())
	}
}

// claimFor claims for some time all jobs that may be claimed, of which there are enough, and
// returns how many.
func claimFor(s *slots.Slots, d time.Duration) (n int) {
	var last int64
	for until := time.Now().Add(d); time.Now().Before(until); {
		s.Heard("", time.Now())
		lookFor(s)
		want := s.Claim(time.Now())
		var jobs []store.Claimed
		for range want.Limit {
			last++
			c := store.Claimed{Job: store.Job{Kind: "k", Queue: "q"}}
			c.Job.ID[0], c.Job.ID[1], c.Job.ID[2], c.Lease.Number = byte(last>>16), byte(last>>8), byte(last), 1
			c.Lease.Job = c.Job.ID
			jobs = append(jobs, c)
		}
		started := s.Admit(jobs)
		s.Learn(want, want.Limit, jobs)
		for i := range started {
			s.End(&started[i].Job, nil, time.Now())
			s.Over([]*store.Outcome{{Lease: started[i].Lease, Final: store.Completed}}, time.Now())
		}
		n += len(jobs)
		time.Sleep(time.Millisecond) //nolint:forbidigo // Only called in a bubble, whose time is virtual.
	}
	return n
}

// TestPermitsAreUsedUp: a node with a backlog gets what the rate lets, within a hundredth, in about
// ten calls a second.
func TestPermitsAreUsedUp(t *testing.T) {
	for _, rate := range []store.Rate{
		{Count: 1000, Per: time.Second, Burst: 100}, {Count: 50, Per: time.Second, Burst: 10}, {Count: 20_000, Per: time.Second},
	} {
		rated(t, rate, func(st *counting, s *slots.Slots) {
			claimFor(s, time.Second)
			st.calls.Store(0)
			want := 10 * rate.Count
			if n := claimFor(s, 10*time.Second); n < want-want/50-1 || n > want+rate.Bursts() {
				t.Errorf("by %v %d jobs were claimed in 10 s", &rate, n)
			}
			if calls := st.calls.Load(); calls > 150 {
				t.Errorf("by %v the node makes %d calls in 10 s", &rate, calls)
			}
		})
	}
}

// TestPermitsComeBack: a node that finds no jobs gives back what it has taken of a slow rate, asks
// for nothing while none come, and gets a permit at once when one does, also after lost answers.
func TestPermitsComeBack(t *testing.T) {
	rated(t, store.Rate{Count: 1, Per: time.Minute}, func(st *counting, s *slots.Slots) {
		idle := func() {
			d := s.Claim(time.Now())
			s.Learn(d, d.Limit, nil)
			s.Demand(time.Now())
			synctest.Wait()
		}
		room := func() int {
			s.Heard("", time.Now())
			lookFor(s)
			s.Demand(time.Now())
			synctest.Wait()
			return s.Demand(time.Now()).Limit
		}
		for range 5 { // each time it finds none
			if n := room(); n != 1 {
				t.Fatalf("it has room for %d", n)
			}
			idle()
			time.Sleep(time.Second) //nolint:forbidigo // In a bubble, whose time is virtual.
		}
		st.calls.Store(0)
		time.Sleep(time.Hour) //nolint:forbidigo // as above
		synctest.Wait()
		if n := st.calls.Load(); n != 0 {
			t.Errorf("an idle node makes %d calls in an hour", n)
		}
		st.lose.Store(1)
		if n := room(); n != 0 {
			t.Fatalf("it has room for %d and has heard nothing", n)
		}
		s.Heard("", time.Now())
		time.Sleep(62 * time.Second) //nolint:forbidigo // as above: the permit that was lost
		n := claimFor(s, 2*time.Minute)
		if n < 2 || n > 3 {
			t.Errorf("%d jobs were claimed in two minutes", n)
		}
	})
}
