package schedules

import (
	"errors"
	"sync"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var fireTests = env.Tests{
	"AtomicTransitions_a_fire_is_whole":               fireWhole,
	"AtomicTransitions_a_refused_fire_leaves_nothing": fireRefused,
	"OneFire_of_two_decisions_one_is_carried_out":     fireOnce,
	"a_time_is_skipped_if_the_job_exists":             fireSkipped,
	"a_manual_fire_leaves_the_cursor_alone":           fireManual,
	"a_backfill_leaves_the_last_job_alone":            fireBackfill,
	"what_no_store_carries_out_is_refused":            fireInvalid,
	"fires_of_many_schedules_are_one_batch":           fireMany,
	"AtomicTransitions_fires_of_one_schedule_add_up":  fireTogether,
}

func fireWhole(e *env.Env) {
	at := e.Clock.Now()
	s := e.SaveSchedule(env.Schedule("nightly", func(s *store.Schedule) { s.NextAt, s.Left = at, 5 }))
	unit := e.Fire(s, at)
	other := e.IDs.Next()
	unit.Fire.Runs = append(unit.Fire.Runs, store.FireRun{Nominal: at.Add(-time.Hour), State: store.RunMissed})
	unit.Fire.Left, unit.Fire.Cancels = 4, other
	e.Clock.Advance(time.Second)
	batch := env.Batched(unit)
	e.Apply(batch)
	job := unit.Enqueues[0].Job.ID
	if r := unit.Enqueues[0].Result; r.ID != job || r.State != store.Available || r.Existing {
		e.Fatalf("the job: %+v", r)
	}
	want := s
	want.Version, want.Cursor, want.NextAt, want.Left, want.Cancels = s.Version+1, at, at.Add(time.Hour), 4, other
	want.Last, want.Fired = job, 1
	e.Equal("schedule", e.ScheduleOf("nightly"), want)
	e.Equal("runs", e.RunsOf("nightly"), []store.ScheduleRun{
		{Nominal: at, State: store.RunFired, Job: job, At: e.Clock.Now()},
		{Nominal: at.Add(-time.Hour), State: store.RunMissed, At: e.Clock.Now()},
	})
	e.WantIDs("claimed", env.ClaimedIDs(e.Claim(e.Join(), 10)), job)
	if due, next, err := e.Store.DueSchedules(e.Ctx, 1); err != nil || len(due) > 0 || !next.Equal(at.Add(time.Hour)) {
		e.Fatalf("due: %+v, %v, %v", due, next, err)
	}
}

// fireRefused: whatever refuses a part refuses all, and what else is in the batch.
func fireRefused(e *env.Env) {
	at := e.Clock.Now()
	lost := e.Running(1)[0]
	e.End(lost, store.Completed)
	s, second := e.SaveSchedule(env.Schedule("nightly")), e.SaveSchedule(env.Schedule("daily"))
	e.Apply(env.Batched(e.Fire(second, at)))
	second = e.ScheduleOf("daily")
	taken := e.InOtherSpace().Add()
	for what, c := range map[string]struct {
		spoil func(*store.Unit)
		class error
	}{
		"a job whose id is taken": {func(u *store.Unit) { u.Enqueues[0].Job.ID = taken }, store.ErrConflict},
		"an invalid job":          {func(u *store.Unit) { u.Enqueues[0].Job.Priority = 9 }, store.ErrInvalid},
		"a lost lease": {func(u *store.Unit) {
			u.Append = &store.Append{Lease: lost.Lease, Entries: env.Steps(1, 1)}
		}, store.ErrLeaseLost},
		"a time that has a run": {func(u *store.Unit) {
			u.Fire.Runs = append(u.Fire.Runs, store.FireRun{Nominal: at, State: store.RunMissed}, store.FireRun{Nominal: at, State: store.RunMissed})
		}, store.ErrConflict},
		"another version":  {func(u *store.Unit) { u.Fire.Version++ }, store.ErrConflict},
		"another schedule": {func(u *store.Unit) { u.Fire.Name = "monthly" }, store.ErrNotFound},
	} {
		good, bad := e.Fire(second, at.Add(time.Hour)), e.Fire(s, at.Add(time.Hour))
		c.spoil(bad)
		wantRefused(e, what, c.class, bad, good)
		e.Equal(what+": the schedule", e.ScheduleOf("nightly"), s)
		e.Equal(what+": the other one", e.ScheduleOf("daily"), second)
		if runs := e.RunsOf("nightly"); len(runs) > 0 {
			e.Fatalf("%s: there are runs: %+v", what, runs)
		}
		e.WantGone(good.Enqueues[0].Job.ID)
	}
}

// wantRefused applies a unit that is to be refused, beside others that are not to blame.
func wantRefused(e *env.Env, what string, class error, bad *store.Unit, good ...*store.Unit) {
	e.Helper()
	err := e.Store.Apply(e.Ctx, env.Batched(append(good, bad)...))
	if _, refused := errors.AsType[*store.RefusedError](err); !refused || bad.Err() == nil {
		e.Fatalf("%s: %v; the unit has %v", what, err, bad.Err())
	}
	if !errors.Is(bad.Err(), class) {
		e.Fatalf("%s: the unit has %v, want %v", what, bad.Err(), class)
	}
	for _, u := range good {
		if u.Err() != nil {
			e.Fatalf("%s: another unit has %v", what, u.Err())
		}
	}
}

func fireOnce(e *env.Env) {
	at := e.Clock.Now()
	s := e.SaveSchedule(env.Schedule("nightly"))
	first, second := e.Fire(s, at), e.Fire(s, at)
	e.Apply(env.Batched(first))
	wantRefused(e, "the second", store.ErrConflict, second)
	e.WantGone(second.Enqueues[0].Job.ID)
	// A decision from the newest version about a time that has fired is none either.
	third := e.Fire(e.ScheduleOf("nightly"), at)
	wantRefused(e, "the third", store.ErrConflict, third)
	e.WantIDs("claimed", env.ClaimedIDs(e.Claim(e.Join(), 10)), first.Enqueues[0].Job.ID)
	// A person who changes the schedule meanwhile makes the decision void.
	s = e.ScheduleOf("nightly")
	late := e.Fire(s, at.Add(time.Hour))
	changed, err := e.Store.SaveSchedule(e.Ctx, s, s.Version, "")
	e.NoError("SaveSchedule", err)
	wantRefused(e, "a late decision", store.ErrConflict, late)
	e.Apply(env.Batched(e.Fire(changed, at.Add(time.Hour))))
}

// fireRace lets several processes decide the same of two schedules, named in either order.
func fireRace(e *env.Env) {
	e.Competes()
	const rounds, deciders = 10, 4
	at := e.Clock.Now()
	e.SaveSchedule(env.Schedule("a"))
	e.SaveSchedule(env.Schedule("b"))
	for round := range rounds {
		a, b := e.ScheduleOf("a"), e.ScheduleOf("b")
		time := at.Add(time.Duration(round) * time.Hour)
		var mu sync.Mutex
		var all sync.WaitGroup
		won := 0
		for i := range deciders {
			units := []*store.Unit{e.Fire(a, time), e.Fire(b, time)}
			if i%2 == 1 {
				units[0], units[1] = units[1], units[0]
			}
			all.Go(func() {
				err := e.Store.Apply(e.Ctx, env.Batched(units...))
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					won++
				case !errors.Is(err, store.ErrRefused):
					e.Errorf("round %d: %v", round, err)
				}
			})
		}
		all.Wait()
		if won != 1 {
			e.Fatalf("round %d: %d decisions were carried out", round, won)
		}
	}
	for _, name := range []string{"a", "b"} {
		if s := e.ScheduleOf(name); s.Fired != rounds || s.Version != store.FirstVersion(s.CreatedAt)+rounds || len(e.RunsOf(name)) != rounds {
			e.Fatalf("schedule %s has fired %d times, its version is %d", name, s.Fired, s.Version)
		}
	}
	if n := len(e.Claim(e.Join(), 1000)); n != 2*rounds {
		e.Fatalf("there are %d jobs", n)
	}
}

