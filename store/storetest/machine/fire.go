package machine

import (
	"errors"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/faults"
)

// fireSchedules draws a batch with the decisions of a leader, or of persons, beside other
// operations.
func (m *machine) fireSchedules(t *rapid.T) {
	var batch, model store.Batch
	m.drawCheckpoints(t, &batch, &model)
	runs := m.drawOutcomes(t, false, nil, &batch, &model)
	if chance(t, "enqueue", 30) {
		a, b := forTwo(m.newEnqueue(t))
		batch.Enqueues, model.Enqueues = append(batch.Enqueues, a), append(model.Enqueues, b)
	}
	units, modelUnits := unitsOf(&batch), unitsOf(&model)
	fires := m.drawFires(t)
	beside := len(units)
	for _, u := range fires {
		units, modelUnits = append(units, copyUnit(u)), append(modelUnits, copyUnit(u))
	}
	plain := faults.Copy(&batch)
	m.logBatch(plain)
	m.logFires(fires)
	m.must("Apply", m.applyUnits(m.store, units), m.applyUnits(m.model, modelUnits))

	for i, c := range batch.Checkpoints {
		over := slices.ContainsFunc(runs, func(r *run) bool { return r.store.Lease == c.Lease })
		if !m.mode.lossy || !over {
			m.sameErr("checkpoint", c.Err, model.Checkpoints[i].Err)
		}
	}
	m.checkOutcomes(runs, plain, &batch, &model)
	m.checkEnqueues(plain, &batch, &model)
	for i, u := range fires {
		m.checkFire(u, units[beside+i], modelUnits[beside+i])
	}
}

// checkFire compares what became of a fire and its jobs. Which of its operations refuses it is not
// promised.
func (m *machine) checkFire(plain, got, want *store.Unit) {
	m.t.Logf("fired %s: %v", got.Fire.Name, got.Err())
	jobs := slices.ContainsFunc(want.Enqueues, func(q *store.Enqueue) bool { return q.Err != nil })
	if jobs && got.Err() != nil {
		return
	}
	m.sameErr("fire", got.Err(), want.Err())
	if got.Err() != nil {
		return
	}
	m.checkEnqueues(&store.Batch{Enqueues: plain.Enqueues}, &store.Batch{Enqueues: got.Enqueues}, &store.Batch{Enqueues: want.Enqueues})
}

func (m *machine) logFires(units []*store.Unit) {
	for _, u := range units {
		f := u.Fire
		m.logBatch(&store.Batch{Enqueues: u.Enqueues})
		m.t.Logf("apply: fire of %s, version %d, number %d, up to %v, next %v, left %d", f.Name, f.Version, f.Manual, f.Cursor, f.NextAt, f.Left)
		for _, r := range f.Runs {
			m.t.Logf("       %v: %d", r.Nominal, r.State)
		}
	}
}

// unitsOf makes a unit of each operation.
func unitsOf(b *store.Batch) (units []*store.Unit) {
	for _, c := range b.Checkpoints {
		units = append(units, &store.Unit{Checkpoint: c})
	}
	for _, o := range b.Outcomes {
		units = append(units, &store.Unit{Outcome: o})
	}
	for _, q := range b.Enqueues {
		units = append(units, &store.Unit{Enqueues: []*store.Enqueue{q}})
	}
	return units
}

func copyUnit(u *store.Unit) *store.Unit {
	var b store.Batch
	b.Add(u)
	c := faults.Copy(&b)
	return &store.Unit{Enqueues: c.Enqueues, Fire: c.Fires[0]}
}

// applyUnits applies units as a committer does: those that are refused are taken out, and the rest
// is applied; those that others may have been in the way of are applied alone then.
func (m *machine) applyUnits(s store.Store, units []*store.Unit) error {
	rest, alone := units, []*store.Unit(nil)
	for len(rest) > 0 {
		batch := &store.Batch{}
		for _, u := range rest {
			batch.Add(u)
		}
		err := s.Apply(m.ctx, batch)
		if !errors.Is(err, store.ErrRefused) {
			if err != nil {
				return err
			}
			break
		}
		var left []*store.Unit
		for _, u := range rest {
			if u.Err() == nil {
				left = append(left, u)
			} else if store.Inconclusive(u.Err()) && len(rest) > 1 {
				alone = append(alone, u)
			}
		}
		if len(left) == len(rest) {
			m.t.Fatalf("a batch is refused, and none of its units: %v", err)
		}
		rest = left
	}
	for _, u := range alone {
		batch := &store.Batch{}
		batch.Add(u)
		batch.Reset()
		if err := s.Apply(m.ctx, batch); err != nil && !errors.Is(err, store.ErrRefused) {
			return err
		}
	}
	return nil
}

