package schedules

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/env"
)

var scheduleTests = env.Tests{
	"all_of_a_schedule_is_kept":                       keepsAll,
	"a_change_expects_a_version":                      keepExpects,
	"what_cannot_be_kept_is_refused":                  keepInvalid,
	"schedules_come_by_name_in_pages":                 keepPages,
	"those_that_are_due_come_by_time":                 keepDue,
	"a_schedule_that_was_deleted_leaves_its_jobs":     keepDeleted,
	"a_name_is_one_of_a_namespace_and_any_text":       keepSpaces,
	"old_runs_of_a_schedule_are_removed_by_degree":    keepRuns,
	"old_runs_are_removed_of_one_that_is_saved":       keepSaved,
	"what_a_person_asked_for_is_remembered_for_a_day": keepAsked,
}

func keepsAll(e *env.Env) {
	at := e.Clock.Now().Add(1234567891 * time.Nanosecond)
	s := env.Schedule("nightly", func(s *store.Schedule) {
		s.Declared, s.PausedAt, s.PausedBy, s.Note = "from code", at, "ann", "too many"
		s.Cursor, s.NextAt, s.Left, s.Cancels = at.Add(-time.Hour), at.Add(time.Hour), 7, e.IDs.Next()
		s.Overlap, s.Missed, s.Window, s.Jitter = store.OverlapBufferAll, store.MissedCatchUp, time.Hour, time.Minute
		s.Start, s.End = at, at.Add(24*time.Hour).In(time.FixedZone("", 3600))
		s.Job.Options = store.Options{Timeout: time.Second, Key: "k", KeepKey: store.KeepForever, Source: "nightly"}
		s.Job.Tags, s.Job.Metadata, s.Job.OrderingKey = []string{"a", "b"}, []byte(`{"a":1}`), "o"
		s.Job.MaxAttempts, s.Job.Codec, s.Job.Args = 3, 5, []byte{0, 1, 255}
	})
	want := s
	for _, t := range []*time.Time{&want.PausedAt, &want.Cursor, &want.NextAt, &want.Start, &want.End} {
		*t = t.UTC().Truncate(time.Microsecond)
	}
	want.Version, want.CreatedAt, want.UpdatedAt = store.FirstVersion(e.Clock.Now()), e.Clock.Now(), e.Clock.Now()
	saved := e.SaveSchedule(s)
	e.Equal("saved", saved, want)
	e.Equal("read", e.ScheduleOf("nightly"), want)

	// One that is replaced keeps nothing but what the store sets.
	e.Clock.Advance(time.Hour)
	plain := env.Schedule("nightly")
	replaced, err := e.Store.SaveSchedule(e.Ctx, plain, saved.Version, "")
	e.NoError("SaveSchedule", err)
	plain.Version, plain.CreatedAt, plain.UpdatedAt = saved.Version+1, want.CreatedAt, e.Clock.Now()
	e.Equal("replaced", replaced, plain)
	e.Equal("read", e.ScheduleOf("nightly"), plain)
}

