package backlog

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// jobs is a store of jobs that wait, by place, of which only counts are asked.
type jobs struct {
	store.Store

	mu     sync.Mutex
	wait   map[place]int
	counts int           // calls
	keys   int           // that these asked for
	takes  time.Duration // a call
	err    error
}

func (s *jobs) begin() func() {
	pass(s.takes)
	s.mu.Lock()
	s.counts++
	return s.mu.Unlock
}

func (s *jobs) Count(_ context.Context, params store.CountParams) (counted store.Counted, err error) {
	defer s.begin()()
	for at, n := range s.wait {
		if at.namespace == params.Filter.Namespace {
			counted.N += n
		}
	}
	return counted, s.err
}

func (s *jobs) WaitingOfKeys(_ context.Context, params store.WaitingOfKeysParams) (counts []int, err error) {
	defer s.begin()()
	s.keys += len(params.Keys)
	for _, key := range params.Keys {
		counts = append(counts, min(params.Most, s.wait[at(params.Namespace, key.Key)]))
	}
	return counts, s.err
}

// add lets more jobs wait.
func (s *jobs) add(at place, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wait[at] += n
}

// pass lets virtual time pass.
func pass(d time.Duration) { time.Sleep(d) } //nolint:forbidigo // in a bubble of testing/synctest

// at is where the jobs of a key are in the store, "" for none.
func at(namespace, key string) place {
	p := place{space: space{0, namespace}}
	if key != "" {
		p.key = store.KeyOfLimit{Limit: "l", Key: key}
	}
	return p
}

type refused Full

func (f refused) Error() string { return fmt.Sprintf("%+v", Full(f)) }

type tx struct{}

func newBounds(rules ...Rule) (*Bounds, *jobs) {
	st := &jobs{wait: map[place]int{}}
	for i := range rules {
		rules[i].Queue = "q"
	}
	inTx := func(ctx context.Context) bool { return ctx.Value(tx{}) != nil }
	return New(st, rules, inTx, func(f Full) error { return refused(f) }), st
}

// of are jobs of one namespace, one of each key.
func of(namespace string, keys ...string) (list []*store.Job) {
	for _, key := range keys {
		j := &store.Job{Namespace: namespace, Queue: "q"}
		if key != "" {
			j.Options.Limit, j.Options.LimitKey = "l", key
		}
		list = append(list, j)
	}
	return list
}

// into enqueues jobs, which wait in the store then.
func into(ctx context.Context, b *Bounds, st *jobs, list ...*store.Job) error {
	return b.Around(ctx, list, func(context.Context) error {
		for _, j := range list {
			st.add(at(j.Namespace, j.Options.LimitKey), 1)
		}
		return nil
	})
}

func isFull(t *testing.T, err error) bool {
	t.Helper()
	if _, full := errors.AsType[refused](err); err != nil && !full {
		t.Fatal(err)
	}
	return err != nil
}

// TestSeveralNamespaces: an enqueue that one of them refuses leaves the room of the others as it
// was.
func TestSeveralNamespaces(t *testing.T) {
	t.Parallel()
	b, st := newBounds(Rule{Most: 1})
	st.wait[at("full", "")] = 1
	var all []*store.Job
	for _, namespace := range []string{"a", "full", "z"} {
		all = append(all, of(namespace, "")...)
	}
	if !isFull(t, into(t.Context(), b, st, all...)) {
		t.Fatal("there is no room in one namespace")
	}
	for _, namespace := range []string{"a", "z"} {
		if isFull(t, into(t.Context(), b, st, of(namespace, "")...)) {
			t.Fatalf("there is room for one job in namespace %s", namespace)
		}
		if !isFull(t, into(t.Context(), b, st, of(namespace, "")...)) {
			t.Fatalf("there is no room for two jobs in namespace %s", namespace)
		}
	}
}

// TestFailures: an enqueue that stores nothing leaves its room, and one that may have stored
// something does not.
func TestFailures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		next  func(context.Context) error
		stays bool
	}{
		{"it is refused", func(context.Context) error { return fmt.Errorf("%w: args", store.ErrInvalid) }, false},
		{"its answer was lost", func(context.Context) error { return fmt.Errorf("%w: gone", store.ErrUnavailable) }, true},
		{"it panics", func(context.Context) error { panic("oh") }, true},
	} {
		b, st := newBounds(Rule{Most: 1}, Rule{Keys: true, Most: 1})
		func() {
			defer func() { _ = recover() }()
			_ = b.Around(t.Context(), of("a", "k"), c.next)
		}()
		if stays := isFull(t, into(t.Context(), b, st, of("a", "k")...)); stays != c.stays {
			t.Errorf("%s: it counts: %v", c.name, stays)
		}
		for at, r := range b.rooms {
			if r.open != 0 {
				t.Errorf("%s: %d jobs are being enqueued into %+v", c.name, r.open, at)
			}
		}
	}
}

