package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/hooks"
	"github.com/holdfastdev/holdfast/store"
)

// told collects what hooks are told of jobs, in the order in which it came, and of nodes.
type told struct {
	mu   sync.Mutex
	of   map[holdfast.ID][]string
	died []int64
	odd  []string // events that lack something
}

func (c *told) add(job hooks.Job, what string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[holdfast.ID][]string{}
	}
	text := strings.TrimSpace(fmt.Sprintln(append([]any{what}, args...)...))
	c.of[job.ID] = append(c.of[job.ID], text)
	if job.Namespace != "default" || job.Kind == "" || job.Queue != "default" {
		c.odd = append(c.odd, fmt.Sprintf("%s: %+v", text, job))
	}
}

func (c *told) hooks() hooks.Hooks {
	return hooks.Hooks{
		Enqueued: func(e hooks.Enqueued) { c.add(e.Job, "enqueued") },
		Started:  func(e hooks.Started) { c.add(e.Job, "started", e.Attempt) },
		Retried:  func(e hooks.Retried) { c.add(e.Job, "retried", e.State, e.Reason) },
		Parked:   func(e hooks.Parked) { c.add(e.Job, "parked", e.Reason) },
		Finished: func(e hooks.Finished) { c.add(e.Job, "finished", e.State, "("+e.Reason+")") },
		Rescued:  func(e hooks.Rescued) { c.add(e.Job, "rescued", e.State, e.Reason) },
		NodeDied: func(e hooks.NodeDied) { c.mu.Lock(); c.died = append(c.died, e.Node); c.mu.Unlock() },
	}
}

// about returns what was told of a job, sorted, because ends and beginnings may change places.
func (c *told) about(id holdfast.ID) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	sorted := slices.Sorted(slices.Values(c.of[id]))
	return strings.Join(sorted, ", ")
}

// eventually waits until what was told of a job is as wanted.
func (c *told) eventually(t *testing.T, what string, id holdfast.ID, want string) {
	t.Helper()
	sorted := strings.Split(want, ", ")
	slices.Sort(sorted)
	want = strings.Join(sorted, ", ")
	defer func() {
		if got := c.about(id); got != want {
			t.Errorf("%s: told were\n%s\nnot\n%s", what, got, want)
		}
	}()
	eventually(t, what, func() bool { return c.about(id) == want })
}

// cutSource is a database whose connections can be cut.
type cutSource struct {
	store.Source
	cut *atomic.Bool
}

func (s cutSource) Open(ctx context.Context) (store.Store, error) {
	st, err := s.Source.Open(ctx)
	return cutStore{st, s.cut}, err
}

type cutStore struct {
	store.Store
	cut *atomic.Bool
}

func (s cutStore) check() error {
	if s.cut.Load() {
		return fmt.Errorf("%w: cut", store.ErrUnavailable)
	}
	return nil
}

func (s cutStore) Apply(ctx context.Context, b *store.Batch) error {
	if err := s.check(); err != nil {
		return err
	}
	return s.Store.Apply(ctx, b)
}

func (s cutStore) Claim(ctx context.Context, p store.ClaimParams) ([]store.Claimed, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	return s.Store.Claim(ctx, p)
}

func (s cutStore) Beat(ctx context.Context, p store.BeatParams) (store.Beat, error) {
	if err := s.check(); err != nil {
		return store.Beat{}, err
	}
	return s.Store.Beat(ctx, p)
}

func (s cutStore) Rescue(ctx context.Context, p store.RescueParams) (store.Rescued, error) {
	if err := s.check(); err != nil {
		return store.Rescued{}, err
	}
	return s.Store.Rescue(ctx, p)
}

// TestHooksTellFingerprints: a failure is told with the fingerprint that is stored with its job,
// and another end with none.
func TestHooksTellFingerprints(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		ctx := t.Context()
		told := make(chan hooks.Finished, 2)
		hf := openOn(t, source, holdfast.WithHooks(hooks.Hooks{Finished: func(e hooks.Finished) { told <- e }}))
		kind := holdfast.NewTask[bool]("fingerprinted")
		err := kind.Handle(hf, func(_ *holdfast.Run, fails bool) error {
			if fails {
				return holdfast.Fail(errors.New("order 17 is broken"))
			}
			return nil
		})
		if err == nil {
			err = hf.Start(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, fails := range []bool{true, false} {
			job, err := kind.Enqueue(ctx, hf, fails)
			if err != nil {
				t.Fatal(err)
			}
			e := <-told
			record, err := hf.Get(ctx, job.ID)
			if err != nil || e.ID != job.ID || e.Fingerprint != record.Fingerprint || (e.Fingerprint != 0) != fails {
				t.Errorf("%+v, %+v, %v", e, record, err)
			}
		}
	})
}

