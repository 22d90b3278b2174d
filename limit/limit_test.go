package limit_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/internal/pgtest/ready"
	"github.com/holdfastdev/holdfast/limit"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/sqlite"
	"github.com/holdfastdev/holdfast/why"
)

var (
	light = holdfast.NewTask[time.Duration]("light")
	heavy = holdfast.NewTask[time.Duration]("heavy")
)

func onDatabases(t *testing.T, test func(t *testing.T, source store.Source)) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, sqlite.File(filepath.Join(t.TempDir(), "jobs.db")))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		pgtest.InSoak(t)
		test(t, postgres.URL(ready.Database(t)))
	})
}

func open(t *testing.T, source store.Source, opts ...holdfast.Option) *holdfast.Client {
	t.Helper()
	hf, err := holdfast.Open(t.Context(), source, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { hf.Close(context.WithoutCancel(t.Context())) })
	return hf
}

// cluster is nodes whose handlers count what runs at once.
type cluster struct {
	t     *testing.T
	nodes []*holdfast.Client

	mu   sync.Mutex
	runs map[string]int // slots that run, by kind
	most map[string]int
	over func(runs map[string]int) string
	bad  string
}

func newCluster(t *testing.T, source store.Source, nodes int, opts ...holdfast.Option) *cluster {
	t.Helper()
	c := &cluster{t: t, runs: map[string]int{}, most: map[string]int{}}
	for range nodes {
		hf := open(t, source, opts...)
		for _, kind := range []holdfast.Task[time.Duration]{light, heavy} {
			if err := kind.Handle(hf, c.run(kind.Name())); err != nil {
				t.Fatal(err)
			}
		}
		c.nodes = append(c.nodes, hf)
	}
	return c
}

func (c *cluster) run(kind string) func(*holdfast.Run, time.Duration) error {
	return func(run *holdfast.Run, takes time.Duration) error {
		c.note(kind, 1)
		defer c.note(kind, -1)
		select {
		case <-time.After(takes):
		case <-run.Done():
		}
		return nil
	}
}

func (c *cluster) note(kind string, change int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.runs[kind] += change
	c.most[kind] = max(c.most[kind], c.runs[kind])
	if c.over != nil && c.bad == "" {
		c.bad = c.over(c.runs)
	}
}

// never has each moment looked at: over says what is wrong with what runs, or "".
func (c *cluster) never(over func(runs map[string]int) string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = over
}

func (c *cluster) start() {
	c.t.Helper()
	for _, hf := range c.nodes {
		if err := hf.Start(c.t.Context()); err != nil {
			c.t.Fatal(err)
		}
	}
}

func (c *cluster) enqueue(
	kind holdfast.Task[time.Duration], n int, takes time.Duration, opts ...holdfast.EnqueueOption,
) (ids []holdfast.ID) {
	c.t.Helper()
	for i := range n {
		job, err := kind.Enqueue(c.t.Context(), c.nodes[i%len(c.nodes)], takes, opts...)
		if err != nil {
			c.t.Fatal(err)
		}
		ids = append(ids, job.ID)
	}
	return ids
}