// TestAgainstModel: enqueues of any jobs, of which some end, are let through exactly if all bounds
// have room by a plain count. Counts are exact, as time passes between two.
func TestAgainstModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			queue, key := 1+random.IntN(8), 1+random.IntN(4)
			b, st := newBounds(Rule{Most: queue}, Rule{Keys: true, Most: key})
			model := map[place]int{} // that wait
			for range 100 {
				if random.IntN(3) == 0 { // some end
					for p, n := range model {
						ended := random.IntN(n + 1)
						model[p] -= ended
						st.add(p, -ended)
					}
					pass(every)
				}
				var list []*store.Job
				for range 1 + random.IntN(3) {
					list = append(list, of([]string{"a", "b"}[random.IntN(2)], []string{"", "x", "y"}[random.IntN(3)])...)
				}
				more, all := map[place]int{}, map[string]int{}
				for _, j := range list {
					more[at(j.Namespace, j.Options.LimitKey)]++
				}
				fits := true
				for p, n := range more {
					fits = fits && (p.key.Key == "" || model[p]+n <= key)
					all[p.namespace] += n
				}
				for namespace, n := range all {
					for _, k := range []string{"", "x", "y"} {
						n += model[at(namespace, k)]
					}
					fits = fits && n <= queue
				}
				err := into(t.Context(), b, st, list...)
				if isFull(t, err) == fits {
					t.Fatalf("seed %d: %v of %v in bounds of %d and %d: %v", seed, more, model, queue, key, err)
				}
				if fits {
					for p, n := range more {
						model[p] += n
					}
				}
			}
			pass(time.Minute) // until nothing is to be dropped
		})
	}
}

// TestWaitersPass: enqueues that need the same keys in any order, and the room of the queue, all
// come through as jobs end, and hold nothing while they wait.
func TestWaitersPass(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, st := newBounds(Rule{Keys: true, Most: 2, Wait: true}, Rule{Most: 3, Wait: true})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		var all sync.WaitGroup
		for i, keys := range [][]string{{"x", "y"}, {"y", "x"}, {"x", "x"}, {"y", "y", ""}, {"z", "x"}, {"", "z", "y"}} {
			for range 5 {
				all.Go(func() {
					if err := into(ctx, b, st, of("a", keys...)...); err != nil {
						t.Errorf("%d: %v", i, err)
					}
				})
			}
		}
		done := make(chan struct{})
		go func() { all.Wait(); close(done) }()
		for ended := false; !ended; {
			select {
			case <-done:
				ended = true
			case <-time.After(100 * time.Millisecond): // the worker
				st.mu.Lock()
				sum := 0
				for p, n := range st.wait {
					sum += n
					if p.key.Key != "" && n > 2 {
						t.Errorf("%d jobs of %+v wait", n, p)
					}
					st.wait[p] = 0
				}
				st.mu.Unlock()
				if sum > 3 {
					t.Errorf("%d jobs wait in the queue", sum)
				}
			}
		}
		b.mu.Lock()
		for p, r := range b.rooms {
			if r.open != 0 {
				t.Errorf("%d jobs are being enqueued into %+v", r.open, p)
			}
		}
		b.mu.Unlock()
		pass(time.Minute)
	})
}

