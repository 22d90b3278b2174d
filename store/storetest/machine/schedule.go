package machine

import (
	"slices"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/holdfastdev/holdfast/store"
)

// The operations of a machine on schedules, but for those that fire them.

var machineSchedules = []string{"daily", "nightly"}

// plan returns the schedule with a name as the model has it; its version is 0 if there is none.
func (m *machine) plan(name string) store.Schedule {
	found, err := m.model.Schedules(m.ctx, store.ScheduleFilter{Namespace: m.namespace, Name: name, Limit: 1})
	m.must("Schedules", nil, err)
	if len(found) == 0 {
		return store.Schedule{Namespace: m.namespace, Name: name}
	}
	return found[0]
}

// anyPlan draws a schedule as a leader or a person has read it: as it is now, mostly, or as it was.
func (m *machine) anyPlan(t *rapid.T) store.Schedule {
	if len(m.plans) > 0 && chance(t, "old", 15) {
		return m.plans[len(m.plans)-1-rapid.IntRange(0, min(len(m.plans)-1, 5)).Draw(t, "plan from the last")]
	}
	s := m.plan(pick(t, "schedule", machineSchedules...))
	if s.Version == 0 && !chance(t, "none", 10) {
		s = m.plan(machineSchedules[0])
	}
	return s
}

// saveSchedule makes a schedule, or lets a person or code change, pause or resume one.
func (m *machine) saveSchedule(t *rapid.T) {
	s := m.anyPlan(t)
	expect := s.Version + pick(t, "version", int64(0), 0, 0, 0, 0, 0, 1, -1)
	if s.Times == "" || chance(t, "anew", 30) {
		s = m.newSchedule(t, s.Name)
	} else {
		m.changeSchedule(t, &s)
	}
	t.Logf("save schedule %s, expecting %d: %+v", s.Name, expect, s)
	got, gotErr := m.store.SaveSchedule(m.ctx, s, max(expect, 0), "")
	want, wantErr := m.model.SaveSchedule(m.ctx, s, max(expect, 0), "")
	m.sameErr("SaveSchedule", gotErr, wantErr)
	m.sameSchedules("SaveSchedule", []store.Schedule{got}, []store.Schedule{want})
}

func (m *machine) newSchedule(t *rapid.T, name string) store.Schedule {
	now := m.clock.Now()
	s := store.Schedule{Namespace: m.namespace, Name: name, Left: pick(t, "left", int64(-1), 0, 3)}
	s.Declared, s.Times = pick(t, "declared", "", "every 1s"), pick(t, "times", "every 1s", "every 1h")
	s.Overlap, s.Missed = pick(t, "overlap", store.OverlapSkip, store.OverlapCancel), store.MissedCatchUp
	s.Window, s.Jitter = pick(t, "window", 0, time.Hour), pick(t, "jitter", 0, time.Second)
	s.Job = store.ScheduledJob{Kind: pick(t, "kind", machineKinds...), Queue: m.anyQueue(t), Priority: 2, Args: []byte("1")}
	s.NextAt = now.Add(pick(t, "next", time.Second, -time.Second, 0, time.Minute))
	if chance(t, "bounds", 30) {
		s.Start, s.End = now.Add(-time.Minute), now.Add(time.Hour+999*time.Nanosecond)
		s.Job.Tags, s.Job.Metadata, s.Job.OrderingKey = m.anyTags(t), []byte(`{"a":1}`), "x"
	}
	if chance(t, "invalid", 5) {
		s.Times = ""
	}
	return s
}

// changeSchedule pauses or resumes a schedule, clears what its last fire has asked for, or sets
// when it is looked at.
func (m *machine) changeSchedule(t *rapid.T, s *store.Schedule) {
	switch pick(t, "change", "pause", "pause", "resume", "next", "cancels", "cursor") {
	case "pause":
		s.PausedAt, s.PausedBy, s.Note = m.clock.Now(), "ada", "too many"
	case "resume":
		s.PausedAt, s.PausedBy, s.Note = time.Time{}, "", ""
	case "next":
		s.NextAt = pick(t, "next", time.Time{}, m.clock.Now(), m.clock.Now().Add(time.Second))
	case "cursor":
		s.Cursor = pick(t, "cursor", time.Time{}, m.clock.Now())
	default:
		s.Cancels = store.ID{}
	}
}

func (m *machine) deleteSchedule(t *rapid.T) {
	s := m.anyPlan(t)
	expect := pick(t, "expect", s.Version, 0, s.Version+1)
	t.Logf("delete schedule %s, expecting %d", s.Name, expect)
	m.sameErr("DeleteSchedule", m.store.DeleteSchedule(m.ctx, s.Namespace, s.Name, expect, ""),
		m.model.DeleteSchedule(m.ctx, s.Namespace, s.Name, expect, ""))
}

func (m *machine) dueSchedules(t *rapid.T) { m.checkDue(pick(t, "limit", 1, 2)) }

func (m *machine) checkDue(limit int) {
	got, next, err := m.store.DueSchedules(m.ctx, limit)
	want, wantNext, err2 := m.model.DueSchedules(m.ctx, limit)
	m.must("DueSchedules", err, err2)
	// Of those of one time the order is any, and which ones the limit leaves out.
	all, _, err := m.model.DueSchedules(m.ctx, 1000)
	m.must("DueSchedules", nil, err)
	for i, s := range want {
		if i >= len(got) || !got[i].NextAt.Equal(s.NextAt) {
			break
		}
		at := slices.IndexFunc(all, func(a store.Schedule) bool { return a.Namespace == got[i].Namespace && a.Name == got[i].Name })
		if at >= 0 {
			want[i] = all[at]
			all = slices.Delete(all, at, at+1)
		}
	}
	m.sameSchedules("DueSchedules", got, want)
	if !next.Equal(wantNext) {
		m.t.Fatalf("DueSchedules: the next one is due at %v, the model says %v", next, wantNext)
	}
}