func fireSkipped(e *env.Env) {
	at := e.Clock.Now()
	s := e.SaveSchedule(env.Schedule("nightly"))
	unique := env.Unique("schedule nightly", store.Available, store.Scheduled, store.Running, store.Retryable)
	first := e.Fire(s, at, unique)
	e.Apply(env.Batched(first))
	job := first.Enqueues[0].Job.ID
	second := e.Fire(e.ScheduleOf("nightly"), at.Add(time.Hour), unique)
	e.Apply(env.Batched(second))
	e.Equal("runs", e.RunsOf("nightly"), []store.ScheduleRun{
		{Nominal: at.Add(time.Hour), State: store.RunSkipped, Job: job, At: e.Clock.Now()},
		{Nominal: at, State: store.RunFired, Job: job, At: e.Clock.Now()},
	})
	if s := e.ScheduleOf("nightly"); s.Fired != 1 || s.Last != job || !s.Cursor.Equal(at.Add(time.Hour)) {
		e.Fatalf("the schedule is %+v", s)
	}
	e.End(e.ClaimOne(e.Join(), job), store.Completed)
	third := e.Fire(e.ScheduleOf("nightly"), at.Add(2*time.Hour), unique)
	e.Apply(env.Batched(third))
	if s := e.ScheduleOf("nightly"); s.Fired != 2 || s.Last != third.Enqueues[0].Job.ID {
		e.Fatalf("the schedule is %+v", s)
	}
}

