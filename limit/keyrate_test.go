package limit_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/limit"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/why"
)

// started is when a job of a key was claimed: between two moments.
type started struct{ from, until time.Time }

// starts are those of each key.
type starts struct {
	mu sync.Mutex
	of map[string][]started
}

// keyNoting is a store that notes them.
type keyNoting struct {
	store.Store
	to *starts
}

type keyNotingSource struct {
	store.Source
	to *starts
}

func (s keyNotingSource) Open(ctx context.Context) (store.Store, error) {
	st, err := s.Source.Open(ctx)
	return keyNoting{st, s.to}, err
}

func (s keyNoting) Claim(ctx context.Context, params store.ClaimParams) ([]store.Claimed, error) {
	from := time.Now()
	got, err := s.Store.Claim(ctx, params)
	at := started{from, time.Now()}
	s.to.mu.Lock()
	defer s.to.mu.Unlock()
	for i := range got {
		key := got[i].Job.Options.LimitKey
		s.to.of[key] = append(s.to.of[key], at)
	}
	return got, err
}

// check looks at each time from one claim of a key up to another, at its longest.
func (s *starts) check(t *testing.T, rate store.Rate, each int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, at := range s.of {
		if len(at) != each {
			t.Errorf("%d claims of the key %s were noted, of %d jobs", len(at), key, each)
		}
		slices.SortFunc(at, func(a, b started) int { return cmp.Or(a.until.Compare(b.until), a.from.Compare(b.from)) })
		for i := range at {
			for j := i; j < len(at); j++ {
				first := slices.MinFunc(at[i:j+1], func(a, b started) int { return a.from.Compare(b.from) })
				window := at[j].until.Sub(first.from)
				if n, most := j-i+1, rate.Burst+int(window/rate.Period()); n > most {
					t.Fatalf("%d jobs of the key %s were claimed in %v, and %d may be", n, key, window, most)
				}
			}
		}
	}
}

// TestRateOfKeys: two nodes, and jobs of many keys. All run, and of each key never more start than
// may.
func TestRateOfKeys(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		const keys, each = 6, 12
		rate := store.Rate{Count: 25, Per: time.Second, Burst: 2}
		seen := &starts{of: map[string][]started{}}
		kind := holdfast.NewTask[string]("of a key")
		var nodes []*holdfast.Client
		for range 2 {
			hf := open(t, keyNotingSource{source, seen})
			if err := kind.Handle(hf, func(*holdfast.Run, string) error { return nil }); err != nil {
				t.Fatal(err)
			}
			nodes = append(nodes, hf)
		}
		runKeys(t, nodes, kind, keys, each, limit.New("tenant", limit.PerKey(), limit.Rate(rate.Count, rate.Per), limit.Burst(rate.Burst)))
		seen.check(t, rate, each)
	})
}

// TestWhyOfARateOfKeys: a job that waits for the rate of its key says so, and code takes no permits
// of it.
func TestWhyOfARateOfKeys(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		ctx, hf := t.Context(), open(t, source)
		if err := light.Handle(hf, func(*holdfast.Run, time.Duration) error { return nil }); err != nil {
			t.Fatal(err)
		}
		set(t)(limit.Set(ctx, hf, "tenant", limit.PerKey(), limit.Rate(1, time.Hour)))
		if err := hf.Start(ctx); err != nil {
			t.Fatal(err)
		}
		enqueue := func() holdfast.ID {
			job, err := light.Enqueue(ctx, hf, 0, limit.By("tenant", "acme"))
			if err != nil {
				t.Fatal(err)
			}
			return job.ID
		}
		if err := hf.Wait(ctx, enqueue()); err != nil {
			t.Fatal(err)
		}
		second := enqueue()
		next, err := limit.Next(ctx, hf, "tenant", "acme")
		if err != nil || next.Before(time.Now().Add(50*time.Minute)) {
			t.Errorf("the next may start at %v, %v", next, err)
		}
		e, err := hf.Why(ctx, second)
		if err != nil || len(e.Causes) == 0 || e.Causes[0].Code != why.RateKey || e.Causes[0].Limit != "tenant" || e.Causes[0].Key != "acme" ||
			!e.Causes[0].Until.Equal(next) {
			t.Errorf("why it does not run: %+v, %v", e, err)
		}
		if err := limit.AcquireContext(ctx, hf, "tenant"); !errors.Is(err, holdfast.ErrInvalid) {
			t.Errorf("a permit of it: %v", err)
		}
		if err := limit.Drain(ctx, hf, "tenant", time.Now().Add(time.Hour)); !errors.Is(err, holdfast.ErrInvalid) {
			t.Errorf("a drain of it: %v", err)
		}
		set(t)(limit.Set(ctx, hf, "tenant", limit.Rate(0, time.Hour)))
		if e, err = hf.Why(ctx, second); err != nil || len(e.Causes) == 0 || e.Causes[0].Code != why.RateKey || !e.Causes[0].Until.IsZero() {
			t.Errorf("why it does not run while the rate is 0: %+v, %v", e, err)
		}
		set(t)(limit.Set(ctx, hf, "tenant", limit.Rate(1, time.Hour), limit.Burst(2)))
		if err := hf.Wait(ctx, second); err != nil {
			t.Error(err)
		}
	})
}