// finish waits for jobs, and reports what was seen.
func (c *cluster) finish(ids []holdfast.ID) {
	c.t.Helper()
	for _, id := range ids {
		ctx, cancel := context.WithTimeout(c.t.Context(), 5*time.Minute)
		err := c.nodes[0].Wait(ctx, id)
		cancel()
		if err != nil {
			explained, _ := c.nodes[0].Why(c.t.Context(), id)
			limits, _ := limit.List(c.t.Context(), c.nodes[0])
			c.t.Fatalf("job %s: %v; %s; %+v", id, err, explained, limits)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bad != "" {
		c.t.Error(c.bad)
	}
}

// set is one of the functions that return a limit.
func set(t *testing.T) func(store.Limit, error) store.Limit {
	return func(l store.Limit, err error) store.Limit {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
}

// TestNeverMore: two nodes, and several limits of which some count the same jobs. All jobs run, and
// never more at once than the limits let.
func TestNeverMore(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		c := newCluster(t, source, 2)
		set(t)(limit.Set(t.Context(), c.nodes[0], "all", limit.Capacity(6), limit.Kinds("light"), limit.Weight("heavy", 3)))
		set(t)(limit.Set(t.Context(), c.nodes[0], limit.QueueName("narrow"), limit.Capacity(2), limit.Queues("narrow")))
		c.never(func(runs map[string]int) string {
			if used := runs["light"] + 3*runs["heavy"]; used > 6 {
				return fmt.Sprintf("%v at once take %d slots, and there are 6", runs, used)
			}
			return ""
		})
		ids := c.enqueue(light, 40, time.Millisecond) // before the nodes start, so that some run beside each other
		c.start()
		ids = append(ids, c.enqueue(heavy, 12, 2*time.Millisecond)...)
		ids = append(ids, c.enqueue(light, 20, time.Millisecond, holdfast.Queue("narrow"))...)
		c.finish(ids)
		if c.most["heavy"] == 0 || c.most["light"] < 2 {
			t.Errorf("at most %v ran at once: the limits were tighter than they are", c.most)
		}
	})
}

// TestCapacityChanges: what is set while jobs run holds for all nodes as they hear of it. A
// capacity of 0 stops the jobs, and a limit that is deleted lets all go on.
func TestCapacityChanges(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		ctx := t.Context()
		c := newCluster(t, source, 2)
		set(t)(limit.Set(ctx, c.nodes[0], "tap", limit.Capacity(0), limit.Kinds("light")))
		c.start()
		ids := c.enqueue(light, 10, time.Millisecond)
		free := c.enqueue(heavy, 4, time.Millisecond)
		c.finish(free)
		if c.most["light"] != 0 {
			t.Fatalf("%d jobs ran although the capacity is 0", c.most["light"])
		}
		e, err := c.nodes[1].Why(ctx, ids[0])
		if err != nil || len(e.Causes) == 0 || e.Causes[0].Code != why.Limit || e.Causes[0].Limit != "tap" {
			t.Errorf("a job that does not run for its limit is explained as %+v, %v", e, err)
		}
		set(t)(limit.Set(ctx, c.nodes[1], "tap", limit.Capacity(1)))
		c.never(func(runs map[string]int) string {
			if runs["light"] > 1 {
				return fmt.Sprintf("%d run at once, and the capacity is 1", runs["light"])
			}
			return ""
		})
		c.finish(ids)
		c.never(nil)
		eventually(t, "the nodes give back what they do not use, and it is deleted", func() bool {
			err := limit.Delete(ctx, c.nodes[0], "tap", false)
			if _, held := errors.AsType[*store.HeldError](err); held {
				return false // a node has not had the time for it
			}
			if err != nil {
				t.Fatal(err)
			}
			return true
		})
		c.finish(c.enqueue(light, 10, time.Millisecond))
	})
}

// TestDeleteHeld: a limit under which jobs run is deleted by force alone, and the error names the
// node.
func TestDeleteHeld(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		ctx := t.Context()
		c := newCluster(t, source, 1)
		set(t)(limit.Set(ctx, c.nodes[0], "one", limit.Capacity(1)))
		c.start()
		long := c.enqueue(light, 1, time.Hour)
		for {
			r, err := c.nodes[0].Get(ctx, long[0])
			if err != nil {
				t.Fatal(err)
			}
			if r.State == store.Running {
				break
			}
			runtime.Gosched()
		}
		err := limit.Delete(ctx, c.nodes[0], "one", false)
		held, ok := errors.AsType[*store.HeldError](err)
		if !ok || len(held.Holders) != 1 || held.Holders[0].Slots != 1 || !errors.Is(err, store.ErrConflict) {
			t.Fatalf("deleting a limit under which a job runs: %v", err)
		}
		if err := limit.Delete(ctx, c.nodes[0], "one", true); err != nil {
			t.Fatal(err)
		}
		if err := limit.Delete(ctx, c.nodes[0], "one", true); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("deleting a limit that is gone: %v", err)
		}
		c.finish(c.enqueue(light, 5, time.Millisecond))
		if _, err := c.nodes[0].Cancel(ctx, "", long...); err != nil {
			t.Error(err)
		}
		c.finish(long)
	})
}

