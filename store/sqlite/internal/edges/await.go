package edges

import (
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
)

// Look tells which of the dependencies of a job it has to wait for, or refuses one that has no
// job, with a *store.DependencyError. waits are predecessors that the job waits for already: such
// an edge is put again however they have ended, with the policy that is given now.
func Look(t *core.Tx, namespace string, id store.ID, after []store.Dependency, waits map[store.ID]bool) (
	refused error, open []store.Dependency, err error,
) {
	for _, d := range store.Distinct(after) {
		there, err := t.IsThere(d.On)
		if err == nil && there {
			there, err = t.IsIn(namespace, d.On)
		}
		if err != nil {
			return nil, nil, err
		}
		if !there {
			return &store.DependencyError{Job: id, On: d.On, Fault: store.MissingPredecessor}, nil, nil
		}
		f, _, err := t.Finished(d.On)
		if err != nil {
			return nil, nil, err
		}
		if waits[d.On] || !d.IfFailed.Lets(f.State) {
			open = append(open, d)
		}
	}
	return nil, open, nil
}

// Await lets a job wait for others. A predecessor that runs does not know of it, and one that
// has finished will not tell: both are looked at.
func Await(t *core.Tx, job store.ID, open []store.Dependency) error {
	for _, d := range open {
		if err := Put(t, job, d); err != nil {
			return err
		}
		if err := Mark(t, d.On); err != nil {
			return err
		}
		waits, err := hasPointer(t, d.On)
		if err != nil {
			return err
		}
		if !waits {
			if err := Check(t, d.On); err != nil {
				return err
			}
		}
	}
	return nil
}

// hasPointer reports whether a job has a pointer: it neither runs nor has finished.
func hasPointer(t *core.Tx, id store.ID) (bool, error) {
	b, found, err := t.Body(id)
	if err != nil || !found {
		return false, err
	}
	state, _, err := t.PointerState(b)
	return state != 0, err
}

// Predecessors are those for which a job waits.
func Predecessors(t *core.Tx, id store.ID) (list []store.Predecessor, err error) {
	all, err := Of(t, id)
	for _, e := range all {
		p := store.Predecessor{Dependency: e.Dependency}
		b, found, err := t.Body(e.On)
		if err != nil {
			return nil, err
		}
		if found {
			f, ended, err := t.Finished(e.On)
			if err != nil {
				return nil, err
			}
			if p.State = f.State; !ended {
				if p.State, _, err = t.PointerState(b); err != nil {
					return nil, err
				}
			}
			if p.State == 0 {
				p.State = store.Running
			}
		}
		list = append(list, p)
	}
	return list, err
}