func fireManual(e *env.Env) {
	at := e.Clock.Now()
	s := e.SaveSchedule(env.Schedule("nightly", func(s *store.Schedule) { s.Cursor, s.NextAt, s.Left = at, at.Add(time.Hour), 3 }))
	e.Apply(env.Batched(e.Fire(s, at)))
	before := e.ScheduleOf("nightly")
	manual := func(number int64, version int64) *store.Unit {
		u := e.Fire(s, at)
		u.Fire.Manual, u.Fire.Version, u.Fire.Cursor, u.Fire.NextAt, u.Fire.Left = number, version, time.Time{}, time.Time{}, 0
		return u
	}
	u := manual(7, 0)
	e.Apply(env.Batched(u))
	want := before
	want.Version, want.Fired, want.Last = before.Version+1, before.Fired+1, u.Enqueues[0].Job.ID
	e.Equal("schedule", e.ScheduleOf("nightly"), want)
	again := manual(7, 0)
	wantRefused(e, "the same again", store.ErrConflict, again)
	wantRefused(e, "from an earlier version", store.ErrConflict, manual(8, before.Version))
	cancels := manual(9, want.Version)
	cancels.Fire.Cancels = u.Enqueues[0].Job.ID
	e.Apply(env.Batched(cancels))
	want.Version, want.Fired, want.Last = want.Version+1, want.Fired+1, cancels.Enqueues[0].Job.ID
	want.Cancels, want.NextAt = u.Enqueues[0].Job.ID, e.Clock.Now()
	e.Equal("the schedule that replaces a job", e.ScheduleOf("nightly"), want)
	var numbers []int64
	for _, r := range e.RunsOf("nightly") {
		numbers = append(numbers, r.Manual)
	}
	e.Equal("runs", numbers, []int64{9, 7, 0})
}

