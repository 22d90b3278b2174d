package env

import (
	"errors"
	"slices"

	"github.com/holdfastdev/holdfast/store"
)

// After lets the job come after others, and be cancelled if one of them does not complete.
func After(on ...store.ID) func(*store.Enqueue) { return AfterOr(store.CancelIfFailed, on...) }

// AfterOr lets the job come after others, with a policy.
func AfterOr(policy store.FailurePolicy, on ...store.ID) func(*store.Enqueue) {
	return func(q *store.Enqueue) { q.After = append(q.After, Dependencies(policy, on...)...) }
}

// Dependencies are those of a job that comes after others.
func Dependencies(policy store.FailurePolicy, on ...store.ID) (list []store.Dependency) {
	for _, id := range on {
		list = append(list, store.Dependency{On: id, IfFailed: policy})
	}
	return list
}

// TryDepend lets a job come after others, and returns what the store made of it.
func (e *Env) TryDepend(job store.ID, policy store.FailurePolicy, on ...store.ID) (store.State, error) {
	e.Helper()
	params := store.DependParams{Namespace: e.space, Job: job, On: Dependencies(policy, on...)}
	state, wakes, err := e.Store.Depend(e.Ctx, params)
	e.told.Store(&wakes)
	return state, err
}

// Depend lets a job come after others, which has to lead to a state.
func (e *Env) Depend(job store.ID, policy store.FailurePolicy, want store.State, on ...store.ID) {
	e.Helper()
	if state, err := e.TryDepend(job, policy, on...); err != nil || state != want {
		e.Fatalf("Depend: %v, %v, want %v", state, err, want)
	}
	e.WantState(job, want)
}

// WantAwaits checks that a job waits for others, and for which.
func (e *Env) WantAwaits(job store.ID, on ...store.ID) store.Record {
	e.Helper()
	r := e.Get(job)
	var got []store.ID
	for _, p := range r.Predecessors {
		got = append(got, p.On)
	}
	if r.State != store.Waiting || r.Wait == nil || !r.Wait.Held || r.Wait.Reason != store.ReasonDependency || !r.RunAt.IsZero() {
		e.Fatalf("the job is %v, and waits like this: %+v, until %v", r.State, r.Wait, r.RunAt)
	}
	e.WantIDs("predecessors", got, slices.SortedFunc(slices.Values(on), CompareIDs)...)
	return r
}

// CompareIDs is the order of ids.
func CompareIDs(a, b store.ID) int { return slices.Compare(a[:], b[:]) }

// WantDependency checks that an error is a *store.DependencyError, of which its class is one.
func (e *Env) WantDependency(what string, err error, class error, want store.DependencyError) {
	e.Helper()
	e.WantErr(what, err, class)
	if got, is := errors.AsType[*store.DependencyError](err); !is || *got != want {
		e.Fatalf("%s: %v, want %+v", what, err, want)
	}
}
