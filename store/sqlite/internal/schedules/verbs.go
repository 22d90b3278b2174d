package schedules

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/audited"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// Verbs are what is done with schedules.
type Verbs struct{ d *core.Database }

// New returns the verbs of a database.
func New(d *core.Database) Verbs { return Verbs{d} }

// row is a schedule with its number.
type row struct {
	id int64
	store.Schedule
}

// scan reads the columns of a schedule.
func scan(s db.Stmt) (r row, err error) {
	r.id, r.Namespace, r.Name = s.ReadInt(), s.ReadText(), s.ReadText()
	settings := s.ReadText()
	r.Declared, r.PausedAt, r.PausedBy, r.Note = db.ReadOptText(s), db.ReadOptTime(s), db.ReadOptText(s), db.ReadOptText(s)
	r.Cursor, r.NextAt, r.Left, r.Cancels = db.ReadOptTime(s), db.ReadOptTime(s), s.ReadInt(), readOptID(s)
	r.Version, r.Last, r.Fired, r.CreatedAt, r.UpdatedAt = s.ReadInt(), readOptID(s), s.ReadInt(), db.ReadTime(s), db.ReadTime(s)
	r.ScheduleSettings, err = store.DecodeSettings(settings)
	return r, err
}

func readOptID(s db.Stmt) (id store.ID) {
	copy(id[:], db.ReadOptBlob(s))
	return id
}

func bindOptID(s db.Stmt, id store.ID) {
	if id == (store.ID{}) {
		s.BindNull()
	} else {
		db.BindID(s, id)
	}
}

// find returns the schedule with a name; its id is 0 if there is none.
func find(t *core.Tx, namespace, name string) (r row, err error) {
	s := t.Stmt("schedule")
	s.BindText(namespace)
	s.BindText(name)
	err = db.Each(s, func() (err error) {
		r, err = scan(s)
		return err
	})
	return r, err
}

// expected returns the schedule with a name if it has the version, 0 for any.
func expected(t *core.Tx, namespace, name string, version int64) (row, error) {
	r, err := find(t, namespace, name)
	switch {
	case err != nil:
	case r.id == 0:
		err = store.NoSchedule(namespace, name)
	case version != 0 && r.Version != version:
		err = store.ScheduleChanged(namespace, name, version, r.Version)
	}
	return r, err
}

// SaveSchedule implements store.Schedules.
func (v Verbs) SaveSchedule(ctx context.Context, sc store.Schedule, expect int64, actor string) (saved store.Schedule, err error) {
	settings, err := sc.Encode()
	if err != nil {
		return store.Schedule{}, err
	}
	err = v.d.Write(ctx, fmt.Sprintf("save schedule %q", sc.Name), func(t *core.Tx) error {
		old, err := find(t, sc.Namespace, sc.Name)
		switch {
		case err != nil:
			return err
		case old.id == 0 && expect != 0:
			return store.NoSchedule(sc.Namespace, sc.Name)
		case old.id != 0 && old.Version != expect:
			return store.ScheduleChanged(sc.Namespace, sc.Name, expect, old.Version)
		}
		if err := save(t, &sc, settings, old.id); err != nil {
			return err
		}
		if err := trim(t, &old); err != nil {
			return err
		}
		r, err := find(t, sc.Namespace, sc.Name)
		if saved = r.Schedule; err != nil {
			return err
		}
		return record(t, &old, &saved, actor)
	})
	return saved, err
}

// record records that a schedule was made, or changed.
func record(t *core.Tx, old *row, saved *store.Schedule, actor string) error {
	var was *store.Schedule
	if old.id != 0 {
		was = &old.Schedule
	}
	entry, changed := audited.ScheduleSaved(was, saved, actor)
	if !changed {
		return nil
	}
	return core.AuditChange(t, 0, entry)
}

