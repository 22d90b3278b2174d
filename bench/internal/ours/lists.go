package ours

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/bench/internal/system"
	"github.com/holdfastdev/holdfast/store"
)

const (
	smallSpace = "small" // has smallJobs finished jobs beside all others
	smallJobs  = 10
	rareJobs   = 100 // of a kind in the large namespace
	laterJobs  = 500 // that wait in a queue
	// filledAtOnce is how many jobs one transaction fills in: they were made a millisecond apart.
	filledAtOnce = 100_000
)

var (
	rare  = holdfast.NewKind[system.Args, struct{}]("bench.rare")
	later = holdfast.NewKind[system.Args, struct{}]("bench.later")
)

// filling is where finished jobs are written to, and of which lanes they are.
type filling struct {
	first              int64 // milliseconds since 1970
	jobs               int
	main, rarely, less int64 // lanes
	insert             func(ctx context.Context, from, to int) error
}

// FillLists writes finished jobs straight into the tables, as Holdfast leaves them: one was made in
// each millisecond up to now, of the large namespace but for a few.
func (c *client) FillLists(ctx context.Context, finished int) error {
	other, err := c.hf.In(smallSpace)
	if err != nil {
		return err
	}
	args := make([]system.Args, laterJobs)
	if _, err := later.EnqueueMany(ctx, c.hf, args, holdfast.Delay(time.Hour)); err != nil {
		return err
	}
	for kind, hf := range map[*holdfast.Kind[system.Args, struct{}]]*holdfast.Client{&noop: c.hf, &rare: c.hf, &later: other} {
		if _, err := kind.Enqueue(ctx, hf, system.Args{}, holdfast.Delay(time.Hour)); err != nil { // it makes the lane
			return err
		}
	}
	f := filling{first: time.Now().UnixMilli() - int64(finished), jobs: finished}
	if c.db.Store == system.SQLite {
		return f.intoSQLite(ctx, c.db.URL)
	}
	return f.intoPostgres(ctx, c.db.URL)
}

// all fills in all, a part at a time.
func (f *filling) all(ctx context.Context) error {
	for from := 0; from < f.jobs; from += filledAtOnce {
		if err := f.insert(ctx, from, min(from+filledAtOnce, f.jobs)); err != nil {
			return fmt.Errorf("filling in finished jobs: %w", err)
		}
	}
	return nil
}

// shares are one of how many jobs is of the rare kind, and of the small namespace.
func (f *filling) shares() (rarely, less int) {
	return max(f.jobs/rareJobs, 2), max(f.jobs/smallJobs, 2)
}

const (
	laneOf = `SELECT l.id FROM %[1]slane l JOIN %[1]squeue q ON q.id = l.queue WHERE q.namespace = $1 AND l.kind = $2`

	sqliteBodies = `INSERT INTO holdfast_job (id, lane, run_at, created_at, lease, attempt, max_attempts, codec, args)
		WITH RECURSIVE n (i) AS (SELECT ?1 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?2)
		SELECT unhex(printf('%012x7000800000%010x', ?3 + i, i)),
			CASE WHEN i % ?4 = ?4 / 2 THEN ?5 WHEN i % ?6 = ?6 / 3 THEN ?7 ELSE ?8 END,
			(?3 + i) * 1000, (?3 + i) * 1000, 0, 0, 25, 0, printf('{"num":%d,"pad":"%0120d"}', i, i) FROM n`
	sqliteEnds = `INSERT INTO holdfast_finished (id, state, finished_at, lease, node, claimed_at, started_at)
		WITH RECURSIVE n (i) AS (SELECT ?1 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?2)
		SELECT unhex(printf('%012x7000800000%010x', ?3 + i, i)), 6, (?3 + i) * 1000 + 9000, 1, 1, (?3 + i) * 1000 + 5000,
			(?3 + i) * 1000 + 6000 FROM n`

	postgresBodies = `INSERT INTO holdfast.job (id, lane, run_at, created_at, lease, attempt, max_attempts, codec, args)
		SELECT (lpad(to_hex($3 + i), 12, '0') || '7000800000' || lpad(to_hex(i), 10, '0'))::uuid,
			CASE WHEN i % $4 = $4 / 2 THEN $5::int WHEN i % $6 = $6 / 3 THEN $7::int ELSE $8::int END,
			($3 + i) * 1000, ($3 + i) * 1000, 0, 0, 25, 0, convert_to('{"num":' || i || ',"pad":"' || lpad(i::text, 120, '0') || '"}', 'UTF8')
		FROM generate_series($1::bigint, $2::bigint - 1) i`
	postgresEnds = `INSERT INTO holdfast.finished (id, state, finished_at, lease, node, claimed_at, started_at)
		SELECT (lpad(to_hex($3 + i), 12, '0') || '7000800000' || lpad(to_hex(i), 10, '0'))::uuid, 6, ($3 + i) * 1000 + 9000, 1, 1,
			($3 + i) * 1000 + 5000, ($3 + i) * 1000 + 6000
		FROM generate_series($1::bigint, $2::bigint - 1) i`
)