func keepExpects(e *env.Env) {
	s := env.Schedule("nightly")
	e.WantErr("one that is not there", env.ErrOf(e.Store.SaveSchedule(e.Ctx, s, 1, "")), store.ErrNotFound)
	first := e.SaveSchedule(s)
	e.WantErr("one that is there", env.ErrOf(e.Store.SaveSchedule(e.Ctx, s, 0, "")), store.ErrConflict)
	e.WantErr("a later version", env.ErrOf(e.Store.SaveSchedule(e.Ctx, s, 2, "")), store.ErrConflict)
	second, err := e.Store.SaveSchedule(e.Ctx, s, first.Version, "")
	e.NoError("SaveSchedule", err)
	e.WantErr("an earlier version", env.ErrOf(e.Store.SaveSchedule(e.Ctx, s, first.Version, "")), store.ErrConflict)
	e.Equal("schedule", e.ScheduleOf("nightly"), second)
	e.WantErr("delete an earlier version", e.Store.DeleteSchedule(e.Ctx, env.Namespace, "nightly", first.Version, ""), store.ErrConflict)
	e.WantErr("delete another one", e.Store.DeleteSchedule(e.Ctx, env.Namespace, "daily", 0, ""), store.ErrNotFound)
	e.WantErr("delete another one of a version", e.Store.DeleteSchedule(e.Ctx, env.Namespace, "daily", 1, ""), store.ErrNotFound)
	e.NoError("DeleteSchedule", e.Store.DeleteSchedule(e.Ctx, env.Namespace, "nightly", second.Version, ""))
	e.WantErr("delete it twice", e.Store.DeleteSchedule(e.Ctx, env.Namespace, "nightly", 0, ""), store.ErrNotFound)
	e.Clock.Advance(time.Second)
	if again := e.SaveSchedule(s); again.Version <= second.Version {
		e.Fatalf("one with the same name begins with the version %d, and that before it ended with %d", again.Version, second.Version)
	}
	e.WantErr("a change of the one before", env.ErrOf(e.Store.SaveSchedule(e.Ctx, s, second.Version, "")), store.ErrConflict)
}

func keepInvalid(e *env.Env) {
	for what, change := range map[string]func(*store.Schedule){
		"no name":       func(s *store.Schedule) { s.Name = "" },
		"no namespace":  func(s *store.Schedule) { s.Namespace = "" },
		"no times":      func(s *store.Schedule) { s.Times = "" },
		"no kind":       func(s *store.Schedule) { s.Job.Kind = "" },
		"no priority":   func(s *store.Schedule) { s.Job.Priority = 0 },
		"a NUL":         func(s *store.Schedule) { s.Note = "a\x00b" },
		"no UTF-8":      func(s *store.Schedule) { s.Declared = "\xff" },
		"an overlap":    func(s *store.Schedule) { s.Overlap = 6 },
		"a policy":      func(s *store.Schedule) { s.Missed = 3 },
		"a jitter":      func(s *store.Schedule) { s.Jitter = -1 },
		"the year 9999": func(s *store.Schedule) { s.NextAt = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) },
		"metadata":      func(s *store.Schedule) { s.Job.Metadata = []byte(`{`) },
	} {
		e.WantErr(what, env.ErrOf(e.Store.SaveSchedule(e.Ctx, env.Schedule("nightly", change), 0, "")), store.ErrInvalid)
	}
	found, err := e.Store.Schedules(e.Ctx, store.ScheduleFilter{Limit: 10})
	e.NoError("Schedules", err)
	if len(found) > 0 {
		e.Fatalf("something was kept: %+v", found)
	}
}

func keepPages(e *env.Env) {
	var want []string
	for _, space := range []string{env.Namespace, env.OtherSpace} {
		for i := range 5 {
			s := env.Schedule(fmt.Sprint("s", 4-i), func(s *store.Schedule) { s.Namespace = space })
			e.SaveSchedule(s)
			want = append(want, space+"/"+s.Name)
		}
	}
	slices.Sort(want)
	for _, limit := range []int{1, 3, 100} {
		var got []string
		filter := store.ScheduleFilter{Limit: limit}
		for {
			page, err := e.Store.Schedules(e.Ctx, filter)
			e.NoError("Schedules", err)
			if len(page) == 0 {
				break
			}
			for _, s := range page {
				got = append(got, s.Namespace+"/"+s.Name)
			}
			last := page[len(page)-1]
			filter.AfterNamespace, filter.AfterName = last.Namespace, last.Name
		}
		e.Equal(fmt.Sprint("pages of ", limit), got, want)
	}
}

