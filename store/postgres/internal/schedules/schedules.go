package schedules

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/audited"
	"github.com/holdfastdev/holdfast/store/postgres/internal/local"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// Store is what is done with schedules.
type Store struct{ *local.Store }

// row is a schedule with its number.
type row struct {
	id int64
	store.Schedule
}

func scan(r pg.Row) (s row, err error) {
	var settings string
	var declared, pausedBy, note *string
	var pausedAt, cursor, nextAt *int64
	var cancels, last pgtype.UUID
	var createdAt, updatedAt int64
	err = r.Scan(&s.id, &s.Namespace, &s.Name, &settings, &declared, &pausedAt, &pausedBy, &note, &cursor, &nextAt, &s.Left, &cancels,
		&s.Version, &last, &s.Fired, &createdAt, &updatedAt)
	if err != nil {
		return s, err
	}
	s.Declared, s.PausedAt, s.PausedBy, s.Note = pg.TextOf(declared), pg.OptTime(pausedAt), pg.TextOf(pausedBy), pg.TextOf(note)
	s.Cursor, s.NextAt, s.Cancels, s.Last = pg.OptTime(cursor), pg.OptTime(nextAt), store.ID(cancels.Bytes), store.ID(last.Bytes)
	s.CreatedAt, s.UpdatedAt = pg.TimeOf(createdAt), pg.TimeOf(updatedAt)
	s.ScheduleSettings, err = store.DecodeSettings(settings)
	return s, err
}

// into collects the schedules of an answer.
func into(found *[]store.Schedule) func(pg.Row) error {
	return func(r pg.Row) error {
		s, err := scan(r)
		*found = append(*found, s.Schedule)
		return err
	}
}

func optID(id store.ID) pgtype.UUID { return pgtype.UUID{Bytes: id, Valid: id != store.ID{}} }

// SaveSchedule is that of store.Schedules, without the class of its error.
func (s *Store) SaveSchedule(ctx context.Context, sc store.Schedule, expect int64, actor string) (store.Schedule, error) {
	settings, err := sc.Encode()
	if err != nil {
		return store.Schedule{}, err
	}
	now := s.Micros()
	name, args := "schedule_insert", []any{
		sc.Namespace, sc.Name, settings, pg.OptText(sc.Declared), pg.OptMicros(sc.PausedAt), pg.OptText(sc.PausedBy), pg.OptText(sc.Note),
		pg.OptMicros(sc.Cursor), pg.OptMicros(sc.NextAt), sc.Left, optID(sc.Cancels), now,
	}
	if expect != 0 {
		name, args = "schedule_update", append(args, expect, expect%trimEvery == 0, int32(store.RunsKept), askedBefore(now))
	}
	var saved []store.Schedule
	err = pg.RetryOnConflict(ctx, func() error {
		return s.InTx(ctx, pg.BeginHot, func(t pg.Session) error {
			saved = nil
			was, err := s.before(ctx, t, &sc, expect)
			if err != nil {
				return err
			}
			if err := t.Run(ctx, name, into(&saved), args...); err != nil || len(saved) == 0 {
				return err
			}
			entry, changed := audited.ScheduleSaved(was, &saved[0], actor)
			if !changed {
				return nil
			}
			return local.Record(ctx, t, now, entry)
		})
	})
	if err != nil {
		return store.Schedule{}, err
	}
	if len(saved) == 0 {
		return store.Schedule{}, s.mismatch(ctx, sc.Namespace, sc.Name, expect)
	}
	return saved[0], nil
}

