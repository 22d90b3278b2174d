package limit_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/limit"
	"github.com/holdfastdev/holdfast/store"
)

// eventually waits for a condition.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	late := time.After(5 * time.Minute)
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for !condition() {
		select {
		case <-look.C:
		case <-late:
			t.Fatalf("%s: not within five minutes", what)
		}
	}
}

// TestBacklog: what would be too many is refused as a whole and leaves nothing; there is room again
// once jobs have run.
func TestBacklog(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		hf := open(t, source, limit.Backlog("imports", 10))
		into := func(n int, queue string, opts ...holdfast.EnqueueOption) error {
			var items []holdfast.BatchItem
			for range n {
				items = append(items, light.Item(0, append(opts, holdfast.Queue(queue))...))
			}
			_, err := hf.EnqueueBatch(t.Context(), items)
			return err
		}
		if err := errors.Join(into(6, "imports"), into(4, "imports", holdfast.Delay(time.Hour)), into(100, "other")); err != nil {
			t.Fatal(err)
		}
		err := into(1, "imports")
		full, ok := errors.AsType[*limit.BacklogError](err)
		if !ok || !errors.Is(err, store.ErrConflict) || full.Waiting != 10 || full.Most != 10 || full.Queue != "imports" {
			t.Fatal(err)
		}
		// Another client counts, too.
		second := open(t, source, limit.Backlog("imports", 11))
		if _, err := light.Enqueue(t.Context(), second, 0, holdfast.Queue("imports")); err != nil {
			t.Fatal(err)
		}
		if _, err := light.Enqueue(t.Context(), second, 0, holdfast.Queue("imports")); !errors.Is(err, store.ErrConflict) {
			t.Fatal(err)
		}
		if n, err := hf.Count(t.Context(), store.Filter{Queues: []string{"imports"}}); err != nil || n.N != 11 {
			t.Fatal(n, err)
		}
		if err := light.Handle(second, func(*holdfast.Run, time.Duration) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if err := second.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		eventually(t, "there is room again", func() bool { return into(6, "imports") == nil })
		if err := into(11, "imports"); !errors.Is(err, store.ErrConflict) {
			t.Error(err)
		}
	})
}

// givesUp returns why an enqueue that waits for room is refused in the end. On a busy machine the
// first count may take longer than the enqueue was to wait: one that had no time to see that there
// is no room has more of it the next time.
func givesUp(t *testing.T, enqueue func(context.Context) error) *limit.BacklogError {
	t.Helper()
	for wait := 20 * time.Millisecond; ; wait *= 2 {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		err := enqueue(ctx)
		cancel()
		if full, ok := errors.AsType[*limit.BacklogError](err); ok {
			if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, store.ErrConflict) {
				t.Fatal(err)
			}
			return full
		}
		if wait > 10*time.Second || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
	}
}

// TestBacklogWaits: many producers that are faster than the workers are slowed down, and never
// exceed the bound, as they share a client; who gives up is told why.
func TestBacklogWaits(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		const most, all = 20, 100
		hf := open(t, source, limit.BacklogWait("default", most), holdfast.WithSlots(5))
		for range most {
			if _, err := light.Enqueue(t.Context(), hf, 0); err != nil {
				t.Fatal(err)
			}
		}
		_ = givesUp(t, func(ctx context.Context) error {
			_, err := light.Enqueue(ctx, hf, 0)
			return err
		})
		var over atomic.Int64
		if err := light.Handle(hf, func(*holdfast.Run, time.Duration) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if err := hf.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		var producers sync.WaitGroup
		for range 8 {
			producers.Go(func() {
				for range (all - most) / 8 {
					if _, err := light.Enqueue(t.Context(), hf, 0); err != nil {
						t.Error(err)
						return
					}
					n, err := hf.Count(t.Context(), store.Filter{States: []store.State{store.Available}})
					if err != nil || n.N > most {
						over.Add(1)
					}
				}
			})
		}
		producers.Wait()
		if over.Load() > 0 {
			t.Errorf("more than %d jobs were seen to wait %d times", most, over.Load())
		}
	})
}

// TestBacklogLetsRunsOn: the children of runs are let through.
func TestBacklogLetsRunsOn(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		parent := holdfast.NewKind[int, int]("parent")
		hf := open(t, source, limit.Backlog("default", 1))
		if err := light.Handle(hf, func(*holdfast.Run, time.Duration) error { return nil }); err != nil {
			t.Fatal(err)
		}
		child := holdfast.NewKind[int, int]("child")
		if err := child.Handle(hf, func(_ *holdfast.Run, n int) (int, error) { return n, nil }); err != nil {
			t.Fatal(err)
		}
		err := parent.Handle(hf, func(run *holdfast.Run, _ int) (sum int, err error) {
			var children []*holdfast.Child[int]
			for n := range 5 {
				c, err := child.Start(run, n)
				if err != nil {
					return 0, err
				}
				children = append(children, c)
			}
			for _, c := range children {
				n, err := c.Wait(run)
				if err != nil {
					return 0, err
				}
				sum += n
			}
			return sum, nil
		})
		if err == nil {
			err = hf.Start(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		job, err := parent.Enqueue(t.Context(), hf, 0)
		if err != nil {
			t.Fatal(err)
		}
		if sum, err := job.Wait(t.Context()); sum != 10 || err != nil {
			t.Error(sum, err)
		}
		if r, err := hf.Get(t.Context(), job.ID); err != nil || len(r.Attempts) > 0 {
			t.Errorf("%+v, %v", r.Attempts, err)
		}
	})
}