// fireBackfill: what the next job replaces is one of the clock, or of a trigger.
func fireBackfill(e *env.Env) {
	at := e.Clock.Now()
	s := e.SaveSchedule(env.Schedule("nightly"))
	clock := e.Fire(s, at)
	e.Apply(env.Batched(clock))
	s = e.ScheduleOf("nightly")
	u := e.Fire(s, at.Add(-24*time.Hour))
	u.Fire.Manual, u.Fire.Version, u.Fire.Backfill = 7, 0, true
	e.Apply(env.Batched(u))
	want := s
	want.Version, want.Fired = s.Version+1, s.Fired+1
	e.Equal("schedule", e.ScheduleOf("nightly"), want)
	e.Equal("the last job", want.Last, clock.Enqueues[0].Job.ID)
	if runs := e.RunsOf("nightly"); len(runs) != 2 || runs[1].Job != u.Enqueues[0].Job.ID || runs[1].State != store.RunFired {
		e.Fatalf("the runs: %+v", runs)
	}
}

func fireInvalid(e *env.Env) {
	at := e.Clock.Now()
	s := e.SaveSchedule(env.Schedule("nightly"))
	for what, spoil := range map[string]func(*store.Fire){
		"no version":          func(f *store.Fire) { f.Version = 0 },
		"no time":             func(f *store.Fire) { f.Runs[0].Nominal = time.Time{} },
		"a run without a job": func(f *store.Fire) { f.Runs[0].Enqueue = nil },
		"a job of no run":     func(f *store.Fire) { f.Runs[0].State = store.RunMissed },
		"an unknown state":    func(f *store.Fire) { f.Runs = append(f.Runs, store.FireRun{Nominal: at}) },
		"the year 10000":      func(f *store.Fire) { f.NextAt = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) },
	} {
		u := e.Fire(s, at)
		spoil(u.Fire)
		wantRefused(e, what, store.ErrInvalid, u)
	}
	e.Equal("schedule", e.ScheduleOf("nightly"), s)
	e.WantNothing(e.Join())
}

func fireMany(e *env.Env) {
	const n = 300
	at := e.Clock.Now()
	for i := range n {
		e.SaveSchedule(env.Schedule(string(rune('a'+i%26))+time.Duration(i).String(), func(s *store.Schedule) { s.NextAt = at }))
	}
	due, _, err := e.Store.DueSchedules(e.Ctx, 1000)
	e.NoError("DueSchedules", err)
	var units []*store.Unit
	for _, s := range due {
		units = append(units, e.Fire(s, at))
	}
	e.Apply(env.Batched(units...))
	if n := len(e.Claim(e.Join(), 1000)); len(due) != n || n != 300 {
		e.Fatalf("%d schedules, %d jobs", len(due), n)
	}
	if due, _, err := e.Store.DueSchedules(e.Ctx, 1000); err != nil || len(due) > 0 {
		e.Fatalf("%d are due still, %v", len(due), err)
	}
}

// fireTogether: of fires of one schedule that are in one batch each sees what the one before has
// left.
func fireTogether(e *env.Env) {
	at := e.Clock.Now()
	s := e.SaveSchedule(env.Schedule("nightly", func(s *store.Schedule) { s.NextAt, s.Left = at, 5 }))
	first, clock, last := e.Fire(s, at), e.Fire(s, at), e.Fire(s, at)
	first.Fire.Manual, first.Fire.Version = 1, 0
	clock.Fire.Version, clock.Fire.Left = s.Version+1, 4
	last.Fire.Manual, last.Fire.Version = 2, 0
	stale := e.Fire(s, at.Add(time.Hour))
	wantRefused(e, "one from before them", store.ErrConflict, stale, first, clock, last)
	e.Equal("schedule", e.ScheduleOf("nightly"), s)
	e.Apply(env.Batched(first, clock, last))
	want := s
	want.Version, want.Fired, want.Last = s.Version+3, 3, last.Enqueues[0].Job.ID
	want.Cursor, want.NextAt, want.Left = at, at.Add(time.Hour), 4
	e.Equal("schedule", e.ScheduleOf("nightly"), want)
	if runs := e.RunsOf("nightly"); len(runs) != 3 || len(e.Claim(e.Join(), 10)) != 3 {
		e.Fatalf("the runs: %+v", runs)
	}
}
