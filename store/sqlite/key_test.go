package sqlite_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
	"github.com/holdfastdev/holdfast/store/storetest"
)

// TestOneReadByKey: the job that has a business key is found by one row of one index, and what is
// known of that job by its id; also where the planner has counted what there is.
func TestOneReadByKey(t *testing.T) {
	source := sqlite.File(file(t))
	open(t, source)
	db := sqlDB(t, source.Path)
	for _, fill := range []string{
		"SELECT 1",
		`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
			INSERT INTO holdfast_job_key (namespace, kind, key, id, keep, args)
			SELECT 'default', 'k' || i % 3, 'order ' || i, randomblob(16), -1, x'00' FROM n`,
		"ANALYZE",
	} {
		if _, err := db.ExecContext(t.Context(), fill); err != nil {
			t.Fatal(err)
		}
		plan := explain(t, db, sqlite.Text("key_row"), 0, "", "", "")
		want := []string{
			"SEARCH k USING PRIMARY KEY (namespace=? AND kind=? AND key=?)",
			"SEARCH j USING INDEX sqlite_autoindex_holdfast_job_1 (id=?) LEFT-JOIN",
			"SEARCH f USING INDEX sqlite_autoindex_holdfast_finished_1 (id=?) LEFT-JOIN",
		}
		if strings.Join(plan, "\n") != strings.Join(want, "\n") {
			t.Errorf("after %.20s…:\n%s", fill, strings.Join(plan, "\n"))
		}
	}
	for name, args := range map[string][]any{
		"key_leave": {""}, "key_keep": {"", ""}, "keys_over": {0}, "keys_over_delete": {0, 1}, "key_sent": {"", ""},
		"key_sent_over": {0}, "key_sent_over_delete": {0, 1}, "copy_keys": {"", "", "", 1}, "copy_signals": {"", "", 1},
	} {
		for _, line := range explain(t, db, sqlite.Text(name), args...) {
			if strings.HasPrefix(line, "SCAN") {
				t.Errorf("%s: %s", name, line)
			}
		}
	}
}

func sqlDB(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// explain returns the plan of a statement.
func explain(t *testing.T, db *sql.DB, text string, args ...any) (plan []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+text, args...)
	if err != nil {
		t.Fatal(text, err)
	}
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		plan = append(plan, detail)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return plan
}

// TestKeysLeaveOneRow: of jobs that are removed a key that is kept for ever leaves one row, however
// many jobs had it, and the other keys leave none; nor does what was sent along.
func TestKeysLeaveOneRow(t *testing.T) {
	clock := storetest.NewClock()
	source := sqlite.File(file(t))
	source.Clock = clock.Now
	s := open(t, source)
	for round := range 20 {
		var enqueues []*store.Enqueue
		for i, keep := range []time.Duration{0, time.Hour, store.KeepForever} {
			q := keyed(fmt.Sprintf("key %d", i))
			if keep == store.KeepForever {
				q.Job.Options.Key = fmt.Sprintf("key %d of round %d", i, round)
			}
			q.Job.Options.KeepKey = keep
			q.Send = &store.Send{Message: store.Message{Kind: store.MessageSignal, Name: "s"}}
			enqueues = append(enqueues, q)
		}
		if err := s.Apply(t.Context(), &store.Batch{Enqueues: enqueues}); err != nil {
			t.Fatal(err)
		}
		for i, q := range enqueues {
			if q.Err != nil || q.Result.Existing {
				t.Fatalf("round %d, job %d: %+v, %v", round, i, q.Result, q.Err)
			}
			if _, _, err := s.Cancel(t.Context(), store.CancelParams{Jobs: []store.ID{q.Job.ID}}); err != nil {
				t.Fatal(err)
			}
		}
		clock.Advance(25 * time.Hour)
		retention := store.Retention{Completed: time.Hour, Failed: time.Hour, Cancelled: time.Hour}
		if retained, err := s.Retain(t.Context(), retention); err != nil || retained.Jobs != 3 {
			t.Fatalf("round %d: %+v, %v", round, retained, err)
		}
	}
	db := sqlDB(t, source.Path)
	for table, want := range map[string]int{"holdfast_job_key": 20, "holdfast_key_sent": 0, "holdfast_job": 0, "holdfast_inbox": 0} {
		n := 0
		if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM "+table).Scan(&n); err != nil || n != want {
			t.Errorf("%s has %d rows, want %d (%v)", table, n, want, err)
		}
	}
}

// keyed is an enqueue of a job with a business key.
func keyed(key string) *store.Enqueue {
	return &store.Enqueue{Job: store.Job{
		ID: uuid.Must(uuid.NewV7()), Namespace: "default", Queue: "mail", Kind: "send", Priority: 2, Args: []byte("{}"),
		Options: store.Options{Key: key},
	}}
}
