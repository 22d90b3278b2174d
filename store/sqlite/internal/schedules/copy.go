package schedules

import (
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// Sum tells what a copy compares.
func Sum(t *core.Tx) (sums store.ScheduleSums, err error) {
	s := t.Stmt("copy_schedule_sums")
	return sums, db.Each(s, func() error {
		sums = store.ScheduleSums{Schedules: s.ReadInt(), Versions: s.ReadInt(), Runs: s.ReadInt()}
		return nil
	})
}

// Export reads the schedules behind one: at most so many, and so many bytes, but one at least.
func Export(t *core.Tx, after store.ScheduleName, limit, size int) (page []store.Schedule, err error) {
	s := t.Stmt("copy_schedules")
	s.BindText(after.Namespace)
	s.BindText(after.Name)
	s.BindInt(int64(limit))
	for {
		found, err := s.Next()
		if err != nil || !found {
			return page, err
		}
		if len(page) > 0 && size <= 0 {
			s.Done()
			return page, nil
		}
		r, err := scan(s)
		if err != nil {
			s.Done()
			return nil, err
		}
		size -= r.Size()
		page = append(page, r.Schedule)
	}
}

// ExportRuns reads the runs behind one, at most so many.
func ExportRuns(t *core.Tx, after store.CopiedRun, limit int) (page []store.CopiedRun, err error) {
	s := t.Stmt("copy_runs")
	s.BindInt(after.Number)
	s.BindInt(after.Nominal.UnixMicro())
	s.BindInt(after.Manual)
	s.BindInt(int64(limit))
	return page, db.Each(s, func() error {
		r := store.CopiedRun{Number: s.ReadInt(), Schedule: store.ScheduleName{Namespace: s.ReadText(), Name: s.ReadText()}}
		r.ScheduleRun = readRun(s)
		page = append(page, r)
		return nil
	})
}

// Import makes schedules what they are in another database.
func Import(t *core.Tx, schedules []store.Schedule) error {
	for i := range schedules {
		sc := &schedules[i]
		settings, err := sc.Encode()
		if err != nil {
			return err
		}
		s := t.Stmt("copy_schedule_put")
		s.BindText(sc.Namespace)
		s.BindText(sc.Name)
		s.BindText(settings)
		db.BindOptText(s, sc.Declared)
		db.BindOptTime(s, sc.PausedAt)
		db.BindOptText(s, sc.PausedBy)
		db.BindOptText(s, sc.Note)
		db.BindOptTime(s, sc.Cursor)
		db.BindOptTime(s, sc.NextAt)
		s.BindInt(sc.Left)
		bindOptID(s, sc.Cancels)
		s.BindInt(sc.Version)
		bindOptID(s, sc.Last)
		s.BindInt(sc.Fired)
		s.BindInt(sc.CreatedAt.UnixMicro())
		s.BindInt(sc.UpdatedAt.UnixMicro())
		if err := db.Exec(s); err != nil {
			return err
		}
	}
	return nil
}

// ImportRuns writes runs of schedules that are there. One that is there already stays.
func ImportRuns(t *core.Tx, runs []store.CopiedRun) error {
	for i := range runs {
		r := &runs[i]
		s := t.Stmt("copy_run_put")
		s.BindInt(r.Nominal.UnixMicro())
		s.BindInt(r.Manual)
		s.BindInt(r.At.UnixMicro())
		s.BindInt(int64(r.State))
		bindOptID(s, r.Job)
		s.BindText(r.Schedule.Namespace)
		s.BindText(r.Schedule.Name)
		if err := db.Exec(s); err != nil {
			return err
		}
	}
	return nil
}