// TestMoves: slots that a node holds and does not use go to the node that needs them.
func TestMoves(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		ctx := t.Context()
		first := newCluster(t, source, 1, holdfast.WithQueue("a", 10))
		set(t)(limit.Set(ctx, first.nodes[0], "both", limit.Capacity(3)))
		first.start()
		first.finish(first.enqueue(light, 10, time.Millisecond, holdfast.Queue("a"))) // it holds all three
		second := newCluster(t, source, 1, holdfast.WithQueue("b", 10))
		second.start()
		for range 3 {
			second.finish(second.enqueue(light, 6, time.Millisecond, holdfast.Queue("b")))
			first.finish(first.enqueue(light, 6, time.Millisecond, holdfast.Queue("a")))
		}
	})
}

func TestSync(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	hf := open(t, sqlite.File(sqlite.Memory))
	sync := func(want limit.Did, l limit.Limit) {
		t.Helper()
		did, err := limit.Sync(ctx, hf, l)
		if err != nil || !slices.Equal(did, []limit.Did{want}) {
			t.Errorf("a Sync did %v, %v, want %s", did, err, want)
		}
	}
	sync(limit.Added, limit.New("slack", limit.Capacity(5), limit.Kinds("light")))
	sync(limit.Unchanged, limit.New("slack", limit.Capacity(5), limit.Kinds("light")))
	sync(limit.Updated, limit.New("slack", limit.Capacity(6), limit.Kinds("light")))
	l := set(t)(limit.Set(ctx, hf, "slack", limit.Capacity(2)))
	if l.Capacity != 2 || !limit.Drifts(&l) || l.Kinds["light"] != 1 {
		t.Errorf("it is %+v", l)
	}
	sync(limit.Kept, limit.New("slack", limit.Capacity(7), limit.Kinds("light")))
	l = set(t)(limit.Reset(ctx, hf, "slack"))
	if l.Capacity != 7 || limit.Drifts(&l) {
		t.Errorf("after Reset it is %+v", l)
	}
	if _, err := limit.Reset(ctx, hf, "other"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Reset of what is not there: %v", err)
	}
	for what, l := range map[string]limit.Limit{
		"a negative capacity":         limit.New("bad", limit.Capacity(-1)),
		"a weight over the capacity":  limit.New("bad", limit.Capacity(2), limit.Weight("heavy", 3)),
		"a weight of 0":               limit.New("bad", limit.Capacity(2), limit.Weight("heavy", 0)),
		"no name":                     limit.New("", limit.Capacity(2)),
		"a queue that cannot be":      limit.New("bad", limit.Capacity(2), limit.Queues("\x00")),
		"a kind that cannot be":       limit.New("bad", limit.Capacity(2), limit.Kinds("")),
		"an option that is nil":       limit.New("bad", limit.Capacity(2), nil),
		"a capacity beyond the bound": limit.New("bad", limit.Capacity(store.MaxCapacity+1)),
	} {
		if _, err := limit.Sync(ctx, hf, l); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := limit.Sync(ctx, hf, limit.New("a", limit.Capacity(1)), limit.New("a", limit.Capacity(2))); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("a limit that is declared twice: %v", err)
	}
	all, err := limit.List(ctx, hf)
	if err != nil || len(all) != 1 {
		t.Errorf("the limits are %+v, %v", all, err)
	}
}

// runKeys starts nodes and lets them run so many jobs of each of so many keys of a limit, which is
// declared before.
func runKeys(t *testing.T, nodes []*holdfast.Client, kind holdfast.Task[string], keys, each int, tenant limit.Limit) {
	t.Helper()
	if _, err := limit.Sync(t.Context(), nodes[0], tenant); err != nil {
		t.Fatal(err)
	}
	for _, hf := range nodes {
		if err := hf.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var ids []holdfast.ID
	for i := range keys * each {
		key := strconv.Itoa(i % keys)
		job, err := kind.Enqueue(t.Context(), nodes[i%len(nodes)], key, limit.By("tenant", key))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, job.ID)
	}
	for _, id := range ids {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		err := nodes[0].Wait(ctx, id)
		cancel()
		if err != nil {
			explained, _ := nodes[0].Why(t.Context(), id)
			t.Fatalf("job %s: %v; %s", id, err, explained)
		}
	}
}

