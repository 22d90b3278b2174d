package env

import (
	"context"
	"errors"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// What changes a schedule cannot be repeated blindly: its version tells whether it was done. A
// persistent caller is the only one who changes schedules.

func (p persistent) Schedules(ctx context.Context, filter store.ScheduleFilter) ([]store.Schedule, error) {
	return persistFor(func() ([]store.Schedule, error) { return p.Store.Schedules(ctx, filter) })
}

func (p persistent) ScheduleRuns(ctx context.Context, params store.ScheduleRunParams) ([]store.ScheduleRun, error) {
	return persistFor(func() ([]store.ScheduleRun, error) { return p.Store.ScheduleRuns(ctx, params) })
}

func (p persistent) DueSchedules(ctx context.Context, limit int) (due []store.Schedule, next time.Time, err error) {
	err = persist(func(bool) (err error) {
		due, next, err = p.Store.DueSchedules(ctx, limit)
		return err
	})
	return due, next, err
}

// find returns the schedule with a name; its version is 0 if there is none.
func (p persistent) find(ctx context.Context, namespace, name string) (store.Schedule, error) {
	found, err := p.Schedules(ctx, store.ScheduleFilter{Namespace: namespace, Name: name, Limit: 1})
	if err != nil || len(found) == 0 {
		return store.Schedule{}, err
	}
	return found[0], nil
}

// unlessDone changes a schedule until there is an answer, or it is another one than before.
func (p persistent) unlessDone(
	ctx context.Context, namespace, name string, change func() error,
) (now store.Schedule, done bool, err error) {
	before, err := p.find(ctx, namespace, name)
	for err == nil {
		if err = change(); !errors.Is(err, store.ErrUnavailable) {
			return now, false, err
		}
		if now, err = p.find(ctx, namespace, name); now.Version != before.Version {
			return now, true, err
		}
	}
	return now, false, err
}

func (p persistent) SaveSchedule(ctx context.Context, s store.Schedule, expect int64, actor string) (saved store.Schedule, err error) {
	now, done, err := p.unlessDone(ctx, s.Namespace, s.Name, func() (err error) {
		saved, err = p.Store.SaveSchedule(ctx, s, expect, actor)
		return err
	})
	if done {
		return now, err
	}
	return saved, err
}

func (p persistent) DeleteSchedule(ctx context.Context, namespace, name string, expect int64, actor string) error {
	_, _, err := p.unlessDone(ctx, namespace, name, func() error { return p.Store.DeleteSchedule(ctx, namespace, name, expect, actor) })
	return err
}

// fire applies a batch with fires until there is an answer. If the fires were carried out the rest
// of the batch was, too, and is repeated alone for its answers.
func (p persistent) fire(ctx context.Context, batch *store.Batch) error {
	rest := *batch
	rest.Fires = nil
	f := batch.Fires[0]
	_, done, err := p.unlessDone(ctx, f.Namespace, f.Name, func() error { return p.Store.Apply(ctx, batch) })
	if err != nil || !done || rest.Len() == 0 {
		return err
	}
	for _, o := range rest.Outcomes {
		o.Repeat = true
	}
	err = p.Apply(ctx, &rest)
	batch.Woken = rest.Woken
	return err
}

// What is done with batches may be repeated, but for a call: who repeats one that has happened is
// refused.

func (p persistent) CreateBatch(ctx context.Context, tx store.Tx, b store.JobBatch) error {
	return persist(func(bool) error { return p.Store.CreateBatch(ctx, tx, b) })
}

func (p persistent) CloseBatch(ctx context.Context, tx store.Tx, namespace string, id store.ID) error {
	return persist(func(bool) error { return p.Store.CloseBatch(ctx, tx, namespace, id) })
}

func (p persistent) Batches(ctx context.Context, filter store.BatchFilter) ([]store.JobBatch, error) {
	return persistFor(func() ([]store.JobBatch, error) { return p.Store.Batches(ctx, filter) })
}

func (p persistent) CountBatches(ctx context.Context, params store.CountBatchesParams) (store.CountedBatches, error) {
	return persistFor(func() (store.CountedBatches, error) { return p.Store.CountBatches(ctx, params) })
}
