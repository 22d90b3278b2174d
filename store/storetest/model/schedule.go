package model

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/audited"
	"github.com/holdfastdev/holdfast/store/storetest/model/copyof"
)

type scheduleName struct{ namespace, name string }

// schedule is one with its runs, in the order in which they were decided.
type schedule struct {
	store.Schedule
	runs []store.ScheduleRun
}

// SaveSchedule implements store.Schedules.
func (s *Store) SaveSchedule(ctx context.Context, sc store.Schedule, expect int64, actor string) (store.Schedule, error) {
	now, err := s.begin(ctx)
	if err != nil {
		return store.Schedule{}, err
	}
	defer s.mu.Unlock()
	if err := sc.Check(); err != nil {
		return store.Schedule{}, err
	}
	name := scheduleName{sc.Namespace, sc.Name}
	old, known := s.schedules[name]
	switch {
	case !known && expect != 0:
		return store.Schedule{}, store.NoSchedule(sc.Namespace, sc.Name)
	case known && old.Version != expect:
		return store.Schedule{}, store.ScheduleChanged(sc.Namespace, sc.Name, expect, old.Version)
	}
	fresh := schedule{Schedule: copyof.Schedule(&sc), runs: old.runs}
	fresh.Version, fresh.Last, fresh.Fired, fresh.CreatedAt, fresh.UpdatedAt = old.Version+1, old.Last, old.Fired, old.CreatedAt, now
	if !known {
		fresh.CreatedAt, fresh.Version = now, store.FirstVersion(now)
	}
	was := &old.Schedule
	if !known {
		was = nil
	}
	if entry, changed := audited.ScheduleSaved(was, &fresh.Schedule, actor); changed {
		s.audit(now, entry)
	}
	s.schedules[name] = fresh
	return copyof.Schedule(&fresh.Schedule), nil
}

// DeleteSchedule implements store.Schedules.
func (s *Store) DeleteSchedule(ctx context.Context, namespace, name string, expect int64, actor string) error {
	now, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer s.mu.Unlock()
	old, known := s.schedules[scheduleName{namespace, name}]
	switch {
	case !known:
		return store.NoSchedule(namespace, name)
	case expect != 0 && old.Version != expect:
		return store.ScheduleChanged(namespace, name, expect, old.Version)
	}
	delete(s.schedules, scheduleName{namespace, name})
	s.audit(now, audited.ScheduleDeleted(&old.Schedule, actor))
	return nil
}

// Schedules implements store.Schedules.
func (s *Store) Schedules(ctx context.Context, filter store.ScheduleFilter) ([]store.Schedule, error) {
	if _, err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	after := scheduleName{filter.AfterNamespace, filter.AfterName}
	found := s.schedulesThat(func(sc *store.Schedule) bool {
		return (filter.Namespace == "" || sc.Namespace == filter.Namespace) && (filter.Name == "" || sc.Name == filter.Name) &&
			compareNames(scheduleName{sc.Namespace, sc.Name}, after) > 0
	})
	slices.SortFunc(found, func(a, b store.Schedule) int {
		return compareNames(scheduleName{a.Namespace, a.Name}, scheduleName{b.Namespace, b.Name})
	})
	return found[:min(len(found), filter.Limit)], nil
}

func compareNames(a, b scheduleName) int {
	return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
}

func (s *Store) schedulesThat(fit func(*store.Schedule) bool) (found []store.Schedule) {
	for _, sc := range s.schedules {
		if fit(&sc.Schedule) {
			found = append(found, copyof.Schedule(&sc.Schedule))
		}
	}
	return found
}

// DueSchedules implements store.Schedules.
func (s *Store) DueSchedules(ctx context.Context, limit int) (due []store.Schedule, next time.Time, err error) {
	now, err := s.begin(ctx)
	if err != nil {
		return nil, time.Time{}, err
	}
	defer s.mu.Unlock()
	due = s.schedulesThat(func(a *store.Schedule) bool {
		return !a.NextAt.IsZero() && (a.PausedAt.IsZero() || a.Cancels != store.ID{})
	})
	slices.SortFunc(due, func(a, b store.Schedule) int {
		return cmp.Or(a.NextAt.Compare(b.NextAt), compareNames(scheduleName{a.Namespace, a.Name}, scheduleName{b.Namespace, b.Name}))
	})
	n := 0
	for n < len(due) && n < limit && !due[n].NextAt.After(now) {
		n++
	}
	if n < len(due) {
		next = due[n].NextAt
	}
	return due[:n], next, nil
}

// fire carries out a decision, whose jobs are enqueued.
func (s *Store) fire(f *store.Fire, now time.Time) error {
	name := scheduleName{f.Namespace, f.Name}
	sc := s.schedules[name]
	if err := f.Check(); err != nil {
		return err
	}
	if err := f.Judge(sc.Version); err != nil {
		return err
	}
	f.Err = nil
	runs := f.Settle(&sc.Schedule, now)
	if f.Err != nil {
		return f.Err
	}
	for i, r := range runs {
		others := slices.Concat(sc.runs, runs[:i])
		if slices.ContainsFunc(others, func(old store.ScheduleRun) bool { return old.Nominal.Equal(r.Nominal) && old.Manual == r.Manual }) {
			return f.HasRun(r.Nominal)
		}
	}
	sc.runs = slices.Concat(sc.runs, runs)
	sc.Version++
	s.schedules[name] = sc
	if f.Actor != "" {
		s.audit(now, audited.ScheduleFired(f))
	}
	return nil
}

// ScheduleRuns implements store.Schedules.
func (s *Store) ScheduleRuns(ctx context.Context, params store.ScheduleRunParams) ([]store.ScheduleRun, error) {
	if _, err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	place := func(r store.ScheduleRun) int {
		return cmp.Or(r.Nominal.Compare(params.Before), cmp.Compare(r.Manual, params.BeforeManual))
	}
	var runs []store.ScheduleRun
	for _, r := range s.schedules[scheduleName{params.Namespace, params.Name}].runs {
		if params.Before.IsZero() || place(r) < 0 {
			runs = append(runs, r)
		}
	}
	slices.SortFunc(runs, func(a, b store.ScheduleRun) int {
		return cmp.Or(b.Nominal.Compare(a.Nominal), cmp.Compare(b.Manual, a.Manual))
	})
	return runs[:min(len(runs), params.Limit)], nil
}
