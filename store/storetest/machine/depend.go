package machine

import (
	"errors"
	"slices"

	"pgregory.net/rapid"

	"github.com/holdfastdev/holdfast/store"
)

// anyDependencies draws for which jobs another one is to wait: mostly for some that are there.
func (m *machine) anyDependencies(t *rapid.T) (on []store.Dependency) {
	for range rapid.IntRange(1, 2).Draw(t, "predecessors") {
		on = append(on, store.Dependency{
			On: m.anyJob(t), IfFailed: pick(t, "if it fails", store.CancelIfFailed, store.RunIfFailed, store.HoldIfFailed,
				store.OnlyIfFailed, store.OnlyIfCancelled),
		})
	}
	return on
}

// dependJob lets a job wait for others later.
func (m *machine) dependJob(t *rapid.T) {
	var ids []store.ID
	m.drawJobs(t, &ids, func(k *known) bool { return !k.live && !k.state.Finished() && k.lease == 0 })
	params := store.DependParams{Job: ids[0], On: m.anyDependencies(t)}
	t.Logf("let %v wait for %v, %+v", m.names(ids[:1]), m.names(onOf(params.On)), params.On)
	got, _, err := m.store.Depend(m.ctx, params)
	want, _, err2 := m.model.Depend(m.ctx, params)
	m.sameErr("Depend", err, err2)
	if fault, is := errors.AsType[*store.DependencyError](err2); is {
		told, _ := errors.AsType[*store.DependencyError](err)
		if told == nil || *told != *fault {
			t.Fatalf("Depend: the store says %v, the model %v", err, err2)
		}
	}
	m.same("Depend", got, want)
}

// awaited returns the predecessors of the jobs that wait for any.
func (m *machine) awaited() map[store.ID][]store.Predecessor {
	all := map[store.ID][]store.Predecessor{}
	for _, k := range m.jobs {
		if record, err := m.model.Get(m.ctx, "", k.enqueue.Job.ID); err == nil && len(record.Predecessors) > 0 {
			all[record.ID] = record.Predecessors
		}
	}
	return all
}

// noteTold remembers what jobs may have been told just now of those that they waited for. Reading:
// of two that have ended both are reasons to cancel it, and of which it is told is not promised. It
// is if the other one ends later.
func (m *machine) noteTold(awaited map[store.ID][]store.Predecessor) {
	for id, on := range awaited {
		var words []string
		for _, p := range on {
			record, err := m.model.Get(m.ctx, "", p.On)
			if err == nil && record.State.Finished() && !p.IfFailed.Lets(record.State) && p.IfFailed != store.HoldIfFailed {
				words = append(words, p.IfFailed.UnmetWords(p.On, record.State))
			}
		}
		if len(words) > 1 {
			m.told[id] = append(m.told[id], words)
		}
	}
}

// asTold writes words of which a job may have been told others in one way.
func (m *machine) asTold(job store.ID, words string) string {
	for _, others := range m.told[job] {
		if slices.Contains(others, words) {
			return others[0]
		}
	}
	return words
}

// allThere says whether none of on is unknown or was removed.
func (m *machine) allThere(on []store.Dependency) bool {
	return !slices.ContainsFunc(on, func(d store.Dependency) bool { k := m.find(d.On); return k == nil || k.removed })
}

func onOf(after []store.Dependency) (ids []store.ID) {
	for _, d := range after {
		ids = append(ids, d.On)
	}
	return ids
}

// checkDependencies looks at the store alone: a job that waits for others waits for one at the
// least, and none of those that it waits for has completed, once the store has told of all ends.
func (m *machine) checkDependencies() {
	for _, r := range m.list(m.store) {
		if r.Wait == nil || r.Wait.Reason != store.ReasonDependency {
			continue
		}
		full, err := m.store.Get(m.ctx, "", r.ID)
		m.must("Get", err)
		for _, p := range full.Predecessors {
			if p.IfFailed.Lets(p.State) || p.IfFailed != store.HoldIfFailed && p.State.Finished() {
				m.t.Fatalf("NoLoss: job %v waits for %v, which is %v", m.names([]store.ID{r.ID}), m.names([]store.ID{p.On}), p.State)
			}
		}
		if len(full.Predecessors) == 0 {
			m.t.Fatalf("NoLoss: job %v waits for others, of which there are none", m.names([]store.ID{r.ID}))
		}
	}
}
