package machine

import (
	"context"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

// TestTheMachineNoticesSchedules breaks what concerns schedules and their fires. Each mistake has
// to be noticed several times, each time within few checks: one in which nothing is noticed is
// rare.
func TestTheMachineNoticesSchedules(t *testing.T) {
	t.Parallel()
	scheduled, lossy := mode{scheduled: true}, mode{scheduled: true, lossy: true}
	for name, c := range map[string]struct {
		breaks func(store.Store) store.Store
		mode   mode
	}{
		"a version that is not compared":          {onFire(anyVersion), scheduled},
		"a repeated fire that is another one":     {onFire(anyVersion), lossy},
		"a time that fires twice":                 {onFire(elsewhen), scheduled},
		"jobs whose schedule does not move on":    {onFire(func(_ *fires, _ *store.Fire) *store.Fire { return nil }), scheduled},
		"a schedule that moves on without a job":  {func(s store.Store) store.Store { return &fires{Store: s, loses: true} }, scheduled},
		"runs that are forgotten":                 {onFire(onlyFired), scheduled},
		"runs that are not told":                  {func(s store.Store) store.Store { return &tellsOneRun{s} }, scheduled},
		"a skipped time that counts as fired":     {func(s store.Store) store.Store { return &countsSkipped{s} }, scheduled},
		"a person's fire that moves the cursor":   {onFire(movesOn), scheduled},
		"a time at which it is not looked at":     {spoils(func(f *store.Fire) { f.NextAt = f.Cursor }), scheduled},
		"a bound that is not counted":             {spoils(func(f *store.Fire) { f.Left++ }), scheduled},
		"a job to stop that is forgotten":         {spoils(func(f *store.Fire) { f.Cancels = store.ID{} }), scheduled},
		"a save that expects nothing":             {func(s store.Store) store.Store { return &savesAll{s} }, scheduled},
		"a pause that is not heeded":              {func(s store.Store) store.Store { return &tellsPaused{s} }, scheduled},
		"a deleted schedule that leaves its runs": {func(s store.Store) store.Store { return &keepsRuns{Store: s} }, scheduled},
	} {
		noticesSoon(t, name, c.breaks, c.mode)
	}
}

// fires carries out other fires than it is told to.
type fires struct {
	store.Store

	change func(*fires, *store.Fire) *store.Fire // nil: it does not happen
	loses  bool                                  // the jobs
}

func onFire(change func(*fires, *store.Fire) *store.Fire) func(store.Store) store.Store {
	return func(s store.Store) store.Store { return &fires{Store: s, change: change} }
}

func spoils(change func(*store.Fire)) func(store.Store) store.Store {
	return onFire(func(_ *fires, f *store.Fire) *store.Fire {
		change(f)
		return f
	})
}

func (s *fires) Apply(ctx context.Context, batch *store.Batch) error {
	if len(batch.Fires) == 0 {
		return s.Store.Apply(ctx, batch)
	}
	sent := *batch
	sent.Fires = nil
	changed := map[*store.Fire]*store.Fire{}
	for _, f := range batch.Fires {
		one := f
		if s.change != nil && f.Check() == nil {
			copied := *f
			copied.Runs = append([]store.FireRun(nil), f.Runs...)
			one = s.change(s, &copied)
		}
		if f.Err = nil; one != nil {
			sent.Fires, changed[f] = append(sent.Fires, one), one
		}
	}
	err := s.Store.Apply(ctx, &sent)
	for f, one := range changed {
		f.Err = one.Err
	}
	batch.Woken = sent.Woken
	if err == nil && s.loses {
		s.lose(ctx, batch)
	}
	return err
}

// lose removes the jobs of fires.
func (s *fires) lose(ctx context.Context, batch *store.Batch) {
	inner, _ := s.Store.(*model.Store) // nil panics, and fails the test
	for _, f := range batch.Fires {
		for _, r := range f.Runs {
			if q := r.Enqueue; q != nil && !q.Result.Existing {
				_, _, _ = s.Cancel(ctx, store.CancelParams{Jobs: []store.ID{q.Job.ID}, Terminate: true})
				inner.Forget(q.Job.ID)
			}
		}
	}
}

// anyVersion decides from the schedule as it is, as a store does that compares nothing.
func anyVersion(s *fires, f *store.Fire) *store.Fire {
	found, err := s.Schedules(context.Background(), store.ScheduleFilter{Namespace: f.Namespace, Name: f.Name, Limit: 1})
	if err == nil && len(found) == 1 && f.Version != 0 {
		f.Version = found[0].Version
	}
	return f
}

// elsewhen notes a time that has a run as another one.
func elsewhen(s *fires, f *store.Fire) *store.Fire {
	runs, _ := s.ScheduleRuns(context.Background(), store.ScheduleRunParams{Namespace: f.Namespace, Name: f.Name, Limit: 1000})
	for i := range f.Runs {
		for _, r := range runs {
			if r.Nominal.Equal(f.Runs[i].Nominal) && r.Manual == f.Manual {
				f.Runs[i].Nominal = r.Nominal.Add(time.Microsecond)
			}
		}
	}
	return f
}

func onlyFired(_ *fires, f *store.Fire) *store.Fire {
	var fired []store.FireRun
	for _, r := range f.Runs {
		if r.State == store.RunFired {
			fired = append(fired, r)
		}
	}
	f.Runs = fired
	return f
}

func movesOn(s *fires, f *store.Fire) *store.Fire {
	if f.Manual != 0 {
		f.Manual = 0
		return anyVersion(s, f)
	}
	return f
}

type tellsOneRun struct{ store.Store }

func (s *tellsOneRun) ScheduleRuns(ctx context.Context, p store.ScheduleRunParams) ([]store.ScheduleRun, error) {
	runs, err := s.Store.ScheduleRuns(ctx, p)
	return runs[:min(len(runs), 2)], err
}

// countsSkipped takes the job that is in the way for the one that it has enqueued.
type countsSkipped struct{ store.Store }

func (s *countsSkipped) ScheduleRuns(ctx context.Context, p store.ScheduleRunParams) ([]store.ScheduleRun, error) {
	runs, err := s.Store.ScheduleRuns(ctx, p)
	for i := range runs {
		if runs[i].Job != (store.ID{}) {
			runs[i].State = store.RunFired
		}
	}
	return runs, err
}

type savesAll struct{ store.Store }

func (s *savesAll) SaveSchedule(ctx context.Context, sc store.Schedule, expect int64, actor string) (store.Schedule, error) {
	found, err := s.Schedules(ctx, store.ScheduleFilter{Namespace: sc.Namespace, Name: sc.Name, Limit: 1})
	if err == nil && len(found) == 1 {
		expect = found[0].Version
	}
	return s.Store.SaveSchedule(ctx, sc, expect, actor)
}

// tellsPaused says of all schedules whose time has come that they are due.
type tellsPaused struct{ store.Store }

func (s *tellsPaused) DueSchedules(ctx context.Context, limit int) ([]store.Schedule, time.Time, error) {
	due, next, err := s.Store.DueSchedules(ctx, limit)
	all, _ := s.Schedules(ctx, store.ScheduleFilter{Limit: 100})
	for _, sc := range all {
		if !sc.PausedAt.IsZero() && !sc.NextAt.IsZero() && !sc.NextAt.After(s.Now()) && len(due) < limit {
			due = append(due, sc)
		}
	}
	return due, next, err
}

// keepsRuns finds the runs of a schedule that was deleted when there is another one of its name.
type keepsRuns struct {
	store.Store

	left map[string][]store.ScheduleRun
}

func (s *keepsRuns) DeleteSchedule(ctx context.Context, namespace, name string, expect int64, actor string) error {
	runs, _ := s.ScheduleRuns(ctx, store.ScheduleRunParams{Namespace: namespace, Name: name, Limit: 1000})
	err := s.Store.DeleteSchedule(ctx, namespace, name, expect, actor)
	if err == nil {
		s.left = map[string][]store.ScheduleRun{namespace + name: runs}
	}
	return err
}

func (s *keepsRuns) ScheduleRuns(ctx context.Context, p store.ScheduleRunParams) ([]store.ScheduleRun, error) {
	runs, err := s.Store.ScheduleRuns(ctx, p)
	return append(runs, s.left[p.Namespace+p.Name]...), err
}
