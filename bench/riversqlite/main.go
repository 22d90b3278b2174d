// Command riversqlite measures River on SQLite. It is a program and a module of its own because
// River's driver for SQLite is not published in the version that the PostgreSQL driver has, and two
// versions of River do not fit into one program.
//
// ./bench/run builds it, and bench starts it as it starts itself to measure; see package measure.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"syscall"

	"github.com/riverqueue/river/riverdriver/riversqlite"
	_ "modernc.org/sqlite"

	"github.com/holdfastdev/holdfast/bench/internal/measure"
	"github.com/holdfastdev/holdfast/bench/internal/river"
	"github.com/holdfastdev/holdfast/bench/internal/scenario"
	"github.com/holdfastdev/holdfast/bench/internal/system"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	served := measure.Serve(ctx, []system.System{
		riverOnSQLite{label: scenario.River, with: river.Best}, riverOnSQLite{label: scenario.RiverDefault, with: river.Default},
	})
	stop()
	if !served {
		fmt.Fprintln(os.Stderr, "riversqlite is started by bench; run ./bench/run")
		os.Exit(64)
	}
}

// riverOnSQLite is River with some settings. It says itself that it wants one connection.
type riverOnSQLite struct {
	label string
	with  river.Settings
}

func (r riverOnSQLite) Name() string { return r.label }

func (r riverOnSQLite) Settings(system.Database) map[string]string {
	d := r.with.Describe()
	d["connections"] = "1"
	return d
}

func (r riverOnSQLite) Open(ctx context.Context, db system.Database, _ system.Options) (system.Client, error) {
	pragmas := url.Values{"_pragma": {"journal_mode(WAL)", "synchronous(FULL)", "busy_timeout(5000)"}}
	pool, err := sql.Open("sqlite", "file:"+db.URL+"?"+pragmas.Encode())
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(1)
	p := place{pool}
	return river.Open(ctx, river.Place[*sql.Tx]{
		Driver: riversqlite.New(pool), Begin: p.begin, Settle: p.settle, FillHistory: p.fillHistory, Left: p.left, Close: pool.Close,
	}, r.with)
}

type place struct{ pool *sql.DB }

// begin makes up for a mistake of this version: a client with workers panics after InsertManyFast
// has inserted.
func (p place) begin(ctx context.Context, do func(tx *sql.Tx) error) error {
	tx, err := p.pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// settle does nothing: with statistics this version is a tenth slower.
func (place) settle(context.Context) error { return nil }

// fillHistory stores jobs as River leaves them when they have completed.
func (p place) fillHistory(ctx context.Context, jobs int) error {
	_, err := p.pool.ExecContext(ctx, `WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)
		INSERT INTO river_job (args, attempt, attempted_at, attempted_by, created_at, finalized_at, kind, max_attempts, priority,
			queue, scheduled_at, state)
		SELECT jsonb_object('num', n), 1, datetime('now', 'subsec'), json_array('history'), datetime('now', 'subsec'),
			datetime('now', 'subsec'), 'bench.noop', 25, 1, 'default', datetime('now', 'subsec'), 'completed' FROM numbers`, jobs)
	return err
}

func (p place) left(ctx context.Context) (n int64, err error) {
	err = p.pool.QueryRowContext(ctx,
		`SELECT count(*) FROM river_job WHERE state NOT IN ('completed', 'cancelled', 'discarded')`).Scan(&n)
	return n, err
}
