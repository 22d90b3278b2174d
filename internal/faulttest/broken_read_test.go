//go:build soak

package faulttest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/faults"
)

// TestFailingCallsCostNoAttempt lets every second call of a node to its database fail, before or
// after it has happened, whatever it is for: what a run reads as well as what it writes. Jobs that
// may be tried only once all complete.
func TestFailingCallsCostNoAttempt(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, db *database) {
		const count = 20
		type round = int
		add := holdfast.NewKind[int, int]("add")
		next := holdfast.NewSignal[round]("next")
		people := db.open(t)
		var failing *faults.Store
		hf := db.wrapped(func(st store.Store) store.Store {
			failing = faults.Wrap(st, nil)
			return failing
		}).open(t)
		register(t, hf, add, func(run *holdfast.Run, n int) (int, error) {
			for i := range 3 {
				var err error
				if n, err = holdfast.Step(run, fmt.Sprint("add ", i), func(context.Context) (int, error) { return n + 1, nil }); err != nil {
					return 0, err
				}
				if _, err = next.Wait(run); err != nil {
					return 0, err
				}
			}
			return n, nil
		}, holdfast.MaxAttempts(1))
		work(t, hf)
		jobs := make([]*holdfast.Job[int], count)
		jobs[0] = enqueue(t, people, add, 0)
		eventually(t, "the node has started", func() bool { return get(t, people, jobs[0].ID).State == store.Waiting })
		var calls atomic.Int64
		failing.Plan(func(c faults.Call) faults.Fault {
			switch n := calls.Add(1); {
			case c.Op == "Leave" || n%2 == 0:
				return faults.Fault{}
			case n%4 == 1:
				return faults.Fault{Kind: faults.FailBefore}
			}
			return faults.Fault{Kind: faults.FailAfter}
		})
		for i := 1; i < count; i++ {
			jobs[i] = enqueue(t, people, add, 10*i)
		}
		for i := range 3 {
			for _, job := range jobs {
				if _, err := next.Send(t.Context(), people, job.ID, i); err != nil {
					t.Fatal(err)
				}
			}
		}
		for i, job := range jobs {
			ends(t, people, job.ID, store.Completed)
			if r := get(t, people, job.ID); len(r.Attempts) > 0 {
				t.Errorf("it took more than one attempt: %s", told(r))
			}
			if got, err := job.Wait(t.Context()); err != nil || got != 10*i+3 {
				t.Errorf("job %d has come to %d, %v", i, got, err)
			}
		}
		failing.Plan(nil)
	})
}