// drawFires draws decisions about different schedules; or about one by several persons, and the
// clock, in one batch.
func (m *machine) drawFires(t *rapid.T) (units []*store.Unit) {
	if chance(t, "fire again", 12) {
		again := slices.DeleteFunc(slices.Clone(m.fired), func(u *store.Unit) bool { return m.anyRemoved(u.Enqueues) })
		if len(again) > 0 {
			return []*store.Unit{one(t, "of those", again)}
		}
	}
	if chance(t, "together", 20) {
		s := m.plan(pick(t, "schedule", machineSchedules...))
		if s.Version == 0 {
			return nil
		}
		for i := range rapid.IntRange(2, 3).Draw(t, "fires") {
			f := m.newFire(t, &s, int64(i)*5)
			if i != 1 {
				f.Manual, f.Version = m.seq(), 0
			} else {
				f.Version++
			}
			units = append(units, m.withJobs(t, f, false))
		}
		return units
	}
	first := m.anyPlan(t)
	plans := []store.Schedule{first}
	if chance(t, "two", 40) {
		for _, name := range machineSchedules {
			if name != first.Name {
				plans = append(plans, m.plan(name))
			}
		}
	}
	for i := range plans {
		f := m.newFire(t, &plans[i], 0)
		m.twist(t, f)
		u := m.withJobs(t, f, true)
		if m.fired = append(m.fired, u); len(m.fired) > 10 {
			m.fired = m.fired[1:]
		}
		units = append(units, u)
	}
	return units
}

// seq is a number that no other fire has.
func (m *machine) seq() int64 {
	m.seqs += 10
	return m.seqs
}

// newFire decides about the times that follow the cursor.
func (m *machine) newFire(t *rapid.T, s *store.Schedule, skip int64) *store.Fire {
	at := s.Cursor
	if at.IsZero() {
		at = m.clock.Now().Truncate(time.Second)
	}
	at = at.Add(time.Duration(skip) * time.Second)
	f := &store.Fire{Namespace: m.namespace, Name: s.Name, Version: s.Version, Left: s.Left - 1}
	for range rapid.IntRange(1, 3).Draw(t, "times") {
		at = at.Add(time.Second)
		state := pick(t, "state", store.RunFired, store.RunFired, store.RunSkipped, store.RunMissed)
		f.Runs = append(f.Runs, store.FireRun{Nominal: at, State: state})
	}
	f.Cursor, f.NextAt = at, at.Add(pick(t, "next", time.Second, time.Hour))
	if chance(t, "ends", 10) {
		f.NextAt = time.Time{}
	}
	if chance(t, "cancels", 20) {
		f.Cancels = m.anyJob(t)
	}
	return f
}

// twist lets some fires be those of a person, and some such that they are refused, or would be if
// the store looked.
func (m *machine) twist(t *rapid.T, f *store.Fire) {
	switch pick(t, "twist", "", "", "", "", "", "manual", "by hand again", "version", "no version", "has run", "unknown", "nothing") {
	case "manual":
		f.Manual = m.seq()
		f.Version *= pick(t, "known", int64(0), 1)
	case "by hand again":
		f.Manual, f.Version = pick(t, "number", int64(1), 2), 0
		f.Runs = f.Runs[:1]
		f.Runs[0].Nominal = m.clock.Now().Truncate(time.Hour)
	case "version":
		f.Version = max(0, f.Version+pick(t, "by", int64(-1), 1))
	case "no version":
		f.Version = 0
	case "has run":
		all, err := m.model.ScheduleRuns(m.ctx, store.ScheduleRunParams{Namespace: m.namespace, Name: f.Name, Limit: 10})
		m.must("ScheduleRuns", nil, err)
		if len(all) > 0 {
			f.Runs[0].Nominal = one(t, "run", all).Nominal
		}
	case "unknown":
		f.Name = "unknown"
	case "nothing":
		f.Runs = nil
	}
}

// withJobs gives the runs of a fire their jobs. Some have keys that are held, or are refused, or
// were enqueued before.
func (m *machine) withJobs(t *rapid.T, f *store.Fire, anyKind bool) *store.Unit {
	u := &store.Unit{Fire: f}
	for i := range f.Runs {
		if f.Runs[i].State != store.RunFired {
			continue
		}
		q := m.newEnqueue(t)
		if anyKind {
			q = m.anyEnqueue(t)
		} else {
			withoutKeys(&q)
			q.Job.RunAt = time.Time{}
		}
		if q.Send = nil; slices.ContainsFunc(u.Enqueues, func(other *store.Enqueue) bool { return other.Job.ID == q.Job.ID }) {
			q = m.newEnqueue(t)
		}
		u.Enqueues = append(u.Enqueues, &q)
		f.Runs[i].Enqueue = &q
	}
	return u
}