// save inserts a schedule, or replaces the one with an id.
func save(t *core.Tx, sc *store.Schedule, settings string, id int64) error {
	name := "schedule_insert"
	if id != 0 {
		name = "schedule_update"
	}
	s := t.Stmt(name)
	if id == 0 {
		s.BindText(sc.Namespace)
		s.BindText(sc.Name)
	}
	s.BindText(settings)
	db.BindOptText(s, sc.Declared)
	db.BindOptTime(s, sc.PausedAt)
	db.BindOptText(s, sc.PausedBy)
	db.BindOptText(s, sc.Note)
	db.BindOptTime(s, sc.Cursor)
	db.BindOptTime(s, sc.NextAt)
	s.BindInt(sc.Left)
	bindOptID(s, sc.Cancels)
	s.BindInt(t.Now)
	if id == 0 {
		s.BindInt(t.Now)
		s.BindInt(t.Now) // its version, see store.FirstVersion
	} else {
		s.BindInt(id)
	}
	return db.Exec(s)
}

// DeleteSchedule implements store.Schedules.
func (v Verbs) DeleteSchedule(ctx context.Context, namespace, name string, expect int64, actor string) error {
	return v.d.Write(ctx, fmt.Sprintf("delete schedule %q", name), func(t *core.Tx) error {
		r, err := expected(t, namespace, name, expect)
		if err != nil {
			return err
		}
		for _, statement := range []string{"schedule_delete", "schedule_runs_delete"} {
			s := t.Stmt(statement)
			s.BindInt(r.id)
			if err := db.Exec(s); err != nil {
				return err
			}
		}
		return core.AuditChange(t, 0, audited.ScheduleDeleted(&r.Schedule, actor))
	})
}

// Schedules implements store.Schedules.
func (v Verbs) Schedules(ctx context.Context, filter store.ScheduleFilter) (found []store.Schedule, err error) {
	err = v.d.Read(ctx, "list schedules", func(t *core.Tx) error {
		s := t.Stmt("schedules")
		s.BindInt(db.BoolInt(filter.Namespace == ""))
		s.BindText(filter.Namespace)
		s.BindInt(db.BoolInt(filter.Name == ""))
		s.BindText(filter.Name)
		s.BindText(filter.AfterNamespace)
		s.BindText(filter.AfterName)
		s.BindInt(int64(filter.Limit))
		found, err = all(s)
		return err
	})
	return found, err
}

func all(s db.Stmt) (found []store.Schedule, err error) {
	err = db.Each(s, func() error {
		r, err := scan(s)
		found = append(found, r.Schedule)
		return err
	})
	return found, err
}

// DueSchedules implements store.Schedules.
func (v Verbs) DueSchedules(ctx context.Context, limit int) (due []store.Schedule, next time.Time, err error) {
	err = v.d.Read(ctx, "look for due schedules", func(t *core.Tx) error {
		s := t.Stmt("schedules_due")
		s.BindInt(t.Now)
		s.BindInt(int64(limit) + 1)
		if due, err = all(s); err != nil {
			return err
		}
		if len(due) > limit {
			due, next = due[:limit], due[limit].NextAt
			return nil
		}
		next = time.Time{}
		s = t.Stmt("schedules_next")
		s.BindInt(t.Now)
		return db.Each(s, func() error {
			next = db.ReadTime(s)
			return nil
		})
	})
	return due, next, err
}

// ScheduleRuns implements store.Schedules.
func (v Verbs) ScheduleRuns(ctx context.Context, params store.ScheduleRunParams) (runs []store.ScheduleRun, err error) {
	err = v.d.Read(ctx, fmt.Sprintf("read the runs of schedule %q", params.Name), func(t *core.Tx) error {
		r, err := find(t, params.Namespace, params.Name)
		if err != nil || r.id == 0 {
			return err
		}
		before := int64(db.Never)
		if !params.Before.IsZero() {
			before = params.Before.UnixMicro()
		}
		s := t.Stmt("schedule_runs")
		s.BindInt(r.id)
		s.BindInt(before)
		s.BindInt(params.BeforeManual)
		s.BindInt(int64(params.Limit))
		runs = nil
		return db.Each(s, func() error {
			runs = append(runs, readRun(s))
			return nil
		})
	})
	return runs, err
}

func readRun(s db.Stmt) store.ScheduleRun {
	return store.ScheduleRun{
		Nominal: db.ReadTime(s), Manual: s.ReadInt(), At: db.ReadTime(s), State: store.RunState(s.ReadInt()), Job: readOptID(s),
	}
}