// before is the schedule of a version that is to be replaced, as it is then: who has found that
// version has seen its transaction end. nil if it is not there, or none is to be replaced.
func (s *Store) before(ctx context.Context, t pg.Runner, sc *store.Schedule, expect int64) (*store.Schedule, error) {
	if expect == 0 {
		return nil, nil
	}
	var found []store.Schedule
	err := t.Run(ctx, "schedules", into(&found), pg.OptText(sc.Namespace), pg.OptText(sc.Name), "", "", int32(1))
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// mismatch tells why the schedule is not there, or is not the one that was expected.
func (s *Store) mismatch(ctx context.Context, namespace, name string, expect int64) error {
	found, err := s.Schedules(ctx, store.ScheduleFilter{Namespace: namespace, Name: name, Limit: 1})
	switch {
	case err != nil:
		return err
	case len(found) == 0 && expect != 0:
		return store.NoSchedule(namespace, name)
	case len(found) == 0:
		return store.ScheduleChanged(namespace, name, expect, 0) // it was there, and is gone again
	}
	return store.ScheduleChanged(namespace, name, expect, found[0].Version)
}

// DeleteSchedule is that of store.Schedules, without the class of its error.
func (s *Store) DeleteSchedule(ctx context.Context, namespace, name string, expect int64, actor string) error {
	gone, now := int64(0), s.Micros()
	err := pg.RetryOnConflict(ctx, func() error {
		return s.InTx(ctx, pg.BeginHot, func(t pg.Session) error {
			gone = 0
			var was []store.Schedule
			err := t.Run(ctx, "schedule_lock", into(&was), pg.CleanText(namespace), pg.CleanText(name), expect)
			if err != nil || len(was) == 0 {
				return err
			}
			err = t.Run(ctx, "schedule_delete", func(r pg.Row) error { return r.Scan(&gone) }, pg.CleanText(namespace), pg.CleanText(name))
			if err != nil || gone == 0 {
				return err
			}
			if err := t.Run(ctx, "schedule_runs_delete", nil, gone); err != nil {
				return err
			}
			return local.Record(ctx, t, now, audited.ScheduleDeleted(&was[0], actor))
		})
	})
	if err != nil || gone != 0 {
		return err
	}
	if expect == 0 {
		return store.NoSchedule(namespace, name)
	}
	return s.mismatch(ctx, namespace, name, expect)
}

// Schedules is that of store.Schedules, without the class of its error.
func (s *Store) Schedules(ctx context.Context, filter store.ScheduleFilter) (found []store.Schedule, err error) {
	args := []any{
		pg.OptText(pg.CleanText(filter.Namespace)), pg.OptText(pg.CleanText(filter.Name)), pg.CleanText(filter.AfterNamespace),
		pg.CleanText(filter.AfterName), int32(min(filter.Limit, math.MaxInt32)),
	}
	err = s.Send(ctx, pg.Statement{Name: "schedules", Args: args, Each: into(&found)})
	return found, err
}

// DueSchedules is that of store.Schedules, without the class of its error.
func (s *Store) DueSchedules(ctx context.Context, limit int) (due []store.Schedule, next time.Time, err error) {
	now := s.Now()
	args := []any{now.UnixMicro(), int32(min(limit, math.MaxInt32-1)) + 1}
	if err := s.Send(ctx, pg.Statement{Name: "schedules_due", Args: args, Each: into(&due)}); err != nil {
		return nil, time.Time{}, err
	}
	slices.SortStableFunc(due, func(a, b store.Schedule) int { return a.NextAt.Compare(b.NextAt) }) // a union has no order
	n := 0
	for n < min(limit, len(due)) && !due[n].NextAt.After(now) {
		n++
	}
	if n < len(due) {
		next = due[n].NextAt
	}
	return due[:n], next, nil
}

// ScheduleRuns is that of store.Schedules, without the class of its error.
func (s *Store) ScheduleRuns(ctx context.Context, params store.ScheduleRunParams) (runs []store.ScheduleRun, err error) {
	before := int64(math.MaxInt64)
	if !params.Before.IsZero() {
		before = params.Before.UnixMicro()
	}
	args := []any{
		pg.CleanText(params.Namespace), pg.CleanText(params.Name), before, params.BeforeManual, int32(min(params.Limit, math.MaxInt32)),
	}
	err = s.Send(ctx, pg.Statement{Name: "schedule_runs", Args: args, Each: func(r pg.Row) error {
		var nominal, at int64
		var state int16
		var job pgtype.UUID
		var run store.ScheduleRun
		if err := r.Scan(&nominal, &run.Manual, &at, &state, &job); err != nil {
			return err
		}
		run.Nominal, run.At, run.State, run.Job = pg.TimeOf(nominal), pg.TimeOf(at), store.RunState(state), store.ID(job.Bytes)
		runs = append(runs, run)
		return nil
	}})
	return runs, err
}
