package sqlite_test

import (
	"testing"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
	"github.com/holdfastdev/holdfast/store/storetest"
)

// TestNothingIsLeft looks for the job in all columns of all tables.
func TestNothingIsLeft(t *testing.T) {
	storetest.Removed(t, func(t *testing.T, clock *storetest.Clock) store.Store {
		source := sqlite.File(file(t))
		source.Clock = clock.Now
		s := open(t, source)
		sqlite.SetPortion(s, 2) // what the job remembers is much then
		return s
	}, func(t *testing.T, s store.Store, id store.ID) map[string]int {
		t.Helper()
		db := database(t, sqlite.Path(s))
		defer db.Close()
		rows, err := db.QueryContext(t.Context(), `SELECT m.name, c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c
			WHERE m.type = 'table' AND m.name GLOB 'holdfast_*' AND upper(c.type) = 'BLOB'
			AND c.name NOT IN ('args', 'result', 'data', 'value', 'key', 'jobs', 'gauges', 'hash', 'answer')`)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		found := map[string]int{}
		for rows.Next() {
			var table, column string
			if err := rows.Scan(&table, &column); err != nil {
				t.Fatal(err)
			}
			n := 0
			if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM "+table+" WHERE instr("+column+", ?) > 0", id[:]).Scan(&n); err != nil {
				t.Fatal(err)
			}
			found[table] += n
		}
		if err := rows.Err(); err != nil || len(found) < 10 {
			t.Fatalf("%d tables may name a job, %v", len(found), err)
		}
		return found
	},
		// The last go by their time, or with a count.
		"holdfast_audit", "holdfast_claim", "holdfast_key_sent", "holdfast_batch", "holdfast_batch_retried", "holdfast_feed", "holdfast_stub",
		"holdfast_request")
}
