package schedules

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// Sum tells what a copy compares.
func Sum(ctx context.Context, t pg.Runner) (sums store.ScheduleSums, err error) {
	return sums, t.Run(ctx, "copy_schedule_sums", func(r pg.Row) error { return r.Scan(&sums.Schedules, &sums.Versions, &sums.Runs) })
}

// Export reads the schedules behind one: at most so many, and so many bytes, but one at least.
func Export(ctx context.Context, t pg.Runner, after store.ScheduleName, limit, size int) (page []store.Schedule, err error) {
	return page, t.Run(ctx, "copy_schedules", into(&page), after.Namespace, after.Name, int32(limit), int64(size))
}

// ExportRuns reads the runs behind one, at most so many.
func ExportRuns(ctx context.Context, t pg.Runner, after store.CopiedRun, limit int) (page []store.CopiedRun, err error) {
	return page, t.Run(ctx, "copy_runs", func(r pg.Row) error {
		var run store.CopiedRun
		var nominal, at int64
		var state int16
		var job pgtype.UUID
		err := r.Scan(&run.Number, &run.Schedule.Namespace, &run.Schedule.Name, &nominal, &run.Manual, &at, &state, &job)
		run.Nominal, run.At, run.State, run.Job = pg.TimeOf(nominal), pg.TimeOf(at), store.RunState(state), store.ID(job.Bytes)
		page = append(page, run)
		return err
	}, after.Number, after.Nominal.UnixMicro(), after.Manual, int32(limit))
}

type scheduleRow struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	Settings  string    `json:"settings"`
	Declared  *string   `json:"declared"`
	PausedAt  *int64    `json:"paused_at"`
	PausedBy  *string   `json:"paused_by"`
	Note      *string   `json:"note"`
	Cursor    *int64    `json:"cursor"`
	NextAt    *int64    `json:"next_at"`
	Left      int64     `json:"remaining"`
	Cancels   *store.ID `json:"cancels"`
	Version   int64     `json:"version"`
	Last      *store.ID `json:"last"`
	Fired     int64     `json:"fired"`
	CreatedAt int64     `json:"created_at"`
	UpdatedAt int64     `json:"updated_at"`
}

// Import makes schedules what they are in another database.
func Import(ctx context.Context, t pg.Runner, schedules []store.Schedule) error {
	var rows []scheduleRow
	for i := range schedules {
		s := &schedules[i]
		settings, err := s.Encode()
		if err != nil {
			return err
		}
		rows = append(rows, scheduleRow{
			s.Namespace, s.Name, settings, pg.OptText(s.Declared), pg.OptMicros(s.PausedAt), pg.OptText(s.PausedBy), pg.OptText(s.Note),
			pg.OptMicros(s.Cursor), pg.OptMicros(s.NextAt), s.Left, idOrNil(s.Cancels), s.Version, idOrNil(s.Last), s.Fired,
			s.CreatedAt.UnixMicro(), s.UpdatedAt.UnixMicro(),
		})
	}
	return put(ctx, t, "copy_schedules_put", rows)
}

type runRow struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	Nominal   int64     `json:"nominal"`
	Manual    int64     `json:"manual"`
	At        int64     `json:"at"`
	State     int16     `json:"state"`
	Job       *store.ID `json:"job"`
}

// ImportRuns writes runs of schedules that are there. One that is there already stays.
func ImportRuns(ctx context.Context, t pg.Runner, runs []store.CopiedRun) error {
	var rows []runRow
	for i := range runs {
		r := &runs[i]
		rows = append(rows, runRow{
			r.Schedule.Namespace, r.Schedule.Name, r.Nominal.UnixMicro(), r.Manual, r.At.UnixMicro(), int16(r.State), idOrNil(r.Job),
		})
	}
	return put(ctx, t, "copy_runs_put", rows)
}

func put[T any](ctx context.Context, t pg.Runner, name string, rows []T) error {
	if len(rows) == 0 {
		return nil
	}
	text, err := json.Marshal(rows)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", store.ErrInvalid, name, err)
	}
	return t.Run(ctx, name, nil, string(text))
}

func idOrNil(id store.ID) *store.ID {
	if id == (store.ID{}) {
		return nil
	}
	return &id
}
