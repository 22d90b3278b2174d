package env

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Schedule is a schedule of hourly jobs that has not been fired.
func Schedule(name string, change ...func(*store.Schedule)) store.Schedule {
	s := store.Schedule{
		Namespace: Namespace, Name: name, Left: -1,
		ScheduleSettings: store.ScheduleSettings{
			Times: "every 1h", Job: store.ScheduledJob{Kind: "send", Queue: "mail", Priority: 2, Args: []byte(`{"n":1}`)},
		},
	}
	for _, c := range change {
		c(&s)
	}
	return s
}

// SaveSchedule makes a schedule.
func (e *Env) SaveSchedule(s store.Schedule) store.Schedule {
	e.Helper()
	saved, err := e.Store.SaveSchedule(e.Ctx, s, 0, "")
	e.NoError("SaveSchedule", err)
	return saved
}

// ScheduleOf returns the schedule with a name, or fails.
func (e *Env) ScheduleOf(name string) store.Schedule {
	e.Helper()
	found, err := e.Store.Schedules(e.Ctx, store.ScheduleFilter{Namespace: e.space, Name: name, Limit: 2})
	e.NoError("Schedules", err)
	if len(found) != 1 {
		e.Fatalf("there are %d schedules %q", len(found), name)
	}
	return found[0]
}

// RunsOf returns what became of the nominal times of a schedule, the last ones first.
func (e *Env) RunsOf(name string) []store.ScheduleRun {
	e.Helper()
	runs, err := e.Store.ScheduleRuns(e.Ctx, store.ScheduleRunParams{Namespace: e.space, Name: name, Limit: 1000})
	e.NoError("ScheduleRuns", err)
	return runs
}

// Fire is the decision that a schedule fires at a nominal time, with a job, and is looked at again
// an hour later.
func (e *Env) Fire(s store.Schedule, at time.Time, change ...func(*store.Enqueue)) *store.Unit {
	q := e.Job(change...)
	return &store.Unit{Enqueues: []*store.Enqueue{q}, Fire: &store.Fire{
		Namespace: s.Namespace, Name: s.Name, Version: s.Version, Cursor: at, NextAt: at.Add(time.Hour), Left: s.Left,
		Runs: []store.FireRun{{Nominal: at, State: store.RunFired, Enqueue: q}},
	}}
}

// Batched are units in one batch.
func Batched(units ...*store.Unit) *store.Batch {
	b := &store.Batch{}
	for _, u := range units {
		b.Add(u)
	}
	return b
}
