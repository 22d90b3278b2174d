//go:build soak

package holdfast_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// TestHooksAreToldOfEachEndOnce: of each run one end, and of each job.
func TestHooksAreToldOfEachEndOnce(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		ctx := t.Context()
		var c told
		hf := openOn(t, source, holdfast.WithHooks(c.hooks()))
		began := make(chan struct{}, 10)
		kind := holdfast.NewKind[string, string]("hooked", holdfast.MaxAttempts(3), holdfast.Backoff(time.Millisecond, time.Millisecond))
		again := map[string]bool{} // of the snoozing one
		err := kind.Handle(hf, func(run *holdfast.Run, how string) (string, error) {
			switch how {
			case "completes":
				return how, nil
			case "retried":
				if run.Attempt() < 3 {
					return "", errors.New("not yet")
				}
				return how, nil
			case "exhausted":
				return "", errors.New("never")
			case "fails":
				return "", holdfast.Fail(errors.New("no use"))
			case "cancels":
				return "", holdfast.Cancel("changed its mind")
			case "snoozes":
				if !again[how] {
					again[how] = true
					return "", holdfast.Snooze(0)
				}
				return how, nil
			case "parks":
				for range 3 {
					if err := run.Sleep(time.Second); err != nil {
						return "", err
					}
				}
				return how, nil
			case "continues":
				return "", continueAsNew(run, "completes")
			case "hands over":
				return "", holdfast.HandOver(0)
			case "runs":
				began <- struct{}{}
				<-run.Done()
				return "", context.Cause(run)
			case "has a child":
				if _, err := holdfast.NewTask[string]("nobody's").Start(run, "x"); err != nil {
					return "", err
				}
				return how, nil
			}
			return "", run.Sleep(time.Hour)
		})
		if err != nil {
			t.Fatal(err)
		}
		run(t, hf)
		enqueue := func(how string, opts ...holdfast.EnqueueOption) holdfast.ID {
			t.Helper()
			job, err := kind.Enqueue(ctx, hf, how, opts...)
			if err != nil {
				t.Fatal(err)
			}
			return job.ID
		}
		for how, want := range map[string]string{
			"completes": "enqueued, started 1, finished completed ()",
			"retried":   "enqueued, started 1, retried retryable error, started 2, retried retryable error, started 3, finished completed ()",
			"exhausted": "enqueued, started 1, retried retryable error, started 2, retried retryable error, started 3, " +
				"finished failed (attempts_exhausted)",
			"fails":     "enqueued, started 1, finished failed (terminal)",
			"cancels":   "enqueued, started 1, finished cancelled (cancelled)",
			"snoozes":   "enqueued, started 1, retried scheduled snoozed, started 1, finished completed ()",
			"parks":     "enqueued, started 1, parked, started 1, parked, started 1, parked, started 1, finished completed ()",
			"continues": "enqueued, started 1, retried available, started 1, finished completed ()",
		} {
			c.eventually(t, how, enqueue(how), want)
		}

		// What ends without a run is told once, however often it is asked for.
		scheduled := enqueue("completes", holdfast.Delay(time.Hour))
		waits := enqueue("waits")
		c.eventually(t, "waits", waits, "enqueued, started 1, parked")
		runs, killed := enqueue("runs"), enqueue("runs")
		<-began
		<-began
		for range 2 {
			if _, err := hf.Cancel(ctx, "enough", scheduled, scheduled, waits, runs); err != nil {
				t.Fatal(err)
			}
			if _, err := hf.Terminate(ctx, "enough", killed); err != nil {
				t.Fatal(err)
			}
		}
		c.eventually(t, "cancelled before it started", scheduled, "enqueued, finished cancelled (cancelled)")
		c.eventually(t, "cancelled while it waits", waits, "enqueued, started 1, parked, started 1, finished cancelled (cancelled)")
		c.eventually(t, "cancelled while it runs", runs, "enqueued, started 1, finished cancelled (cancelled)")
		c.eventually(t, "terminated", killed, "enqueued, started 1, finished cancelled (terminated)")

		for what, end := range map[string]func(id holdfast.ID) error{
			"completed ()":      func(id holdfast.ID) error { return kind.Complete(ctx, hf, id, "outside") },
			"failed (terminal)": func(id holdfast.ID) error { return hf.Fail(ctx, id, errors.New("outside")) },
		} {
			handed := enqueue("hands over")
			c.eventually(t, "handed over", handed, "enqueued, started 1, parked")
			if err := end(handed); err != nil {
				t.Fatal(err)
			}
			c.eventually(t, what+" from outside", handed, "enqueued, started 1, parked, finished "+what)
		}

		// A retry by a person leads to another end.
		if _, err := hf.Retry(ctx, "once more", scheduled); err != nil {
			t.Fatal(err)
		}
		c.eventually(t, "retried by a person", scheduled,
			"enqueued, finished cancelled (cancelled), started 1, finished completed ()")

		// A child ends with its parent, and an enqueue that finds its job is none.
		parent := enqueue("has a child", holdfast.Unique{ByKey: "once", While: store.States})
		c.eventually(t, "a parent", parent, "enqueued, started 1, finished completed ()")
		if again := enqueue("has a child", holdfast.Unique{ByKey: "once"}); again != parent {
			t.Errorf("the enqueue made a new job")
		}
		page, err := hf.List(ctx, store.Filter{Parent: parent}, "", 10)
		if err != nil || len(page.Jobs) != 1 {
			t.Fatalf("%d children, %v", len(page.Jobs), err)
		}
		c.eventually(t, "a child", page.Jobs[0].ID, "enqueued, finished cancelled (cancelled)")
		c.eventually(t, "the parent, still", parent, "enqueued, started 1, finished completed ()")

		if _, err := kind.EnqueueMany(ctx, hf, []string{"completes", "completes"}); err != nil {
			t.Fatal(err)
		}
		if len(c.odd) > 0 || hf.Health().HooksDropped != 0 {
			t.Errorf("events without all of their job: %q; %d were dropped", c.odd, hf.Health().HooksDropped)
		}
	})
}

