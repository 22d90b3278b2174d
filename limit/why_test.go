package limit_test

import (
	"testing"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/limit"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/why"
)

// TestWhyOfALimit: a limit is said to be full while jobs use all its slots, and not while a node
// holds some that nobody uses: what a job waits for then is a slot of the node.
func TestWhyOfALimit(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		ctx := t.Context()
		hf := open(t, source, holdfast.WithSlots(2))
		set(t)(limit.Set(ctx, hf, "two", limit.Capacity(2), limit.Kinds("limited")))
		limited, other := holdfast.NewTask[int]("limited"), holdfast.NewTask[int]("other")
		goOn, end := make(chan struct{}), make(chan struct{})
		wait := func(run *holdfast.Run, _ int) error {
			select {
			case <-goOn:
			case <-end:
			case <-run.Done():
			}
			return nil
		}
		if err := limited.Handle(hf, wait); err != nil {
			t.Fatal(err)
		}
		if err := other.Handle(hf, wait); err != nil {
			t.Fatal(err)
		}
		ran := make(chan error, 1)
		go func() { ran <- hf.Run(ctx) }()

		enqueue := func(task holdfast.Task[int]) holdfast.ID {
			t.Helper()
			job, err := task.Enqueue(ctx, hf, 0)
			if err != nil {
				t.Fatal(err)
			}
			return job.ID
		}
		code := func(job holdfast.ID) why.Code {
			e, err := hf.Why(ctx, job)
			if err != nil || len(e.Causes) == 0 {
				t.Fatalf("%+v, %v", e, err)
			}
			return e.Causes[0].Code
		}
		first, second := enqueue(limited), enqueue(limited)
		eventually(t, "both run", func() bool { return code(first) == why.Running && code(second) == why.Running })
		third := enqueue(limited)
		if got := code(third); got != why.Limit {
			t.Errorf("while two run a third waits for %q", got)
		}
		for range 3 {
			goOn <- struct{}{}
		}
		eventually(t, "all have ended", func() bool { return code(third) == why.Finished && code(second) == why.Finished })
		l, err := limit.Get(ctx, hf, "two")
		if err != nil || len(l.Holders) != 1 || l.Holders[0].Slots != 2 {
			t.Fatalf("the node does not hold the slots: %+v, %v", l.Holders, err)
		}

		one, two := enqueue(other), enqueue(other)
		eventually(t, "the others run", func() bool { return code(one) == why.Running && code(two) == why.Running })
		fourth := enqueue(limited)
		// The node may have claimed it ahead, and gives it back then.
		eventually(t, "it waits for a slot of the node", func() bool {
			got := code(fourth)
			if got == why.Limit {
				t.Fatal("it is said to wait for the limit, of which nobody uses a slot")
			}
			return got == why.NoFreeSlot
		})
		close(end)
		eventually(t, "it ends", func() bool { return code(fourth) == why.Finished })
		if err := hf.Stop(ctx); err != nil {
			t.Error(err)
		}
		if err := <-ran; err != nil {
			t.Error(err)
		}
	})
}
