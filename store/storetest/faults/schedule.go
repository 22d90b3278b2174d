package faults

import (
	"context"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// once makes a call that the contract does not let anybody repeat: what it expects has changed by
// then.
func once[T any](ctx context.Context, s *Store, op string, call func() (T, error)) (result T, err error) {
	err = s.do(ctx, op, func(again bool) (err error) {
		if again {
			return errOnce
		}
		result, err = call()
		return err
	})
	if err != nil {
		var none T
		return none, err
	}
	return result, nil
}

// SaveSchedule implements store.Schedules.
func (s *Store) SaveSchedule(ctx context.Context, sc store.Schedule, expect int64, actor string) (store.Schedule, error) {
	return once(ctx, s, "SaveSchedule", func() (store.Schedule, error) { return s.inner.SaveSchedule(ctx, sc, expect, actor) })
}

// DeleteSchedule implements store.Schedules.
func (s *Store) DeleteSchedule(ctx context.Context, namespace, name string, expect int64, actor string) error {
	_, err := once(ctx, s, "DeleteSchedule", func() (struct{}, error) {
		return struct{}{}, s.inner.DeleteSchedule(ctx, namespace, name, expect, actor)
	})
	return err
}

// Schedules implements store.Schedules.
func (s *Store) Schedules(ctx context.Context, filter store.ScheduleFilter) ([]store.Schedule, error) {
	return answer(ctx, s, "Schedules", func() ([]store.Schedule, error) { return s.inner.Schedules(ctx, filter) })
}

// DueSchedules implements store.Schedules.
func (s *Store) DueSchedules(ctx context.Context, limit int) (due []store.Schedule, next time.Time, err error) {
	due, err = answer(ctx, s, "DueSchedules", func() (due []store.Schedule, err error) {
		due, next, err = s.inner.DueSchedules(ctx, limit)
		return due, err
	})
	if err != nil {
		return nil, time.Time{}, err
	}
	return due, next, nil
}

// ScheduleRuns implements store.Schedules.
func (s *Store) ScheduleRuns(ctx context.Context, params store.ScheduleRunParams) ([]store.ScheduleRun, error) {
	return answer(ctx, s, "ScheduleRuns", func() ([]store.ScheduleRun, error) { return s.inner.ScheduleRuns(ctx, params) })
}