// TestPerKey: two nodes, and jobs of many keys. All run, and of each key never more than may.
func TestPerKey(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		const keys, each, capacity = 8, 12, 2
		var mu sync.Mutex
		runs, most, over := map[string]int{}, 0, ""
		kind := holdfast.NewTask[string]("of a key")
		var nodes []*holdfast.Client
		for range 2 {
			hf := open(t, source)
			err := kind.Handle(hf, func(_ *holdfast.Run, key string) error {
				mu.Lock()
				runs[key]++
				if most = max(most, runs[key]); runs[key] > capacity {
					over = key
				}
				mu.Unlock()
				time.Sleep(2 * time.Millisecond) //nolint:forbidigo // as long as a job takes
				mu.Lock()
				runs[key]--
				mu.Unlock()
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			nodes = append(nodes, hf)
		}
		runKeys(t, nodes, kind, keys, each, limit.New("tenant", limit.Capacity(capacity), limit.PerKey()))
		mu.Lock()
		defer mu.Unlock()
		if over != "" {
			t.Errorf("of the key %s %d jobs ran at once, and %d may", over, most, capacity)
		}
	})
}

// TestWhyOfAKey: a job that waits for its key says so, and what is wrong is refused.
func TestWhyOfAKey(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		hf := open(t, source)
		ended := make(chan struct{})
		err := light.Handle(hf, func(*holdfast.Run, time.Duration) error { <-ended; return nil })
		if err != nil {
			t.Fatal(err)
		}
		set(t)(limit.Set(t.Context(), hf, "tenant", limit.Capacity(1), limit.PerKey()))
		if err := hf.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		enqueue := func() holdfast.ID {
			job, err := light.Enqueue(t.Context(), hf, 0, limit.By("tenant", "acme"))
			if err != nil {
				t.Fatal(err)
			}
			return job.ID
		}
		first := enqueue()
		for record, err := hf.Get(t.Context(), first); record.State != store.Running; record, err = hf.Get(t.Context(), first) {
			if err != nil {
				t.Fatal(err)
			}
		}
		second := enqueue()
		e, err := hf.Why(t.Context(), second)
		if err != nil || len(e.Causes) == 0 || e.Causes[0].Code != why.LimitKey || e.Causes[0].Limit != "tenant" || e.Causes[0].Key != "acme" ||
			e.Causes[0].Job != first {
			t.Errorf("why it does not run: %+v, %v", e, err)
		}
		if running, err := limit.Running(t.Context(), hf, "tenant", "acme", 10); err != nil || !slices.Equal(running, []holdfast.ID{first}) {
			t.Errorf("who runs: %v, %v", running, err)
		}
		for what, opt := range map[string]holdfast.EnqueueOption{
			"no key": limit.By("tenant", ""), "no limit": limit.By("", "acme"), "@": limit.By("a@b", "c"),
		} {
			if _, err := light.Enqueue(t.Context(), hf, 0, opt); !errors.Is(err, holdfast.ErrInvalid) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if err := hf.Edit(t.Context(), "", second, limit.By("tenant", "other")); !errors.Is(err, holdfast.ErrInvalid) {
			t.Errorf("the key is changed: %v", err)
		}
		close(ended)
		if err := hf.Wait(t.Context(), second); err != nil {
			t.Error(err)
		}
	})
}

