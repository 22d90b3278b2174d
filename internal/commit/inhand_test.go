package commit

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/internal/portion"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

func TestAsideKnowsWhatIsTried(t *testing.T) {
	a := aside{wake: make(chan struct{}, 1)}
	now := time.Unix(1_000, 0)
	knows := func(when string, o *op, want bool) {
		t.Helper()
		jobs := map[store.ID]bool{}
		if a.ending(jobs); jobs[o.Outcome.Lease.Job] != want {
			t.Errorf("%s: known %v, want %v", when, !want, want)
		}
	}
	first, second := endOfSome(), endOfSome()
	a.put([]*op{first, second}, now)
	knows("put aside", first, true)
	if due, _, _ := a.take(10, now.Add(time.Second)); len(due) != 2 {
		t.Fatalf("taken: %d", len(due))
	}
	knows("while it is tried", first, true)
	knows("while it is tried", second, true)
	a.put([]*op{first}, now)
	a.forget(second)
	knows("put aside again", first, true)
	knows("answered", second, false)
	a.take(10, now.Add(time.Second))
	a.forget(first)
	knows("answered", first, false)
}

// TestWhatIsToldIsNotEnding: who begins to wait for a job after its end was told asks the database,
// and does not take the job for one that is still to be told.
func TestWhatIsToldIsNotEnding(t *testing.T) {
	e := env.New(t, func(_ *testing.T, c *env.Clock) store.Store { return model.New(c.Now) })
	var c *Committer
	told := make(chan map[store.ID]bool, 1)
	c = begin(e.Store, func(*store.Batch) {
		jobs := map[store.ID]bool{}
		c.Ending(jobs)
		told <- jobs
	})
	defer c.Close(e.Ctx)
	run := e.Started()
	c.Finish(env.Outcome(run, store.Completed), nil, nil, nil, func(error) {})
	if jobs := <-told; len(jobs) > 0 {
		t.Errorf("it has not ended: %v", jobs)
	}
}

func endOfSome() *op {
	return &op{Unit: store.Unit{Outcome: &store.Outcome{Lease: store.Lease{Job: uuid.Must(uuid.NewV7())}}}}
}

func TestPortionShrinksAndGrows(t *testing.T) {
	p := portion.New(1000, 3*time.Second)
	ops := make([]*op, 1000)
	for i := range ops {
		ops[i] = &op{Unit: store.Unit{Outcome: &store.Outcome{Result: make([]byte, 10<<10)}}}
	}
	if n := fit(p, ops); n < 90 || n > 110 {
		t.Errorf("%d of 10 KiB fit", n)
	}
	if tried(p, ops[:100], time.Millisecond, store.ErrUnavailable); !p.IsWhole() {
		t.Error("a failure that came at once made it smaller")
	}
	for range 20 {
		n := fit(p, ops)
		tried(p, ops[:n], store.CallTimeout, store.ErrUnavailable)
	}
	if n := fit(p, ops); n != 1 {
		t.Errorf("%d at once after many failures", n)
	}
	for range 20 {
		n := fit(p, ops)
		tried(p, ops[:n], time.Millisecond, nil)
	}
	if !p.IsWhole() {
		t.Errorf("after all went well: %+v", p)
	}
	// A database that is slow regardless of the size gets more at once, not less.
	tried(p, ops[:100], store.CallTimeout, store.ErrUnavailable)
	light := make([]*op, 1000)
	for i := range light {
		light[i] = &op{Unit: store.Unit{Outcome: &store.Outcome{}}}
	}
	for range 20 {
		tried(p, light[:fit(p, light)], 10*time.Second, nil)
	}
	if n := fit(p, light); n < 150 {
		t.Errorf("%d at once where each try takes long", n)
	}
}
