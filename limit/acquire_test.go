package limit_test

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast"
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

// TestAcquireContextHearsOfResumes: who waits for the end of a drain does so no longer than ten
// seconds once it was taken back, and a permit that is void is not used.
func TestAcquireContextHearsOfResumes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		hf := open(t, inMemory{model.New(time.Now)})
		set(t)(limit.Set(ctx, hf, "api", limit.Rate(1, time.Minute), limit.NoJobs()))
		if err := limit.Drain(ctx, hf, "api", time.Now().Add(10*time.Minute)); err != nil {
			t.Fatal(err)
		}
		resumed := time.Now().Add(5 * time.Minute)
		time.AfterFunc(time.Until(resumed), func() {
			if err := limit.Resume(ctx, hf, "api", ""); err != nil {
				t.Error(err)
			}
		})
		if err := limit.AcquireContext(ctx, hf, "api"); err != nil || time.Since(resumed) < 0 || time.Since(resumed) > 10*time.Second {
			t.Errorf("a permit came %v after a drain was taken back; %v", time.Since(resumed), err)
		}
		took := time.Now()
		time.AfterFunc(30*time.Second, func() {
			if err := errors.Join(limit.Drain(ctx, hf, "api", time.Now().Add(time.Hour)), limit.Resume(ctx, hf, "api", "")); err != nil {
				t.Error(err)
			}
		})
		if err := limit.AcquireContext(ctx, hf, "api"); err != nil || time.Since(took) < 90*time.Second {
			t.Errorf("a permit came %v after the one before, although the first one was void; %v", time.Since(took), err)
		}
	})
}

// TestAcquireContextLosesVoidPermits: who has found that calls are slow takes permits long before
// their time. One that a drain made void meanwhile is not used, though the drain was taken back.
func TestAcquireContextLosesVoidPermits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		const fast = 8 // the first call that is
		st := model.New(time.Now)
		var hf *holdfast.Client
		takes := func(permits int) { // somebody else
			l, err := limit.Get(ctx, hf, "api")
			if err == nil {
				_, err = st.TakePermits(ctx, []store.PermitAsk{{Limit: l.ID, Version: l.Version, Want: permits, Ahead: time.Minute}})
			}
			if err != nil {
				t.Error(err)
			}
		}
		var resumed time.Time
		hf = open(t, inMemory{&slow{
			Store: st,
			before: func(call int) time.Duration {
				if call == fast {
					takes(60)
				}
				return 0
			},
			after: func(call int) time.Duration {
				if call < fast {
					return 10 * time.Second
				}
				if call == fast {
					time.AfterFunc(time.Second, func() {
						resumed = time.Now()
						if err := errors.Join(limit.Drain(ctx, hf, "api", resumed.Add(time.Hour)), limit.Resume(ctx, hf, "api", "")); err != nil {
							t.Error(err)
						}
						takes(600)
					})
				}
				return 0
			},
		}})
		set(t)(limit.Set(ctx, hf, "api", limit.Rate(10, time.Second), limit.Burst(2), limit.NoJobs()))
		if err := limit.AcquireContext(ctx, hf, "api"); err != nil || resumed.IsZero() || time.Since(resumed) < time.Minute {
			t.Errorf("a permit is used %v after it was made void; %v", time.Since(resumed), err)
		}
	})
}

// TestResumeWakes: jobs go on within a wake-up when a drain is taken back, also on a node that has
// asked for permits during it, or has not heard of it.
func TestResumeWakes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		hf := open(t, inMemory{model.New(time.Now)})
		set(t)(limit.Set(ctx, hf, "api", limit.Rate(1000, time.Second), limit.Kinds("light")))
		if err := light.Handle(hf, func(*holdfast.Run, time.Duration) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if err := hf.Start(ctx); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := limit.Drain(ctx, hf, "api", time.Now().Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
			job, err := light.Enqueue(ctx, hf, 0)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(10*time.Minute + 123*time.Millisecond) //nolint:forbidigo // In a bubble, whose time is virtual.
			resumed := time.Now()
			if err := limit.Resume(ctx, hf, "api", ""); err != nil {
				t.Fatal(err)
			}
			if _, err := job.Wait(ctx); err != nil || time.Since(resumed) > 200*time.Millisecond {
				t.Errorf("a job has ended %v after a drain was taken back; %v", time.Since(resumed), err)
			}
		}
	})
}