func (f *filling) intoSQLite(ctx context.Context, path string) error {
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		return err
	}
	defer conn.Close()
	conn.SetInterrupt(ctx.Done())
	if err := sqlitex.ExecuteTransient(conn, "PRAGMA synchronous = OFF", nil); err != nil {
		return err
	}
	for lane, of := range f.lanes() {
		err := sqlitex.Execute(conn, fmt.Sprintf(laneOf, "holdfast_"), &sqlitex.ExecOptions{
			Args: []any{of[0], of[1]},
			ResultFunc: func(s *sqlite.Stmt) error {
				*lane = s.ColumnInt64(0)
				return nil
			},
		})
		if err != nil {
			return err
		}
	}
	rarely, less := f.shares()
	f.insert = func(_ context.Context, from, to int) (err error) {
		defer sqlitex.Save(conn)(&err)
		args := []any{from, to, f.first, less, f.less, rarely, f.rarely, f.main}
		if err := sqlitex.Execute(conn, sqliteBodies, &sqlitex.ExecOptions{Args: args}); err != nil {
			return err
		}
		return sqlitex.Execute(conn, sqliteEnds, &sqlitex.ExecOptions{Args: args[:3]})
	}
	return f.all(ctx)
}

// lanes are those that are looked for, by namespace and kind.
func (f *filling) lanes() map[*int64][2]string {
	return map[*int64][2]string{
		&f.main: {"default", noop.Name()}, &f.rarely: {"default", rare.Name()}, &f.less: {smallSpace, later.Name()},
	}
}

func (f *filling) intoPostgres(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "SET synchronous_commit = off"); err != nil {
		return err
	}
	for lane, of := range f.lanes() {
		if err := conn.QueryRow(ctx, fmt.Sprintf(laneOf, "holdfast."), of[0], of[1]).Scan(lane); err != nil {
			return err
		}
	}
	rarely, less := f.shares()
	f.insert = func(ctx context.Context, from, to int) error {
		args := []any{from, to, f.first, less, f.less, rarely, f.rarely, f.main}
		if _, err := conn.Exec(ctx, postgresBodies, args...); err != nil {
			return err
		}
		_, err := conn.Exec(ctx, postgresEnds, args[:3]...)
		return err
	}
	if err := f.all(ctx); err != nil {
		return err
	}
	// As autovacuum does in the time that so many jobs take.
	_, err = conn.Exec(ctx, "VACUUM (ANALYZE) holdfast.job, holdfast.finished, holdfast.lane_span")
	return err
}

// Lists are pages that are asked for over a long history.
func (c *client) Lists(ctx context.Context) (map[string]func(context.Context) error, error) {
	completed := []store.State{store.Completed}
	waiting := []store.State{store.Scheduled}
	page := func(sort store.Sort, filter store.Filter, after string, least int) func(context.Context) error {
		return func(ctx context.Context) error {
			found, err := c.hf.ListBy(ctx, sort, filter, after, pageSize)
			if err == nil && len(found.Jobs) < least {
				err = fmt.Errorf("a page of %+v by %s has %d jobs, not %d", filter, sort, len(found.Jobs), least)
			}
			return err
		}
	}
	tenth := ""
	for range 9 {
		found, err := c.hf.ListBy(ctx, store.SortNewest, store.Filter{States: completed}, tenth, pageSize)
		if err != nil {
			return nil, err
		}
		tenth = found.Next
	}
	small := store.Filter{Namespace: smallSpace}
	smallCompleted := store.Filter{Namespace: smallSpace, States: completed}
	rarely := store.Filter{Kinds: []string{rare.Name()}, States: completed}
	return map[string]func(context.Context) error{
		"newest_finished":  page(store.SortNewest, store.Filter{States: completed}, "", pageSize),
		"tenth_page":       page(store.SortNewest, store.Filter{States: completed}, tenth, pageSize),
		"oldest_finished":  page(store.SortOldest, store.Filter{States: completed}, "", pageSize),
		"by_finished":      page(store.SortFinished, store.Filter{States: completed}, "", pageSize),
		"small_completed":  page(store.SortNewest, smallCompleted, "", smallJobs),
		"small_oldest":     page(store.SortOldest, smallCompleted, "", smallJobs),
		"small_finished":   page(store.SortFinished, smallCompleted, "", smallJobs),
		"small_all":        page(store.SortNewest, small, "", smallJobs+1),
		"waiting_of_lane":  page(store.SortNewest, store.Filter{Kinds: []string{later.Name()}, States: waiting}, "", pageSize),
		"waiting_by_time":  page(store.SortRunAt, store.Filter{Kinds: []string{later.Name()}}, "", pageSize),
		"rare_completed":   page(store.SortNewest, rarely, "", pageSize),
		"rare_oldest":      page(store.SortOldest, rarely, "", pageSize),
		"rare_by_finished": page(store.SortFinished, rarely, "", pageSize),
		"small_count": func(ctx context.Context) error {
			n, err := c.hf.Count(ctx, small)
			if err == nil && n.N != smallJobs+1 {
				err = fmt.Errorf("%+v are counted", n)
			}
			return err
		},
	}, nil
}
