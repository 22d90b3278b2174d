package simulate_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// two are stores of two processes, as it were, that share a file: calls go to the one and to the
// other, and neither sees what the other remembers.
type two struct {
	store.Store // of the calls that are not below

	other store.Store
	calls uint64
	close func() error
}

// openTwo opens a file twice.
func openTwo(clock func() time.Time) (_ store.Store, err error) {
	dir, err := os.MkdirTemp("", "simulate")
	if err != nil {
		return nil, err
	}
	source := sqlite.File(filepath.Join(dir, "holdfast.db"))
	source.Clock, source.Synchronous = clock, sqlite.Normal
	first, err := source.Open(context.Background())
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	second, err := source.Open(context.Background())
	if err != nil {
		return nil, errors.Join(err, first.Close(), os.RemoveAll(dir))
	}
	closeAll := func() error { return errors.Join(second.Close(), first.Close(), os.RemoveAll(dir)) }
	return &two{Store: first, other: second, close: closeAll}, nil
}

// either is the one or the other, in an order without a pattern that is always the same.
func (s *two) either() store.Store {
	s.calls = s.calls*6364136223846793005 + 1442695040888963407
	if s.calls>>63 == 0 {
		return s.Store
	}
	return s.other
}

func (s *two) Close() error { return s.close() }

func (s *two) Apply(ctx context.Context, b *store.Batch) error { return s.either().Apply(ctx, b) }

func (s *two) Claim(ctx context.Context, p store.ClaimParams) ([]store.Claimed, error) {
	return s.either().Claim(ctx, p)
}

func (s *two) Join(ctx context.Context, info store.NodeInfo) (int64, error) {
	return s.either().Join(ctx, info)
}

func (s *two) Beat(ctx context.Context, p store.BeatParams) (store.Beat, error) {
	return s.either().Beat(ctx, p)
}

func (s *two) Leave(ctx context.Context, node int64) ([]store.Wake, error) {
	return s.either().Leave(ctx, node)
}

func (s *two) Cancel(ctx context.Context, p store.CancelParams) ([]store.Result, []store.Wake, error) {
	return s.either().Cancel(ctx, p)
}

func (s *two) Retry(ctx context.Context, p store.RetryParams) ([]store.Result, []store.Wake, error) {
	return s.either().Retry(ctx, p)
}

func (s *two) Pause(ctx context.Context, p store.PauseParams) error { return s.either().Pause(ctx, p) }

func (s *two) Rest(ctx context.Context, p store.RestParams) (store.Resting, error) {
	return s.either().Rest(ctx, p)
}

func (s *two) SetQueue(ctx context.Context, p store.SetQueueParams) (store.QueueAttempts, error) {
	return s.either().SetQueue(ctx, p)
}

func (s *two) PauseJobs(ctx context.Context, p store.PauseJobsParams) ([]store.Result, []store.Wake, error) {
	return s.either().PauseJobs(ctx, p)
}

func (s *two) Resume(ctx context.Context, p store.ResumeParams) (store.State, []store.Wake, error) {
	return s.either().Resume(ctx, p)
}

func (s *two) Fork(ctx context.Context, p store.ForkParams) ([]store.Wake, error) {
	return s.either().Fork(ctx, p)
}

func (s *two) Promote(ctx context.Context, limit int) (store.Promoted, error) {
	return s.either().Promote(ctx, limit)
}

func (s *two) Rescue(ctx context.Context, p store.RescueParams) (store.Rescued, error) {
	return s.either().Rescue(ctx, p)
}

func (s *two) SweepCancels(ctx context.Context) (store.Swept, error) {
	return s.either().SweepCancels(ctx)
}

func (s *two) CloseChildren(ctx context.Context, limit int) (store.Closed, error) {
	return s.either().CloseChildren(ctx, limit)
}

func (s *two) Retain(ctx context.Context, p store.Retention) (store.Retained, error) {
	return s.either().Retain(ctx, p)
}

func (s *two) Get(ctx context.Context, namespace string, id store.ID) (store.Record, error) {
	return s.either().Get(ctx, namespace, id)
}

func (s *two) SaveSchedule(ctx context.Context, sc store.Schedule, expect int64, actor string) (store.Schedule, error) {
	return s.either().SaveSchedule(ctx, sc, expect, actor)
}

func (s *two) Schedules(ctx context.Context, filter store.ScheduleFilter) ([]store.Schedule, error) {
	return s.either().Schedules(ctx, filter)
}

func (s *two) DueSchedules(ctx context.Context, limit int) ([]store.Schedule, time.Time, error) {
	return s.either().DueSchedules(ctx, limit)
}
