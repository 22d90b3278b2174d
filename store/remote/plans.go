package remote

import (
	"context"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// SaveSchedule implements store.Schedules.
func (s *Store) SaveSchedule(ctx context.Context, schedule store.Schedule, expect int64, actor string) (store.Schedule, error) {
	return ask[store.Schedule](ctx, s, "SaveSchedule", with3(schedule, expect, actor))
}

// DeleteSchedule implements store.Schedules.
func (s *Store) DeleteSchedule(ctx context.Context, namespace, name string, expect int64, actor string) error {
	return s.tell(ctx, "DeleteSchedule", with4(namespace, name, expect, actor))
}

// Schedules implements store.Schedules.
func (s *Store) Schedules(ctx context.Context, filter store.ScheduleFilter) ([]store.Schedule, error) {
	return ask[[]store.Schedule](ctx, s, "Schedules", with(filter))
}

// DueSchedules implements store.Schedules.
func (s *Store) DueSchedules(ctx context.Context, limit int) ([]store.Schedule, time.Time, error) {
	return askTwo[[]store.Schedule, time.Time](ctx, s, "DueSchedules", with(limit))
}

// ScheduleRuns implements store.Schedules.
func (s *Store) ScheduleRuns(ctx context.Context, params store.ScheduleRunParams) ([]store.ScheduleRun, error) {
	return ask[[]store.ScheduleRun](ctx, s, "ScheduleRuns", with(params))
}

// Batches implements store.JobBatches.
func (s *Store) Batches(ctx context.Context, filter store.BatchFilter) ([]store.JobBatch, error) {
	return ask[[]store.JobBatch](ctx, s, "Batches", with(filter))
}

// CountBatches implements store.JobBatches.
func (s *Store) CountBatches(ctx context.Context, params store.CountBatchesParams) (store.CountedBatches, error) {
	return ask[store.CountedBatches](ctx, s, "CountBatches", with(params))
}

// SaveLimit implements store.Limits.
func (s *Store) SaveLimit(ctx context.Context, l store.Limit, expect int64, actor string) (store.Limit, error) {
	return ask[store.Limit](ctx, s, "SaveLimit", with3(l, expect, actor))
}

// DeleteLimit implements store.Limits.
func (s *Store) DeleteLimit(ctx context.Context, namespace, name string, force bool, actor string) error {
	return s.tell(ctx, "DeleteLimit", with4(namespace, name, force, actor))
}

// Limits implements store.Limits.
func (s *Store) Limits(ctx context.Context, namespace, name string) ([]store.Limit, error) {
	return ask[[]store.Limit](ctx, s, "Limits", with2(namespace, name))
}

// Grant implements store.Limits.
func (s *Store) Grant(ctx context.Context, params store.GrantParams) ([]store.Grant, error) {
	params.Tell = false // other nodes of the same server hear of it from that alone
	return ask[[]store.Grant](ctx, s, "Grant", with(params))
}

// RunningOf implements store.Limits.
func (s *Store) RunningOf(ctx context.Context, namespace, limit, key string, most int) ([]store.ID, error) {
	return ask[[]store.ID](ctx, s, "RunningOf", with4(namespace, limit, key, most))
}

// NextOf implements store.Limits.
func (s *Store) NextOf(ctx context.Context, namespace, limit, key string) (time.Time, error) {
	return ask[time.Time](ctx, s, "NextOf", with3(namespace, limit, key))
}

// TakePermits implements store.Rates.
func (s *Store) TakePermits(ctx context.Context, asks []store.PermitAsk) ([]store.Permits, error) {
	return ask[[]store.Permits](ctx, s, "TakePermits", with(asks))
}

// Drain implements store.Rates.
func (s *Store) Drain(ctx context.Context, namespace, name string, until time.Time, actor string) error {
	return s.tell(ctx, "Drain", with4(namespace, name, until, actor))
}

// ResumeLimit implements store.Rates.
func (s *Store) ResumeLimit(ctx context.Context, params store.ResumeLimitParams) error {
	return s.tell(ctx, "ResumeLimit", with(params))
}