// kept is a store that outlives its clients.
type kept struct{ store.Store }

func (kept) Close() error { return nil }

// goes notes when runs have got their permits.
type goes struct {
	mu sync.Mutex
	at map[holdfast.ID]time.Time
}

// node opens a client whose runs take a permit, and fail once after that.
func (g *goes) node(t *testing.T, st store.Store, task holdfast.Task[int]) *holdfast.Client {
	t.Helper()
	hf, err := holdfast.Open(t.Context(), inMemory{st}, holdfast.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	err = task.Handle(hf, func(run *holdfast.Run, _ int) error {
		if err := limit.Acquire(run, "api"); err != nil {
			return err
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		if _, again := g.at[run.ID()]; again {
			return nil
		}
		g.at[run.ID()] = time.Now()
		return errors.New("again, with what the journal remembers")
	}, holdfast.Backoff(time.Millisecond, time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	return hf
}

func (g *goes) times() (all []time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Collect(maps.Values(g.at))
}

// TestAcquireWhileWorkersAreAway: runs whose permits have come while no worker was there do not go
// on all at once when one is back.
func TestAcquireWhileWorkersAreAway(t *testing.T) {
	t.Parallel()
	for _, away := range []time.Duration{8 * time.Second, time.Hour} {
		t.Run(away.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const runs = 8
				st, g, task := kept{model.New(time.Now)}, &goes{at: map[holdfast.ID]time.Time{}}, holdfast.NewTask[int]("call")
				rate := store.Rate{Count: 1, Per: time.Second, Burst: 1}
				hf := g.node(t, st, task)
				set(t)(limit.Set(t.Context(), hf, "api", limit.Rate(rate.Count, rate.Per), limit.Burst(rate.Burst), limit.NoJobs()))
				if err := hf.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				var ids []holdfast.ID
				for i := range runs {
					job, err := task.Enqueue(t.Context(), hf, i)
					if err != nil {
						t.Fatal(err)
					}
					ids = append(ids, job.ID)
				}
				time.Sleep(1500 * time.Millisecond) //nolint:forbidigo // In a bubble, whose time is virtual.
				if err := hf.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
				if n := len(g.times()); n != 2 {
					t.Fatalf("%d runs have got their permits", n)
				}
				time.Sleep(away) //nolint:forbidigo // as above
				hf = g.node(t, st, task)
				defer hf.Close(t.Context())
				if err := hf.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				for _, id := range ids {
					if err := hf.Wait(t.Context(), id); err != nil {
						t.Error(err)
					}
				}
				all := g.times()
				slices.SortFunc(all, time.Time.Compare)
				for i := range all {
					for j := i; j < len(all); j++ {
						window := all[j].Sub(all[i])
						if n, most := j-i+1, rate.Bursts()+int((window+time.Second)/rate.Period()); n > most {
							t.Fatalf("%d runs went on in %v, and %d may", n, window, most)
						}
					}
				}
				l, err := limit.Get(t.Context(), hf, "api")
				if err != nil || l.NextAt.After(time.Now().Add(rate.Period()+store.PermitLife)) {
					t.Errorf("the next permit comes at %v, as if those had taken some that went on with theirs; %v", l.NextAt, err)
				}
			})
		})
	}
}

// TestAcquireOfWorkersThatAreAlwaysLate: runs get on although there are workers for a moment each
// minute only, half a minute after one of their permits has come.
func TestAcquireOfWorkersThatAreAlwaysLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const runs = 5
		st, g, task := kept{model.New(time.Now)}, &goes{at: map[holdfast.ID]time.Time{}}, holdfast.NewTask[int]("call")
		for minute := range 60 {
			hf := g.node(t, st, task)
			if minute == 0 {
				set(t)(limit.Set(t.Context(), hf, "api", limit.Rate(1, time.Minute), limit.Burst(1), limit.NoJobs()))
				for i := range runs {
					if _, err := task.Enqueue(t.Context(), hf, i); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := hf.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Second) //nolint:forbidigo // In a bubble, whose time is virtual.
			if err := hf.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			away := 58 * time.Second
			if minute == 0 {
				away -= 30 * time.Second
			}
			time.Sleep(away) //nolint:forbidigo // as above
		}
		if n := len(g.times()); n != runs {
			t.Errorf("%d of %d runs have got their permits within an hour", n, runs)
		}
	})
}