// TestHooksTellDeadLetters: each failure for good, and of a group whether it is new; also of jobs
// that failed from outside.
func TestHooksTellDeadLetters(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		ctx := t.Context()
		type letter struct {
			id  holdfast.ID
			new bool
		}
		told := make(chan letter, 10)
		see := func(e hooks.DeadLetter) {
			if e.State != store.Failed {
				t.Errorf("%+v", e)
			}
			told <- letter{e.ID, e.New}
		}
		hf := openOn(t, source, holdfast.WithHooks(hooks.Hooks{DeadLetter: see}))
		kind := holdfast.NewTask[string]("lettered")
		err := kind.Handle(hf, func(_ *holdfast.Run, what string) error {
			if what == "" {
				return nil
			}
			return holdfast.Fail(errors.New(what))
		})
		if err == nil {
			err = hf.Start(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range []struct {
			what string
			new  bool
		}{{"order 17 is broken", true}, {"", false}, {"order 18 is broken", false}, {"no such mailbox", true}, {"no such mailbox", false}} {
			job, err := kind.Enqueue(ctx, hf, step.what)
			if err != nil {
				t.Fatal(err)
			}
			_ = hf.Wait(ctx, job.ID)
			if step.what == "" {
				continue
			}
			if got := <-told; got != (letter{job.ID, step.new}) {
				t.Errorf("%q: told %+v, want %v", step.what, got, step.new)
			}
		}
		outside, err := kind.Enqueue(ctx, hf, "later", holdfast.Delay(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := hf.Cancel(ctx, "not needed", outside.ID); err != nil {
			t.Fatal(err)
		}
		other := openOn(t, aged{source}, holdfast.WithHooks(hooks.Hooks{DeadLetter: see}))
		if err := hf.Stop(ctx); err != nil {
			t.Fatal(err)
		}
		if err := kind.Handle(other, func(*holdfast.Run, string) error { return holdfast.Fail(errors.New("no such mailbox")) }); err != nil {
			t.Fatal(err)
		}
		if err := other.Start(ctx); err != nil {
			t.Fatal(err)
		}
		last, err := kind.Enqueue(ctx, other, "x")
		if err != nil {
			t.Fatal(err)
		}
		if got := <-told; got != (letter{last.ID, false}) {
			t.Errorf("another process tells %+v of the group", got)
		}
	})
}

// aged is a database whose groups of dead letters began six seconds before they did: what a process
// finds that looks after these.
type aged struct{ store.Source }

func (a aged) Open(ctx context.Context) (store.Store, error) {
	st, err := a.Source.Open(ctx)
	return agedStore{st}, err
}

type agedStore struct{ store.Store }

func (a agedStore) DeadGroups(ctx context.Context, params store.DeadParams) (store.DeadPage, error) {
	page, err := a.Store.DeadGroups(ctx, params)
	for i := range page.Groups {
		page.Groups[i].FirstSeen = page.Groups[i].FirstSeen.Add(-6 * time.Second)
	}
	return page, err
}

// TestAHookThatHangsHoldsUpNothing: ten thousand jobs are drained, the node stops and the client is
// closed while a hook does not return. What it was not told of is counted.
func TestAHookThatHangsHoldsUpNothing(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		const many = 10_000
		ctx := t.Context()
		leave := make(chan struct{})
		left := make(chan struct{})
		hf, err := holdfast.Open(ctx, source, holdfast.WithHooks(hooks.Hooks{
			Started:  func(hooks.Started) { <-leave; close(left) }, // closing it twice would panic
			Finished: func(hooks.Finished) {},
		}))
		if err != nil {
			t.Fatal(err)
		}
		kind := holdfast.NewTask[int]("hooked")
		if err := kind.Handle(hf, func(*holdfast.Run, int) error { return nil }); err != nil {
			t.Fatal(err)
		}
		jobs, err := kind.EnqueueMany(ctx, hf, make([]int, many))
		if err != nil {
			t.Fatal(err)
		}
		ran := make(chan error, 1)
		go func() { ran <- hf.Run(ctx) }()
		ids := make([]holdfast.ID, len(jobs))
		for i, job := range jobs {
			ids[i] = job.ID
		}
		if _, err := hf.WaitAll(ctx, ids...); err != nil {
			t.Error(err)
		}
		if err := errors.Join(hf.Stop(ctx), <-ran); err != nil {
			t.Error(err)
		}
		// Two events of each, of which one is being told and the queue has its fill.
		if dropped := hf.Health().HooksDropped; dropped != 2*many-1-hooks.QueueSize {
			t.Errorf("%d events were dropped", dropped)
		}
		if err := hf.Close(ctx); err != nil { // it returns, though the hook has not
			t.Error(err)
		}
		close(leave)
		<-left
	})
}

// TestAHookThatPanics: neither the jobs nor the other hooks notice.
func TestAHookThatPanics(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		var c told
		panics := hooks.Hooks{Enqueued: func(hooks.Enqueued) { panic("in a hook") }, Started: func(hooks.Started) { panic("in a hook") }}
		hf := openOn(t, source, holdfast.WithHooks(panics), holdfast.WithHooks(c.hooks()))
		kind := holdfast.NewKind[int, int]("hooked")
		if err := kind.Handle(hf, func(_ *holdfast.Run, n int) (int, error) { return n, nil }); err != nil {
			t.Fatal(err)
		}
		run(t, hf)
		job, err := kind.Enqueue(t.Context(), hf, 1)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := job.Wait(t.Context()); got != 1 || err != nil {
			t.Errorf("%d, %v", got, err)
		}
		c.eventually(t, "the other hook", job.ID, "enqueued, started 1, finished completed ()")
	})
}
