// Package riverpg is River on PostgreSQL.
//
// Its tables are vacuumed and analysed before it is measured, and a queue that would be empty is
// given a history first: with the plans of an empty table River is two to three times slower, which
// is not what is to be compared.
package riverpg

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/holdfastdev/holdfast/bench/internal/river"
	"github.com/holdfastdev/holdfast/bench/internal/system"
)

const (
	connections = 20
	seeds       = 30_000 // finished jobs that a queue has at least
)

// System is River with some settings.
type System struct {
	Label string
	With  river.Settings
}

// Name is what the results call it.
func (s System) Name() string { return s.Label }

// Settings are those of River.
func (s System) Settings(system.Database) map[string]string {
	d := s.With.Describe()
	d["connections"] = "20"
	return d
}

// Open connects.
func (s System) Open(ctx context.Context, db system.Database, _ system.Options) (system.Client, error) {
	config, err := pgxpool.ParseConfig(db.URL)
	if err != nil {
		return nil, err
	}
	config.MaxConns = connections
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	p := place{pool}
	return river.Open(ctx, river.Place[pgx.Tx]{
		Driver: riverpgxv5.New(pool), Settle: p.settle, FillHistory: p.fillHistory, Left: p.left,
		Close: func() error { pool.Close(); return nil },
	}, s.With)
}

type place struct{ pool *pgxpool.Pool }

// settle gives a table with few rows a history, and the planner its statistics.
func (p place) settle(ctx context.Context) error {
	var rows int
	if err := p.pool.QueryRow(ctx, `SELECT count(*) FROM river_job`).Scan(&rows); err != nil {
		return err
	}
	if rows < seeds {
		if err := p.fillHistory(ctx, seeds-rows); err != nil {
			return err
		}
	}
	_, err := p.pool.Exec(ctx, `VACUUM ANALYZE river_job`)
	return err
}

// fillHistory stores jobs as River leaves them when they have completed.
func (p place) fillHistory(ctx context.Context, jobs int) error {
	//nolint:dupword // two columns with the same time
	_, err := p.pool.Exec(ctx, `INSERT INTO river_job (args, attempt, attempted_at, attempted_by, created_at, finalized_at, kind,
			max_attempts, priority, queue, scheduled_at, state)
		SELECT jsonb_build_object('num', n), 1, now(), ARRAY['history'], now(), now(), 'bench.noop', 25, 1, 'default', now(), 'completed'
		FROM generate_series(1, $1::int) n`, jobs)
	return err
}

func (p place) left(ctx context.Context) (n int64, err error) {
	err = p.pool.QueryRow(ctx, `SELECT count(*) FROM river_job WHERE state NOT IN ('completed', 'cancelled', 'discarded')`).Scan(&n)
	return n, err
}