func keepDue(e *env.Env) {
	now := e.Clock.Now()
	for name, at := range map[string]time.Time{
		"c": now.Add(-time.Hour), "b": now.Add(-2 * time.Hour), "a": now, "later": now.Add(time.Minute), "last": now.Add(time.Hour), "never": {},
	} {
		e.SaveSchedule(env.Schedule(name, func(s *store.Schedule) { s.NextAt = at }))
	}
	e.SaveSchedule(env.Schedule("paused", func(s *store.Schedule) { s.NextAt, s.PausedAt = now.Add(-time.Hour), now }))
	e.SaveSchedule(env.Schedule("asks", func(s *store.Schedule) {
		s.NextAt, s.PausedAt, s.Cancels = now.Add(-90*time.Minute), now, e.IDs.Next()
	}))
	for _, c := range []struct {
		limit int
		want  string
		next  time.Time
	}{
		{10, "b asks c a", now.Add(time.Minute)},
		{4, "b asks c a", now.Add(time.Minute)},
		{3, "b asks c", now},
		{1, "b", now.Add(-90 * time.Minute)},
	} {
		due, next, err := e.Store.DueSchedules(e.Ctx, c.limit)
		e.NoError("DueSchedules", err)
		var names []string
		for _, s := range due {
			names = append(names, s.Name)
		}
		e.Equal(fmt.Sprint("due, at most ", c.limit), strings.Join(names, " "), c.want)
		e.Equal("next", next, c.next)
	}
	e.Clock.Advance(24 * time.Hour)
	due, next, err := e.Store.DueSchedules(e.Ctx, 10)
	if e.NoError("DueSchedules", err); len(due) != 6 || !next.IsZero() {
		e.Fatalf("%d are due, the next one at %v", len(due), next)
	}
}

func keepDeleted(e *env.Env) {
	s := e.SaveSchedule(env.Schedule("nightly"))
	at := e.Clock.Now()
	fired := e.Fire(s, at)
	e.Apply(env.Batched(fired))
	e.NoError("DeleteSchedule", e.Store.DeleteSchedule(e.Ctx, env.Namespace, "nightly", 0, ""))
	if runs := e.RunsOf("nightly"); len(runs) > 0 {
		e.Fatalf("runs of a schedule that is not there: %+v", runs)
	}
	wantRefused(e, "a fire of it", store.ErrNotFound, e.Fire(s, at.Add(time.Hour)))
	again := e.SaveSchedule(env.Schedule("nightly"))
	if runs := e.RunsOf("nightly"); len(runs) > 0 || again.Fired != 0 || again.Last != (store.ID{}) {
		e.Fatalf("another one with the same name knows of it: %+v, %+v", again, runs)
	}
	e.Apply(env.Batched(e.Fire(again, at)))
	e.WantSameIDs("jobs", env.ClaimedIDs(e.Claim(e.Join(), 10)), fired.Enqueues[0].Job.ID, e.ScheduleOf("nightly").Last)
}

func keepSpaces(e *env.Env) {
	names := []string{"nightly", "Nightly", "nightly ", "näch'tlich\"", strings.Repeat("x", 300)}
	for _, name := range names {
		e.SaveSchedule(env.Schedule(name))
		e.SaveSchedule(env.Schedule(name, func(s *store.Schedule) { s.Namespace, s.Note = env.OtherSpace, "other" }))
	}
	for _, name := range names {
		if s := e.ScheduleOf(name); s.Name != name || s.Note != "" {
			e.Fatalf("schedule %q is %q, %q", name, s.Name, s.Note)
		}
	}
	s := e.ScheduleOf("nightly")
	e.Apply(env.Batched(e.Fire(s, e.Clock.Now())))
	there := e.InOtherSpace().ScheduleOf("nightly")
	if there.Version != store.FirstVersion(there.CreatedAt) || len(e.InOtherSpace().RunsOf("nightly")) > 0 {
		e.Fatalf("the one of another namespace was fired: %+v", there)
	}
}

