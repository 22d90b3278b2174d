package limit_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast/limit"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

// slow is a store in memory whose calls for permits take their time, in a bubble.
type slow struct {
	store.Store
	before, after func(call int) time.Duration

	mu    sync.Mutex
	calls int
}

type inMemory struct{ st store.Store }

func (inMemory) Migrate(context.Context) (store.Schema, error) { return store.Schema{}, nil }
func (inMemory) Schema(context.Context) (store.Schema, error)  { return store.Schema{}, nil }
func (inMemory) Migrations() []store.Migration                 { return nil }
func (inMemory) String() string                                { return "memory" }

func (m inMemory) Open(context.Context) (store.Store, error) { return m.st, nil }

func (s *slow) TakePermits(ctx context.Context, asks []store.PermitAsk) ([]store.Permits, error) {
	s.mu.Lock()
	s.calls++
	call := s.calls
	s.mu.Unlock()
	time.Sleep(s.before(call)) //nolint:forbidigo // In a bubble, whose time is virtual.
	got, err := s.Store.TakePermits(ctx, asks)
	time.Sleep(s.after(call)) //nolint:forbidigo // as above
	return got, err
}

func always(d time.Duration) func(int) time.Duration { return func(int) time.Duration { return d } }

// TestAcquireContextKeepsTheRate: however slow the calls are, and wherever in a call its moment is,
// no more come in any time than the rate lets; and all do come.
func TestAcquireContextKeepsTheRate(t *testing.T) {
	t.Parallel()
	single, many := store.Rate{Count: 1, Per: time.Second, Burst: 1}, store.Rate{Count: 50, Per: time.Second, Burst: 10}
	for _, c := range []struct {
		name          string
		rate          store.Rate
		before, after func(int) time.Duration
	}{
		{"quick calls", single, always(0), always(time.Millisecond)},
		{"late answers", single, always(0), always(4 * time.Second)},
		{"late calls", single, always(900 * time.Millisecond), always(0)},
		{"slow calls", single, always(15 * time.Millisecond), always(15 * time.Millisecond)},
		{"the first answers are late", single, always(0), func(call int) time.Duration { return time.Duration(max(6-call, 0)) * time.Second }},
		{"quick calls of many", many, always(0), always(time.Millisecond)},
		{"late answers of many", many, always(0), always(300 * time.Millisecond)},
		{"late calls of many", many, func(call int) time.Duration { return time.Duration(call%7) * 40 * time.Millisecond }, always(0)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				hf := open(t, inMemory{&slow{Store: model.New(time.Now), before: c.before, after: c.after}})
				set(t)(limit.Set(ctx, hf, "api", limit.Rate(c.rate.Count, c.rate.Per), limit.Burst(c.rate.Burst), limit.NoJobs()))
				var mu sync.Mutex
				var at []time.Time
				var all sync.WaitGroup
				for range 2 * (c.rate.Burst + 1) {
					all.Go(func() {
						if err := limit.AcquireContext(ctx, hf, "api"); err != nil {
							t.Error(err)
						}
						mu.Lock()
						defer mu.Unlock()
						at = append(at, time.Now())
					})
				}
				all.Wait()
				keeps(t, &c.rate, at)
			})
		})
	}
}

// keeps looks at each window that begins and ends with a start.
func keeps(t *testing.T, rate *store.Rate, at []time.Time) {
	t.Helper()
	slices.SortFunc(at, time.Time.Compare)
	for i := range at {
		for j := i; j < len(at); j++ {
			window := at[j].Sub(at[i])
			if n, most := j-i+1, rate.Bursts()+int(window/rate.Period()); n > most {
				t.Fatalf("%d started in %v, and %d may", n, window, most)
			}
		}
	}
}

// TestAcquireContextHearsOfDrains: who waits does so until a drain has ended that came meanwhile.
func TestAcquireContextHearsOfDrains(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		hf := open(t, inMemory{model.New(time.Now)})
		set(t)(limit.Set(ctx, hf, "api", limit.Rate(1, time.Minute), limit.NoJobs()))
		if err := limit.AcquireContext(ctx, hf, "api"); err != nil {
			t.Fatal(err)
		}
		until := time.Now().Add(time.Hour)
		time.AfterFunc(30*time.Second, func() {
			if err := limit.Drain(ctx, hf, "api", until); err != nil {
				t.Error(err)
			}
		})
		if err := limit.AcquireContext(ctx, hf, "api"); err != nil || time.Now().Before(until) {
			t.Errorf("a permit came %v before a drain ended; %v", time.Until(until), err)
		}
	})
}