// TestNames: a limit that is called like that of a queue or a kind is of that one alone.
func TestNames(t *testing.T) {
	t.Parallel()
	hf := open(t, sqlite.File(sqlite.Memory))
	capacity := limit.Capacity(2)
	if l := set(t)(limit.Set(t.Context(), hf, "queue:mail", capacity)); !slices.Equal(l.Queues, []string{"mail"}) {
		t.Errorf("the limit of a queue counts the jobs of %q", l.Queues)
	}
	if l := set(t)(limit.Set(t.Context(), hf, "kind:sync", capacity, limit.Weight("sync", 2))); len(l.Kinds) != 1 || l.Kinds["sync"] != 2 {
		t.Errorf("the limit of a kind counts the jobs of %v", l.Kinds)
	}
	if l := set(t)(limit.Set(t.Context(), hf, "kind:other", capacity)); len(l.Kinds) != 1 || l.Kinds["other"] != 1 {
		t.Errorf("the limit of a kind counts the jobs of %v", l.Kinds)
	}
	for name, opts := range map[string][]limit.Option{
		"queue:one":   {capacity, limit.Queues("other")},
		"queue:two":   {capacity, limit.Queues("two", "other")},
		"queue:three": {capacity, limit.PerKey()},
		"kind:one":    {capacity, limit.Kinds("other")},
		"kind:two":    {capacity, limit.Kinds("two", "other")},
		"kind:three":  {limit.Rate(1, time.Second), limit.NoJobs()},
		"burst alone": {capacity, limit.Burst(10)},
		"a burst":     {limit.Burst(10)},
	} {
		if _, err := limit.Set(t.Context(), hf, name, opts...); !errors.Is(err, holdfast.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDeletePerKey: a limit per key is deleted while its jobs run, also without force.
func TestDeletePerKey(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		hf := open(t, source)
		set(t)(limit.Set(t.Context(), hf, "tenant", limit.Capacity(1), limit.PerKey()))
		both, kind := make(chan struct{}, 2), holdfast.NewTask[int]("of a key")
		end := make(chan struct{})
		err := kind.Handle(hf, func(run *holdfast.Run, _ int) error {
			both <- struct{}{}
			select {
			case <-end:
			case <-run.Done():
			}
			return nil
		})
		if err == nil {
			err = hf.Start(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range 2 {
			if _, err := kind.Enqueue(t.Context(), hf, i, limit.By("tenant", "acme")); err != nil {
				t.Fatal(err)
			}
		}
		defer close(end)
		eventually(t, "one job runs", func() bool { return len(both) == 1 })
		if err := limit.Delete(t.Context(), hf, "tenant", false); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the other one runs, too", func() bool { return len(both) == 2 })
	})
}

// TestBecomesPerKey: the slots that a node has of a limit which becomes one per key are given back,
// as they count for nothing then.
func TestBecomesPerKey(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		hf := open(t, source)
		set(t)(limit.Set(t.Context(), hf, "x", limit.Capacity(5), limit.Rate(1000, time.Second)))
		err := light.Handle(hf, func(*holdfast.Run, time.Duration) error { return nil })
		if err == nil {
			err = hf.Start(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		held := func() bool {
			l, err := limit.Get(t.Context(), hf, "x")
			return err == nil && len(l.Holders) > 0
		}
		job, err := light.Enqueue(t.Context(), hf, 0)
		if err == nil {
			err = hf.Wait(t.Context(), job.ID)
		}
		if err != nil || !held() {
			t.Fatalf("after a job no slots are held, %v", err)
		}
		set(t)(limit.Set(t.Context(), hf, "x", limit.PerKey()))
		eventually(t, "the slots are given back", func() bool { return !held() })
	})
}

// TestHeavierThanAnyLimit: jobs run whose weights, as they are now, are more than any limit has.
// The other limits of their node go on.
func TestHeavierThanAnyLimit(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		const run = 3
		hf := open(t, source)
		running, end := make(chan struct{}, run), make(chan struct{})
		err := errors.Join(
			heavy.Handle(hf, func(r *holdfast.Run, _ time.Duration) error {
				running <- struct{}{}
				select {
				case <-end:
				case <-r.Done():
				}
				return nil
			}),
			light.Handle(hf, func(*holdfast.Run, time.Duration) error { return nil }),
			hf.Start(t.Context()),
		)
		if err != nil {
			t.Fatal(err)
		}
		defer close(end)
		for range run {
			if _, err := heavy.Enqueue(t.Context(), hf, 0); err != nil {
				t.Fatal(err)
			}
		}
		for range run {
			<-running
		}
		set(t)(limit.Set(t.Context(), hf, "memory", limit.Capacity(1_000_000_000), limit.Weight("heavy", 400_000_000)))
		set(t)(limit.Set(t.Context(), hf, "small", limit.Capacity(1), limit.Kinds("light")))
		eventually(t, "it is known what runs", func() bool {
			l, err := limit.Get(t.Context(), hf, "memory")
			return err == nil && len(l.Holders) == 1 && l.Holders[0].Slots == run*400_000_000
		})
		job, err := light.Enqueue(t.Context(), hf, 0)
		if err == nil {
			err = hf.Wait(t.Context(), job.ID)
		}
		if err != nil {
			t.Error(err)
		}
	})
}