// keepRuns: at least RunsKept are kept, in the order in which they were decided, and not many more.
func keepRuns(e *env.Env) {
	s := e.SaveSchedule(env.Schedule("nightly"))
	begin := e.Clock.Now()
	const all = store.RunsKept + 150
	for i := range all {
		e.Clock.Advance(time.Second)
		at := begin.Add(time.Duration(i) * time.Hour)
		fire := &store.Fire{
			Namespace: s.Namespace, Name: s.Name, Version: s.Version + int64(i), Cursor: at, NextAt: at.Add(time.Hour), Left: -1,
			Runs: []store.FireRun{{Nominal: at, State: store.RunMissed}},
		}
		e.Apply(&store.Batch{Fires: []*store.Fire{fire}})
	}
	runs := e.RunsOf("nightly")
	if e.Store.Traits().Name != "model" && (len(runs) < store.RunsKept || len(runs) > store.RunsKept+100) {
		e.Fatalf("%d of %d runs are kept", len(runs), all)
	}
	for i, r := range runs {
		e.Equal("run", r.Nominal, begin.Add(time.Duration(all-1-i)*time.Hour))
	}
	var paged []store.ScheduleRun
	params := store.ScheduleRunParams{Namespace: env.Namespace, Name: "nightly", Limit: 70}
	for len(paged) < len(runs) {
		page, err := e.Store.ScheduleRuns(e.Ctx, params)
		if e.NoError("ScheduleRuns", err); len(page) == 0 {
			break
		}
		paged = append(paged, page...)
		params.Before, params.BeforeManual = page[len(page)-1].Nominal, page[len(page)-1].Manual
	}
	e.Equal("runs in pages", paged, runs, cmpopts.EquateEmpty())
	if is := e.ScheduleOf("nightly"); is.Version != s.Version+all || is.Left != -1 {
		e.Fatalf("the schedule is %+v", is)
	}
}

// keepAsked: what a person asked for is not done twice, however often the schedule fires meanwhile,
// for as long as is promised.
func keepAsked(e *env.Env) {
	at := e.Clock.Now()
	s := e.SaveSchedule(env.Schedule("nightly"))
	asked := func(number int64) *store.Unit {
		u := e.Fire(s, at)
		u.Fire.Manual, u.Fire.Version, u.Fire.Cursor, u.Fire.NextAt, u.Fire.Left = number, 0, time.Time{}, time.Time{}, 0
		return u
	}
	e.Apply(env.Batched(asked(7)))
	fires := func() {
		now := e.ScheduleOf("nightly")
		for i := range store.RunsKept + 150 {
			e.Clock.Advance(time.Second)
			e.Apply(&store.Batch{Fires: []*store.Fire{{
				Namespace: s.Namespace, Name: s.Name, Version: now.Version + int64(i), Cursor: e.Clock.Now(), Left: -1,
				Runs: []store.FireRun{{Nominal: e.Clock.Now(), State: store.RunMissed}},
			}}})
		}
	}
	fires()
	wantRefused(e, "asked again", store.ErrConflict, asked(7))
	e.Clock.Advance(store.AskedRunsKept)
	fires()
	for _, r := range e.RunsOf("nightly") {
		if r.Manual != 0 && e.Store.Traits().Name != "model" {
			e.Fatalf("it is kept for ever: %+v", r)
		}
	}
}

// keepSaved: a schedule that is saved between any two of its fires, as one is whose jobs are to be
// stopped by the next ones, does not keep all of its runs.
func keepSaved(e *env.Env) {
	s := e.SaveSchedule(env.Schedule("nightly"))
	const all = store.RunsKept + 150
	for i := range all {
		e.Clock.Advance(time.Second)
		at := e.Clock.Now()
		e.Apply(&store.Batch{Fires: []*store.Fire{{
			Namespace: s.Namespace, Name: s.Name, Version: s.Version + int64(2*i), Cursor: at, Left: -1,
			Runs: []store.FireRun{{Nominal: at, State: store.RunMissed}},
		}}})
		_, err := e.Store.SaveSchedule(e.Ctx, s, s.Version+int64(2*i+1), "")
		e.NoError("SaveSchedule", err)
	}
	runs := e.RunsOf("nightly")
	if e.Store.Traits().Name != "model" && (len(runs) < store.RunsKept || len(runs) > store.RunsKept+100) {
		e.Fatalf("%d of %d runs are kept", len(runs), all)
	}
}
