package crashtest

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// caller is a program with a table of its own in the database, which enqueues in its own
// transactions.
type caller struct {
	db     *sql.DB
	wrap   func(*sql.Tx) store.Tx
	insert string
	audit  string // reads what the database recorded of retries; there is no other way to it

	begin    holdfast.Transactor[*sql.Tx]
	rows     []string // make the table of the rows that flows write
	insertOf string   // writes one
}

// note is what the caller writes of a job in the transaction that enqueues it.
type note struct {
	n     int
	job   holdfast.ID
	fresh bool // the enqueue inserted it
}

func newCaller(database string) (*caller, error) {
	if path, ok := strings.CutPrefix(database, "sqlite:"); ok {
		// The timeout is for the lock that all processes share.
		db, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=busy_timeout(60000)")
		return &caller{
			db:     db,
			wrap:   func(tx *sql.Tx) store.Tx { return sqlite.Tx(tx) },
			insert: "INSERT INTO note (n, job, fresh) VALUES (?, ?, ?)",
			audit:  "SELECT job FROM holdfast_audit WHERE action = 'retry'",

			begin:    sqlite.Begin(db),
			rows:     []string{rowTable},
			insertOf: "INSERT INTO flow_row (job, gen, step, lease, node) VALUES (?, ?, ?, ?, ?)",
		}, err
	}
	config, err := pgx.ParseConfig(database)
	if err != nil {
		return nil, err
	}
	// A pooler in transaction mode gives a statement that was prepared to another connection.
	config.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	db := stdlib.OpenDB(*config)
	return &caller{
		db:     db,
		wrap:   postgres.SQLTx,
		insert: "INSERT INTO note (n, job, fresh) VALUES ($1, $2, $3)",
		audit:  "SELECT job FROM holdfast.audit WHERE action = 'retry'",

		begin:    postgres.BeginSQL(db),
		rows:     append([]string{rowTable}, slowCommits...),
		insertOf: "INSERT INTO flow_row (job, gen, step, lease, node) VALUES ($1, $2, $3, $4, $5)",
	}, nil
}

func (c *caller) createTable(ctx context.Context) error {
	_, err := c.db.ExecContext(ctx, "CREATE TABLE note (n BIGINT NOT NULL, job TEXT NOT NULL, fresh BOOLEAN NOT NULL)")
	return err
}

// enqueue enqueues jobs and writes a note of each, in one transaction, which it commits or rolls
// back. It returns which job is at which place of the plan, or would be.
func (c *caller) enqueue(ctx context.Context, client *holdfast.Client, jobs []work, commit bool) (map[holdfast.ID]int, error) {
	tx, err := c.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after the commit
	results, err := client.EnqueueBatchTx(ctx, c.wrap(tx), items(jobs))
	if err != nil {
		return nil, err
	}
	enqueued := map[holdfast.ID]int{}
	for i, r := range results {
		if r.Err != nil {
			return nil, fmt.Errorf("job %d: %w", jobs[i].N, r.Err)
		}
		if _, err := tx.ExecContext(ctx, c.insert, jobs[i].N, r.ID.String(), !r.Existing); err != nil {
			return nil, err
		}
		enqueued[r.ID] = jobs[i].N
	}
	if commit {
		return enqueued, tx.Commit()
	}
	return enqueued, tx.Rollback()
}

// notes reads all that was committed.
func (c *caller) notes(ctx context.Context) ([]note, error) {
	return query(ctx, c.db, "SELECT n, job, fresh FROM note", func(rows *sql.Rows) (n note, err error) {
		return n, rows.Scan(&n.n, &n.job, &n.fresh)
	})
}

// retried reads which jobs somebody retried, each as often as that was recorded.
func (c *caller) retried(ctx context.Context) ([]holdfast.ID, error) {
	return query(ctx, c.db, c.audit, func(rows *sql.Rows) (id holdfast.ID, err error) {
		return id, rows.Scan(&id)
	})
}

func query[T any](ctx context.Context, db *sql.DB, text string, scan func(*sql.Rows) (T, error)) ([]T, error) {
	rows, err := db.QueryContext(ctx, text)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, rows.Err()
}
