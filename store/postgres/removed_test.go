package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest"
)

// TestNothingIsLeft looks for the job in all columns of all tables.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	schemas := map[store.Store]string{}
	conn := connect(t, fresh(t).URL)
	storetest.Removed(t, func(t *testing.T, clock *storetest.Clock) store.Store {
		config := fresh(t)
		config.Clock = clock.Now
		s := open(t, config)
		schemas[s] = config.SchemaName
		return s
	}, func(t *testing.T, s store.Store, id store.ID) map[string]int {
		t.Helper()
		rows, err := conn.Query(t.Context(), `SELECT table_name, column_name, data_type = 'ARRAY' AS many FROM information_schema.columns
			JOIN information_schema.tables USING (table_schema, table_name)
			WHERE table_schema = $1 AND table_type = 'BASE TABLE' AND udt_name IN ('uuid', '_uuid')
			AND to_regclass(table_schema || '.' || table_name) NOT IN (SELECT inhrelid FROM pg_inherits)`, schemas[s])
		if err != nil {
			t.Fatal(err)
		}
		type column struct {
			Table, Column string
			Many          bool
		}
		columns, err := pgx.CollectRows(rows, pgx.RowToStructByPos[column])
		if err != nil || len(columns) < 10 {
			t.Fatalf("%d columns may name a job, %v", len(columns), err)
		}
		found := map[string]int{}
		for _, c := range columns {
			is := " = $1"
			if c.Many {
				is = " @> ARRAY[$1::uuid]"
			}
			table := schemas[s] + "." + c.Table
			found[c.Table] += int(value[int64](t, conn, "SELECT count(*) FROM "+table+" WHERE "+c.Column+is, id))
		}
		return found
	},
		// These are answers on their way to its parent, and what goes by its time, or with a count.
		"audit", "claim", "untold", "key_sent", "batch", "batch_retried", "feed_raw", "stub")
}