// TestCountsTogether: an enqueue of many keys is one count, and those of others that come while it
// is counted are one more.
func TestCountsTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, st := newBounds(Rule{Keys: true, Most: 1})
		st.takes = time.Second
		var many []*store.Job
		for i := range 500 {
			many = append(many, of("a", fmt.Sprint("first ", i))...)
		}
		var all sync.WaitGroup
		all.Go(func() {
			if err := into(t.Context(), b, st, many...); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		for i := range 300 {
			all.Go(func() {
				if err := into(t.Context(), b, st, of("a", fmt.Sprint("later ", i))...); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if st.counts != 2 || st.keys != 800 {
			t.Errorf("%d counts of %d keys", st.counts, st.keys)
		}
		if len(b.spaces) != 0 {
			t.Errorf("%d spaces are left", len(b.spaces))
		}
		pass(time.Minute)
	})
}

// TestIdleKeysAreDropped: nothing is kept of keys that were not used for long, and all of those
// that are used, or into which something is being enqueued.
func TestIdleKeysAreDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, st := newBounds(Rule{Keys: true, Most: 2})
		release := make(chan struct{})
		go func() {
			_ = b.Around(t.Context(), of("a", "open"), func(context.Context) error { <-release; return nil })
		}()
		for i := range 10_000 {
			if err := into(t.Context(), b, st, of("a", strconv.Itoa(i))...); err != nil {
				t.Fatal(err)
			}
		}
		for range 60 {
			pass(time.Second)
			_ = into(t.Context(), b, st, of("a", "used")...)
		}
		b.mu.Lock()
		_, open := b.rooms[place{space{0, "a"}, store.KeyOfLimit{Limit: "l", Key: "open"}}]
		if n := len(b.rooms); n != 2 || !open {
			t.Errorf("%d rooms are left; that of what is being enqueued: %v", n, open)
		}
		b.mu.Unlock()
		if _ = into(t.Context(), b, st, of("a", "open")...); !isFull(t, into(t.Context(), b, st, of("a", "open")...)) {
			t.Error("what is being enqueued does not count")
		}
		close(release)
		pass(time.Hour)
		b.mu.Lock()
		defer b.mu.Unlock()
		if len(b.rooms) != 0 || b.sweeps {
			t.Errorf("%d rooms are left, and it is swept again: %v", len(b.rooms), b.sweeps)
		}
	})
}

// TestNobodyWaitsInTransactions: neither for room, nor long for a count that does not come; what
// was let through counts all the same.
func TestNobodyWaitsInTransactions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, st := newBounds(Rule{Keys: true, Most: 1, Wait: true})
		held := &held{jobs: st}
		b.store = held
		ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), tx{}, true), time.Hour)
		defer cancel()
		began := time.Now()
		if isFull(t, into(ctx, b, st, of("a", "x")...)) {
			t.Error("nothing is known to wait")
		}
		if took := time.Since(began); took > every {
			t.Errorf("it took %v", took)
		}
		err := into(ctx, b, st, of("a", "x")...)
		if full, is := errors.AsType[refused](err); !is || full.Waiting != 1 || full.Key.Key != "x" || full.Cause != nil {
			t.Errorf("the second one: %v", err)
		}
		pass(time.Minute)
	})
}

// TestASlowCountIsOld: a count that came late, as in an outage, does not keep an enqueue out for
// many times as long.
func TestASlowCountIsOld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, st := newBounds(Rule{Most: 1})
		st.add(at("a", ""), 1)
		st.takes = time.Minute
		if !isFull(t, into(t.Context(), b, st, of("a", "")...)) {
			t.Error("there is no room")
		}
		st.takes = 0
		st.add(at("a", ""), -1)
		if pass(rarely); isFull(t, into(t.Context(), b, st, of("a", "")...)) {
			t.Errorf("%v after a count that took a minute nothing else is known", rarely)
		}
	})
}

// held is a store whose counts do not return before their context ends.
type held struct{ *jobs }

func (h *held) WaitingOfKeys(ctx context.Context, _ store.WaitingOfKeysParams) ([]int, error) {
	<-ctx.Done()
	return nil, fmt.Errorf("%w: %w", store.ErrUnavailable, ctx.Err())
}

// TestRefusalComesBeforeWaiting: an enqueue that one bound refuses does not wait for another one,
// and one that can never have room does not wait at all.
func TestRefusalComesBeforeWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, st := newBounds(Rule{Most: 1, Wait: true}, Rule{Keys: true, Most: 1})
		st.wait[at("a", "x")] = 1
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		began := time.Now()
		err := into(ctx, b, st, of("a", "x")...)
		if full, is := errors.AsType[refused](err); !is || full.Key.Key != "x" {
			t.Errorf("a queue that waits, and a key that does not: %v", err)
		}
		err = into(ctx, b, st, of("b", "", "")...)
		if full, is := errors.AsType[refused](err); !is || full.Key.Key != "" || full.Most != 1 {
			t.Errorf("two jobs where one may wait: %v", err)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("it took %v", took)
		}
		pass(time.Minute)
	})
}
