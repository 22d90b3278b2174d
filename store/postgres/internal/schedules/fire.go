package schedules

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/audited"
	"github.com/holdfastdev/holdfast/store/postgres/internal/local"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// trimEvery is after how many changes of a schedule its old runs are removed: fires, and what is
// saved, since the two may take turns.
const trimEvery = 64

// Firing are the fires of a batch, and their schedules.
type Firing struct {
	fires []*store.Fire
	rows  map[name]row
}

type name struct{ namespace, name string }

func nameOf(f *store.Fire) name { return name{f.Namespace, f.Name} }

// briefly is how long the schedules of a batch are waited for.
const briefly = 50 * time.Millisecond

// Begin locks the schedules of fires, and sets Err of those that do not happen. One that another
// transaction has locked is waited for briefly, which may end in a lock timeout; or, if atOnce,
// not at all, and its fire is ErrBusy.
func Begin(ctx context.Context, t pg.Session, fires []*store.Fire, atOnce bool) (*Firing, error) {
	if len(fires) == 0 {
		return nil, nil
	}
	f := &Firing{fires: fires, rows: make(map[name]row, len(fires))}
	namespaces, names := make([]string, len(fires)), make([]string, len(fires))
	for i, fire := range fires {
		namespaces[i], names[i] = pg.CleanText(fire.Namespace), pg.CleanText(fire.Name)
	}
	held := map[name]bool{}
	if err := t.Together(ctx, f.lock(namespaces, names, held, atOnce)...); err != nil {
		return nil, err
	}
	before := map[name]int64{} // fires of the same schedule that come before in the batch
	for _, fire := range fires {
		if fire.Err = fire.Check(); fire.Err != nil {
			continue
		}
		n := nameOf(fire)
		version := f.rows[n].Version
		switch {
		case held[n] && f.rows[n].id == 0:
			fire.Err = fmt.Errorf("%w needed to fire the schedule %q in the namespace %q", store.ErrBusy, fire.Name, fire.Namespace)
			continue
		case version > 0:
			version += before[n]
		}
		if fire.Err = fire.Judge(version); fire.Err == nil {
			before[n]++
		}
	}
	return f, nil
}

// lock are the statements that lock schedules. held gets the names of those that are there, if
// none is waited for.
func (f *Firing) lock(namespaces, names []string, held map[name]bool, atOnce bool) []pg.Statement {
	args := []any{namespaces, names}
	locked := func(r pg.Row) error {
		s, err := scan(r)
		f.rows[name{s.Namespace, s.Name}] = s
		return err
	}
	if !atOnce {
		return []pg.Statement{
			pg.WaitAtMost(briefly), {Name: "schedules_lock", Args: args, Each: locked}, {Name: "wait_at_most", Args: []any{pg.LockTimeout}},
		}
	}
	return []pg.Statement{
		{Name: "schedules_grab", Args: args, Each: locked},
		{Name: "schedules_there", Args: args, Each: func(r pg.Row) error {
			var n name
			err := r.Scan(&n.namespace, &n.name)
			held[n] = true
			return err
		}},
	}
}

// noted are runs on their way.
type noted struct {
	schedules, nominal, manual []int64
	states                     []int32
	jobs                       []pgtype.UUID
	of                         []*store.Fire
}

// End notes the runs of fires whose jobs are enqueued, and moves their schedules on, at a time. It
// sets Err of those that do not happen.
func (f *Firing) End(ctx context.Context, t pg.Runner, now int64) error {
	if f == nil {
		return nil
	}
	var runs noted
	var trimmed []int64
	for _, fire := range f.fires {
		r := f.rows[nameOf(fire)]
		for _, run := range fire.Settle(&r.Schedule, pg.TimeOf(now)) {
			runs.add(r.id, run, fire)
		}
		if r.Version%trimEvery == 0 {
			trimmed = append(trimmed, r.id)
		}
		r.Version++
		f.rows[nameOf(fire)] = r
	}
	if err := runs.write(ctx, t, now); err != nil {
		return err
	}
	if err := move(ctx, t, slices.Collect(maps.Values(f.rows))); err != nil {
		return err
	}
	for _, fire := range f.fires {
		if fire.Actor == "" || fire.Err != nil {
			continue
		}
		if err := local.Record(ctx, t, now, audited.ScheduleFired(fire)); err != nil {
			return err
		}
	}
	if trimmed == nil {
		return nil
	}
	return t.Run(ctx, "schedule_runs_trim", nil, trimmed, int32(store.RunsKept), askedBefore(now))
}

// askedBefore is when a run was decided that a person asked for and that may go.
func askedBefore(now int64) int64 {
	return now - store.AskedRunsKept.Microseconds()
}

func (n *noted) add(schedule int64, run store.ScheduleRun, of *store.Fire) {
	n.schedules, n.nominal, n.manual = append(n.schedules, schedule), append(n.nominal, run.Nominal.UnixMicro()), append(n.manual, run.Manual)
	n.states, n.jobs, n.of = append(n.states, int32(run.State)), append(n.jobs, optID(run.Job)), append(n.of, of)
}

// write notes the runs, and sets Err of a fire of whose nominal times one has a run already.
func (n *noted) write(ctx context.Context, t pg.Runner, now int64) error {
	if len(n.of) == 0 {
		return nil
	}
	fresh := make([]bool, len(n.of))
	err := t.Run(ctx, "schedule_runs_insert", func(r pg.Row) error {
		var place int64
		err := r.Scan(&place)
		if err == nil {
			fresh[place-1] = true
		}
		return err
	}, n.schedules, n.nominal, n.manual, n.states, n.jobs, now)
	for i, of := range n.of {
		if err == nil && !fresh[i] && of.Err == nil {
			of.Err = of.HasRun(pg.TimeOf(n.nominal[i]))
		}
	}
	return err
}

// move writes what fires change of their schedules.
func move(ctx context.Context, t pg.Runner, rows []row) error {
	n := len(rows)
	ids, versions, left, fired := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	cursors, nextAt := make([]*int64, n), make([]*int64, n)
	cancels, last := make([]pgtype.UUID, n), make([]pgtype.UUID, n)
	for i, r := range rows {
		ids[i], versions[i], left[i], fired[i] = r.id, r.Version, r.Left, r.Fired
		cursors[i], nextAt[i] = pg.OptMicros(r.Cursor), pg.OptMicros(r.NextAt)
		cancels[i], last[i] = optID(r.Cancels), optID(r.Last)
	}
	return t.Run(ctx, "schedules_fired", nil, ids, versions, cursors, nextAt, left, cancels, last, fired)
}
