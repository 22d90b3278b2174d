package limit_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/limit"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

// TestAcquireContextInStorms: however many callers give up, whether they have said when or not, a
// limit gives out nearly all that its rate lets, and is as free afterwards as it was.
func TestAcquireContextInStorms(t *testing.T) {
	t.Parallel()
	const lasts = 20 * time.Second
	rate := store.Rate{Count: 10, Per: time.Second, Burst: 2}
	for _, c := range []struct {
		name  string
		every time.Duration // a caller comes
		least int           // of the 200 permits are used
		with  func(context.Context) (context.Context, context.CancelFunc)
	}{
		{"short deadlines", 5 * time.Millisecond, 190, deadline(100 * time.Millisecond)},
		{"deadlines that are a little too short", 66 * time.Millisecond, 180, deadline(300 * time.Millisecond)},
		{"long deadlines", 66 * time.Millisecond, 190, deadline(3 * time.Second)},
		{"callers that go", 20 * time.Millisecond, 130, leaves(2 * time.Second)},
		{"callers that go soon", 5 * time.Millisecond, 50, leaves(200 * time.Millisecond)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				hf := open(t, inMemory{&slow{Store: model.New(time.Now), before: always(0), after: always(time.Millisecond)}})
				set(t)(limit.Set(t.Context(), hf, "api", limit.Rate(rate.Count, rate.Per), limit.Burst(rate.Burst), limit.NoJobs()))
				var mu sync.Mutex
				var at []time.Time
				var all sync.WaitGroup
				for end := time.Now().Add(lasts); time.Now().Before(end); time.Sleep(c.every) { //nolint:forbidigo // virtual
					all.Go(func() {
						ctx, cancel := c.with(t.Context())
						defer cancel()
						if limit.AcquireContext(ctx, hf, "api") != nil {
							return
						}
						mu.Lock()
						defer mu.Unlock()
						at = append(at, time.Now())
					})
				}
				all.Wait()
				keeps(t, &rate, at)
				if len(at) < c.least {
					t.Errorf("%d permits of 200 were used", len(at))
				}
				ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
				defer cancel()
				if err := limit.AcquireContext(ctx, hf, "api"); err != nil {
					t.Errorf("afterwards: %v", err)
				}
			})
		})
	}
}

// TestAcquireContextInLine: a caller in line learns at once that no permit comes before its
// deadline; and not of one that was known before a drain was taken back.
func TestAcquireContextInLine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		hf := open(t, inMemory{&slow{Store: model.New(time.Now), before: always(0), after: always(time.Millisecond)}})
		set(t)(limit.Set(ctx, hf, "api", limit.Rate(1, time.Second), limit.Burst(1), limit.NoJobs()))
		if err := limit.Drain(ctx, hf, "api", time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		refused := func() {
			t.Helper()
			began := time.Now()
			within(t, hf, 30*time.Second, context.DeadlineExceeded)
			if waited := time.Since(began); waited > time.Second {
				t.Errorf("it has waited for %v to be told that no permit comes for an hour", waited)
			}
		}
		refused() // by the store
		for range 10 {
			time.Sleep(100 * time.Millisecond) //nolint:forbidigo // virtual
			all.Go(func() { _ = limit.AcquireContext(ctx, hf, "api") })
		}
		refused() // as others know
		if err := limit.Resume(ctx, hf, "api", ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second) //nolint:forbidigo // virtual
		within(t, hf, 30*time.Second, nil)
		cancel()
		all.Wait()
		within(t, hf, 5*time.Second, nil) // who has left the line holds nobody up
	})
}

// TestAcquireContextForgetsDrains: the first caller that gets a permit after a drain was taken back
// gets another one, though those behind it have not heard of that.
func TestAcquireContextForgetsDrains(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hf := open(t, inMemory{model.New(time.Now)})
		set(t)(limit.Set(t.Context(), hf, "api", limit.Rate(10, time.Second), limit.NoJobs()))
		if err := limit.Drain(t.Context(), hf, "api", time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				within(t, hf, 2*time.Hour, nil)
				within(t, hf, 30*time.Second, nil)
			})
			time.Sleep(100 * time.Millisecond) //nolint:forbidigo // virtual
		}
		if err := limit.Resume(t.Context(), hf, "api", ""); err != nil {
			t.Fatal(err)
		}
		all.Wait()
	})
}

// TestAcquireContextAsksInTime: no permit is taken that comes after the caller has gone.
func TestAcquireContextAsksInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := &slow{Store: model.New(time.Now), before: always(0), after: always(time.Millisecond)}
		hf := open(t, inMemory{st})
		set(t)(limit.Set(t.Context(), hf, "api", limit.Rate(1, 80*time.Millisecond), limit.Burst(2), limit.NoJobs()))
		within(t, hf, time.Second, nil)
		within(t, hf, time.Second, nil)
		within(t, hf, 50*time.Millisecond, context.DeadlineExceeded)
		if st.calls != 3 {
			t.Errorf("%d calls, with one to give a permit back", st.calls)
		}
	})
}

// within takes a permit.
func within(t *testing.T, hf *holdfast.Client, d time.Duration, want error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	if err := limit.AcquireContext(ctx, hf, "api"); !errors.Is(err, want) {
		t.Errorf("within %v: %v, want %v", d, err, want)
	}
}

// TestAcquireContextUsesTheRate: callers use all permits of a fast limit though each call takes its
// time.
func TestAcquireContextUsesTheRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		hf := open(t, inMemory{&slow{Store: model.New(time.Now), before: always(5 * time.Millisecond), after: always(5 * time.Millisecond)}})
		set(t)(limit.Set(ctx, hf, "api", limit.Rate(1000, time.Second), limit.NoJobs()))
		var used atomic.Int64
		var all sync.WaitGroup
		for range 500 {
			all.Go(func() {
				for limit.AcquireContext(ctx, hf, "api") == nil {
					used.Add(1)
				}
			})
		}
		all.Wait()
		if n := used.Load(); n < 4000 {
			t.Errorf("%d permits of 5,000 were used", n)
		}
	})
}

func deadline(in time.Duration) func(context.Context) (context.Context, context.CancelFunc) {
	return func(ctx context.Context) (context.Context, context.CancelFunc) { return context.WithTimeout(ctx, in) }
}

// leaves ends a context at some time, which it does not tell.
func leaves(most time.Duration) func(context.Context) (context.Context, context.CancelFunc) {
	return func(ctx context.Context) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(ctx)
		time.AfterFunc(rand.N(most), cancel)
		return ctx, cancel
	}
}