// listSchedules compares pages of schedules, and of their runs.
func (m *machine) listSchedules(t *rapid.T) {
	limit := rapid.IntRange(1, 4).Draw(t, "limit")
	filter := store.ScheduleFilter{Namespace: m.namespace, Limit: limit}
	if chance(t, "after", 50) {
		filter.AfterNamespace, filter.AfterName = m.namespace, machineSchedules[0]
	}
	got, err := m.store.Schedules(m.ctx, filter)
	want, err2 := m.model.Schedules(m.ctx, filter)
	m.must("Schedules", err, err2)
	m.sameSchedules("a page of schedules", got, want)

	params := store.ScheduleRunParams{Namespace: m.namespace, Name: pick(t, "schedule", machineSchedules...), Limit: limit}
	all, err := m.model.ScheduleRuns(m.ctx, store.ScheduleRunParams{Namespace: m.namespace, Name: params.Name, Limit: 1000})
	m.must("ScheduleRuns", nil, err)
	if len(all) > 0 && chance(t, "before", 70) {
		before := one(t, "run", all)
		params.Before, params.BeforeManual = before.Nominal, before.Manual
	}
	runs, err := m.store.ScheduleRuns(m.ctx, params)
	wantRuns, err2 := m.model.ScheduleRuns(m.ctx, params)
	m.must("ScheduleRuns", err, err2)
	m.sameRuns(params.Name, runs, wantRuns)
}

func (m *machine) sameSchedules(what string, got, want []store.Schedule) {
	for _, all := range [][]store.Schedule{got, want} {
		for i := range all {
			s := &all[i]
			for _, t := range []*time.Time{&s.PausedAt, &s.Cursor, &s.NextAt, &s.Start, &s.End, &s.CreatedAt, &s.UpdatedAt} {
				*t = t.UTC()
			}
		}
	}
	m.same(what, got, want, cmpopts.EquateEmpty())
}

func (m *machine) sameRuns(name string, got, want []store.ScheduleRun) {
	for _, all := range [][]store.ScheduleRun{got, want} {
		for i := range all {
			all[i].Nominal, all[i].At = all[i].Nominal.UTC(), all[i].At.UTC()
		}
	}
	m.same("runs of "+name, got, want, cmpopts.EquateEmpty())
}

// checkSchedules compares all schedules and their runs, and looks whether what they count fits to
// what is there.
func (m *machine) checkSchedules() {
	if !m.mode.scheduled {
		return
	}
	filter := store.ScheduleFilter{Namespace: m.namespace, Limit: 100}
	got, err := m.store.Schedules(m.ctx, filter)
	want, err2 := m.model.Schedules(m.ctx, filter)
	m.must("Schedules", err, err2)
	m.sameSchedules("Schedules", got, want)
	m.checkDue(10)
	runs := map[string][]store.ScheduleRun{}
	for _, name := range machineSchedules { // one that is not there has none
		params := store.ScheduleRunParams{Namespace: m.namespace, Name: name, Limit: 1000}
		gotRuns, err := m.store.ScheduleRuns(m.ctx, params)
		wantRuns, err2 := m.model.ScheduleRuns(m.ctx, params)
		m.must("ScheduleRuns", err, err2)
		m.sameRuns(name, gotRuns, wantRuns)
		runs[name] = gotRuns
	}
	for _, s := range got {
		m.checkRuns(&s, runs[s.Name])
		if !slices.ContainsFunc(m.plans, func(old store.Schedule) bool { return old.Name == s.Name && old.Version == s.Version }) {
			m.plans = append(m.plans, s)
		}
	}
}

// checkRuns looks at the store alone.
func (m *machine) checkRuns(s *store.Schedule, runs []store.ScheduleRun) {
	fired := int64(0)
	for i, r := range runs {
		if i > 0 && r.Nominal.Equal(runs[i-1].Nominal) && r.Manual == runs[i-1].Manual {
			m.t.Fatalf("OneFire: schedule %s has two runs for %v", s.Name, r.Nominal)
		}
		if r.State != store.RunFired {
			continue
		}
		if fired++; m.find(r.Job) == nil {
			m.t.Fatalf("OneFire: schedule %s has fired job %v at %v, which nobody knows", s.Name, r.Job, r.Nominal)
		}
	}
	if fired != s.Fired || fired > 0 && s.Last == (store.ID{}) {
		m.t.Fatalf("OneFire: schedule %s has fired %d jobs, and counts %d; the last is %v", s.Name, fired, s.Fired, s.Last)
	}
}

// dropSchedules leaves none to the next check.
func (m *machine) dropSchedules(inner store.Store) {
	left, err := inner.Schedules(m.ctx, store.ScheduleFilter{Namespace: m.namespace, Limit: 100})
	m.must("Schedules", err)
	for _, s := range left {
		m.must("DeleteSchedule", inner.DeleteSchedule(m.ctx, s.Namespace, s.Name, 0, ""))
	}
}
