package crashtest

import (
	"context"
	"database/sql"

	"github.com/holdfastdev/holdfast"
)

// row is what a StepTx writes.
type row struct {
	job   holdfast.ID
	gen   int
	step  string
	lease int64
	node  int64
}

// createRows makes the table of the rows. Nothing in it keeps a row from being there twice. On
// PostgreSQL a commit that writes one takes a few milliseconds, as it would where it has to reach a
// disk.
func (c *caller) createRows(ctx context.Context) error {
	for _, statement := range c.rows {
		if _, err := c.db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

const rowTable = `CREATE TABLE flow_row (
	job TEXT NOT NULL, gen INT NOT NULL, step TEXT NOT NULL, lease BIGINT NOT NULL, node BIGINT NOT NULL)`

// slowCommits is PostgreSQL's.
var slowCommits = []string{
	`CREATE FUNCTION linger() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.004); RETURN NULL; END $$`,
	`CREATE CONSTRAINT TRIGGER linger AFTER INSERT ON flow_row DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION linger()`,
}

func (c *caller) insertRow(ctx context.Context, tx *sql.Tx, r row) error {
	_, err := tx.ExecContext(ctx, c.insertOf, r.job.String(), r.gen, r.step, r.lease, r.node)
	return err
}

// readRows reads all that was committed.
func (c *caller) readRows(ctx context.Context) ([]row, error) {
	return query(ctx, c.db, "SELECT job, gen, step, lease, node FROM flow_row", func(rows *sql.Rows) (r row, err error) {
		return r, rows.Scan(&r.job, &r.gen, &r.step, &r.lease, &r.node)
	})
}