// TestHooksAreToldOfARescueOnce: by the process that declares a node dead, which others may hear
// too late.
func TestHooksAreToldOfARescueOnce(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		ctx := t.Context()
		var c told // of both
		leases := holdfast.WithLeases(100*time.Millisecond, deadAfter)
		kind := holdfast.NewKind[bool, string]("hooked", holdfast.Backoff(time.Millisecond, time.Millisecond))
		var cut atomic.Bool
		first := openOn(t, cutSource{source, &cut}, holdfast.WithHooks(c.hooks()), leases)
		began := make(chan store.Lease, 2)
		err := kind.Handle(first, func(run *holdfast.Run, _ bool) (string, error) {
			began <- run.Lease()
			<-run.Done()
			return "too late", nil
		})
		if err != nil {
			t.Fatal(err)
		}
		run(t, first)
		t.Cleanup(func() { cut.Store(false) })
		goesOn, err := kind.Enqueue(ctx, first, true)
		if err != nil {
			t.Fatal(err)
		}
		fails, err := kind.Enqueue(ctx, first, false, holdfast.MaxAttempts(1))
		if err != nil {
			t.Fatal(err)
		}
		node := (<-began).Node
		<-began
		cut.Store(true)
		second := openOn(t, source, holdfast.WithHooks(c.hooks()), leases)
		if err := kind.Handle(second, func(*holdfast.Run, bool) (string, error) { return "done", nil }); err != nil {
			t.Fatal(err)
		}
		run(t, second)
		if out, err := goesOn.Wait(ctx); err != nil || out != "done" {
			t.Errorf("%q, %v", out, err)
		}
		cut.Store(false) // and the first one learns of its death, and its outcomes are refused
		c.eventually(t, "it goes on", goesOn.ID, "enqueued, started 1, rescued retryable node_lost, started 2, finished completed ()")
		c.eventually(t, "it fails", fails.ID, "enqueued, started 1, rescued failed crash_loop, finished failed (crash_loop)")
		eventually(t, "it has joined again", func() bool { return first.Health().Node != node })
		c.eventually(t, "it goes on, still", goesOn.ID, "enqueued, started 1, rescued retryable node_lost, started 2, finished completed ()")
		c.mu.Lock()
		defer c.mu.Unlock()
		if !slices.Equal(c.died, []int64{node}) || len(c.odd) > 0 {
			t.Errorf("nodes that died: %v, want %d; events without all of their job: %q", c.died, node, c.odd)
		}
	})
}
