package tend

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/refusal"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/edges"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/work"
)

// Depend implements store.Editors.
func (v Verbs) Depend(ctx context.Context, params store.DependParams) (state store.State, wakes []store.Wake, err error) {
	if err := params.Check(); err != nil {
		return 0, nil, err
	}
	wakes, err = v.d.Move(ctx, "let job "+params.Job.String()+" wait", nil, func(t *core.Tx) (err error) {
		own, err := t.IsIn(params.Namespace, params.Job)
		if err == nil && !own {
			err = store.NoJob(params.Job)
		}
		if err == nil {
			state, err = depend(t, params)
		}
		return err
	})
	if err != nil {
		return 0, nil, err
	}
	return state, wakes, nil
}

// depend returns the state in which the job is then.
func depend(t *core.Tx, params store.DependParams) (store.State, error) {
	b, found, err := t.Body(params.Job)
	if err != nil {
		return 0, err
	}
	if !found {
		return 0, store.NoJob(params.Job)
	}
	if b.Parent != (store.ID{}) {
		return 0, refusal.ChildAfter(b.ID)
	}
	state, blocked, held, err := startable(t, b)
	if err != nil {
		return 0, err
	}
	waits, err := waitsFor(t, b.ID)
	if err != nil {
		return 0, err
	}
	refused, open, err := edges.Look(t, b.Namespace, b.ID, params.On, waits)
	if err != nil || refused != nil {
		return 0, firstOf(err, refused)
	}
	if err := fits(t, b.ID, open, waits); err != nil || len(open) == 0 {
		return state, err
	}
	if err := edges.Await(t, b.ID, open); err != nil || held {
		return state, err
	}
	return store.Waiting, work.AwaitOthers(t, b, state, blocked)
}

// startable is where a job is that has not started, and whether it is held; or the ErrConflict of
// one that has.
func startable(t *core.Tx, b *core.Body) (state store.State, blocked, held bool, err error) {
	f, finished, err := t.Finished(b.ID)
	if err != nil {
		return 0, false, false, err
	}
	if finished {
		return 0, false, false, store.JobIs(b.ID, f.State)
	}
	if state, blocked, err = t.PointerState(b); err != nil {
		return 0, false, false, err
	}
	switch {
	case state == 0:
		return 0, false, false, store.JobIs(b.ID, store.Running)
	case b.LeaseNumber > 0:
		return 0, false, false, store.JobIs(b.ID, state)
	}
	return state, blocked, state == store.Waiting, nil
}

// waitsFor are the jobs that a job waits for already.
func waitsFor(t *core.Tx, id store.ID) (map[store.ID]bool, error) {
	has, err := edges.Of(t, id)
	waits := make(map[store.ID]bool, len(has))
	for _, e := range has {
		waits[e.On] = true
	}
	return waits, err
}

// fits reports why a job cannot wait for these others too, a *store.DependencyError.
func fits(t *core.Tx, id store.ID, open []store.Dependency, waits map[store.ID]bool) error {
	for _, d := range open {
		waits[d.On] = true
		cycle, err := edges.IsCycle(t, d.On, id)
		if err != nil {
			return err
		}
		if cycle {
			return &store.DependencyError{Job: id, On: d.On, Fault: store.CyclicDependency}
		}
	}
	if len(waits) > store.MaxDependencies {
		return &store.DependencyError{Job: id, Fault: store.TooManyDependencies}
	}
	return nil
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
