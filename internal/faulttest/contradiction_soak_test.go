//go:build soak

package faulttest

import (
	"testing"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// heldForContradiction waits until the job is held because its code and its journal do not fit.
func heldForContradiction(t *testing.T, hf *holdfast.Client, id holdfast.ID, c *code) {
	t.Helper()
	const most = 100 // far more than it takes
	held := comesTrue(patience, func() bool {
		r := get(t, hf, id)
		return c.calls.Load() > most || r.State == store.Waiting && r.Wait.Held && c.calls.Load() > 0
	})
	r := get(t, hf, id)
	if n := c.calls.Load(); !held || n > most {
		t.Fatalf("it is not held after %d calls of the handler: %s", n, told(r))
	}
	if r.Wait == nil || r.Wait.Reason != store.ReasonNondeterminism {
		t.Fatalf("it is held for another reason: %s", told(r))
	}
}

// TestCancelOfAContradiction cancels runs whose code contradicts their journal, before they
// meet it and after. They are held, however that comes, and the request stays: with the right
// code they end themselves.
func TestCancelOfAContradiction(t *testing.T) {
	t.Parallel()
	for _, order := range []struct {
		name  string
		first bool // the cancel comes before the contradiction
	}{{"cancelled before", true}, {"cancelled when it is held", false}} {
		t.Run(order.name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, db *database) { cancelContradiction(t, db, order.first) })
		})
	}
}

func cancelContradiction(t *testing.T, db *database, first bool) {
	t.Helper()
	with := func(c *code) *node {
		hf := db.open(t)
		register(t, hf, changing, c.handle)
		return work(t, hf)
	}
	right, wrong := &code{step: "one"}, &code{step: "two"}
	begun := with(right)
	job := enqueue(t, begun.Client, changing, 0)
	eventually(t, "the job is parked", func() bool { return get(t, begun.Client, job.ID).State == store.Waiting })
	begun.stop()

	people := db.open(t)
	cancel := func() {
		t.Helper()
		results, err := people.Cancel(t.Context(), "enough", job.ID)
		if err != nil || results[0].Err != nil {
			t.Fatalf("Cancel: %+v, %v", results, err)
		}
	}
	if first {
		cancel()
	} else if _, err := poke.Send(t.Context(), people, job.ID, 1); err != nil {
		t.Fatal(err)
	}
	bad := with(wrong)
	heldForContradiction(t, people, job.ID, wrong)
	if !first {
		wrong.calls.Store(0)
		cancel()
		heldForContradiction(t, people, job.ID, wrong)
	}
	bad.stop()

	with(right)
	if err := resume(t.Context(), people, "the code is right again", job.ID); err != nil {
		t.Fatal(err)
	}
	ends(t, people, job.ID, store.Cancelled)
	if n := right.undone.Load(); n != 1 {
		t.Errorf("its compensation ran %d times", n)
	}
}
