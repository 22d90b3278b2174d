package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite" // for database/sql

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store/dsn"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// schema is that of the program's own tables, which are in the database of its jobs. Nothing in it
// keeps a sale from being there twice: that is left to the steps that insert, so that the totals
// show whether they do it.
var schema = []string{
	`CREATE TABLE IF NOT EXISTS imports (
		id    TEXT NOT NULL PRIMARY KEY, -- of the job
		file  TEXT NOT NULL,
		state TEXT NOT NULL              -- importing, live, or undone
	)`,
	`CREATE TABLE IF NOT EXISTS sales (
		import_id  TEXT NOT NULL,
		region     TEXT NOT NULL,
		id         BIGINT NOT NULL,
		day        DATE NOT NULL,
		country    TEXT NOT NULL,
		product    TEXT NOT NULL,
		quantity   BIGINT NOT NULL,
		unit_cents BIGINT NOT NULL
	)`,
	`CREATE INDEX IF NOT EXISTS sales_of_import ON sales (import_id, region, id)`,
}

// The states of an import.
const (
	importing = "importing"
	live      = "live"
	undone    = "undone"
)

// tables are the program's own tables.
type tables struct {
	holdfast.Transactor[*sql.Tx] // begins the transactions of steps

	db    *sql.DB
	close func() error
}

// open opens a database for the jobs, and for tables of our own beside theirs.
func open(ctx context.Context, database string, opts ...holdfast.Option) (*holdfast.Client, *tables, error) {
	source, err := dsn.Parse(database)
	if err != nil {
		return nil, nil, err
	}
	// The client first: it makes the file, if there is none yet.
	hf, err := holdfast.Open(ctx, source, opts...)
	if err != nil {
		return nil, nil, err
	}
	var t *tables
	switch config := source.(type) {
	case sqlite.Config:
		t, err = openSQLite(config.Path)
	case postgres.Config:
		t, err = openPostgres(ctx, config.URL)
	}
	if err != nil {
		return nil, nil, errors.Join(err, hf.Close(ctx))
	}
	return hf, t, nil
}

func openSQLite(path string) (*tables, error) {
	// modernc.org/sqlite is the SQLite that the jobs use too. Two different ones in a process would
	// break each other's locks.
	name := url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: "_txlock=immediate"}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return nil, err
	}
	return &tables{sqlite.Begin(db), db, db.Close}, nil
}

func openPostgres(ctx context.Context, url string) (*tables, error) {
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return nil, err
	}
	db := stdlib.OpenDBFromPool(pool) // so that one code does for both databases; postgres.Begin(pool) gives a pgx.Tx
	return &tables{postgres.BeginSQL(db), db, func() error { defer pool.Close(); return db.Close() }}, nil
}

// begin makes the tables, if there are none, and a row for an import.
func begin(ctx context.Context, tx *sql.Tx, job holdfast.ID, file string) error {
	for _, statement := range schema {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO imports (id, file, state) VALUES ($1, $2, $3)`, job.String(), file, importing)
	return err
}

func setState(ctx context.Context, tx *sql.Tx, job holdfast.ID, state string) error {
	_, err := tx.ExecContext(ctx, `UPDATE imports SET state = $2 WHERE id = $1`, job.String(), state)
	return err
}

// insert adds sales, a few in a statement: PostgreSQL would like more, but SQLite looks each
// parameter up among all of the statement's.
func insert(ctx context.Context, tx *sql.Tx, job holdfast.ID, region string, sales []Sale) error {
	for batch := range slices.Chunk(sales, 25) {
		var text strings.Builder
		text.WriteString(`INSERT INTO sales (import_id, region, id, day, country, product, quantity, unit_cents) VALUES `)
		args := []any{job.String(), region}
		for i, s := range batch {
			if i > 0 {
				text.WriteByte(',')
			}
			n := len(args)
			fmt.Fprintf(&text, "($1,$2,$%d,$%d,$%d,$%d,$%d,$%d)", n+1, n+2, n+3, n+4, n+5, n+6)
			args = append(args, s.ID, s.Day, s.Country, s.Product, s.Quantity, s.UnitCents)
		}
		if _, err := tx.ExecContext(ctx, text.String(), args...); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes the first sales of a region, and returns how many.
func remove(ctx context.Context, tx *sql.Tx, job holdfast.ID, region string, limit int) (int64, error) {
	result, err := tx.ExecContext(ctx, `
		DELETE FROM sales WHERE import_id = $1 AND region = $2 AND id < COALESCE(
			(SELECT id FROM sales WHERE import_id = $1 AND region = $2 ORDER BY id LIMIT 1 OFFSET $3), 9223372036854775807
		)`, job.String(), region, limit)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// count is how many sales of an import are there, live or not.
func (t *tables) count(ctx context.Context, job holdfast.ID) (n int64, err error) {
	err = t.db.QueryRowContext(ctx, `SELECT count(*) FROM sales WHERE import_id = $1`, job.String()).Scan(&n)
	return n, err
}

// totals adds up what is live of an import. It is an error if a sale is there twice.
func (t *tables) totals(ctx context.Context, job holdfast.ID) ([]Regional, error) {
	rows, err := t.db.QueryContext(ctx, `
		SELECT region, count(*), count(DISTINCT sales.id), CAST(sum(quantity) AS BIGINT), CAST(sum(quantity * unit_cents) AS BIGINT)
		FROM sales JOIN imports ON imports.id = sales.import_id
		WHERE import_id = $1 AND state = $2
		GROUP BY region`, job.String(), live)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []Regional
	for rows.Next() {
		var r Regional
		var different int64
		if err := rows.Scan(&r.Region, &r.Rows, &different, &r.Quantity, &r.Cents); err != nil {
			return nil, err
		}
		if different != r.Rows {
			return nil, fmt.Errorf("%d rows of %s in the table are only %d sales", r.Rows, r.Region, different)
		}
		all = append(all, r)
	}
	slices.SortFunc(all, largestFirst)
	return all, rows.Err()
}
