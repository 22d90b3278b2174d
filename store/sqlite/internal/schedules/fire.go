package schedules

import (
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/audited"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// trimEvery is after how many changes of a schedule its old runs are removed: fires, and what is
// saved, since the two may take turns.
const trimEvery = 64

// Fire carries out decisions whose jobs are enqueued. Each has its own result; an error ends the
// transaction.
func Fire(t *core.Tx, fires []*store.Fire) error {
	for _, f := range fires {
		if f.Err = f.Check(); f.Err != nil {
			continue
		}
		r, err := find(t, f.Namespace, f.Name)
		if err != nil {
			return err
		}
		if f.Err = f.Judge(r.Version); f.Err != nil {
			continue
		}
		if err := carryOut(t, f, &r); err != nil {
			return err
		}
	}
	return nil
}

// carryOut writes the runs of a fire, and moves its schedule on.
func carryOut(t *core.Tx, f *store.Fire, r *row) error {
	now := db.TimeOf(t.Now)
	runs := f.Settle(&r.Schedule, now)
	for _, run := range runs {
		s := t.Stmt("schedule_run_insert")
		s.BindInt(r.id)
		s.BindInt(run.Nominal.UnixMicro())
		s.BindInt(run.Manual)
		s.BindInt(t.Now)
		s.BindInt(int64(run.State))
		bindOptID(s, run.Job)
		n, err := s.Exec()
		if err != nil {
			return err
		}
		if n == 0 && f.Err == nil {
			f.Err = f.HasRun(run.Nominal)
		}
	}
	s := t.Stmt("schedule_fired")
	db.BindOptTime(s, r.Cursor)
	db.BindOptTime(s, r.NextAt)
	s.BindInt(r.Left)
	bindOptID(s, r.Cancels)
	bindOptID(s, r.Last)
	s.BindInt(r.Fired)
	s.BindInt(r.id)
	if err := db.Exec(s); err != nil {
		return err
	}
	if f.Actor != "" && f.Err == nil {
		if err := core.AuditChange(t, 0, audited.ScheduleFired(f)); err != nil {
			return err
		}
	}
	return trim(t, r)
}

// trim removes the old runs of a schedule now and then. r is how it was before a change.
func trim(t *core.Tx, r *row) error {
	if r.Version == 0 || r.Version%trimEvery != 0 {
		return nil
	}
	s := t.Stmt("schedule_runs_trim")
	s.BindInt(t.Now - store.AskedRunsKept.Microseconds())
	s.BindInt(r.id)
	s.BindInt(r.id)
	s.BindInt(store.RunsKept)
	return db.Exec(s)
}
