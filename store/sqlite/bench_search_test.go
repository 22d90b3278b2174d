//go:build unix

package sqlite_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
	"github.com/holdfastdev/holdfast/store/storetest"
)

// BenchmarkListByAttribute: a page of fifty jobs by search attributes beside finished jobs, a
// million or as many as HOLDFAST_BENCH_JOBS says, each of which has two. Fifty jobs are of the
// customer "few", and half of the others are of the customer "many".
func BenchmarkListByAttribute(b *testing.B) {
	jobs := storetest.BenchJobs(b)
	source := sqlite.File(filepath.Join(b.TempDir(), "holdfast.db"))
	source.Synchronous = sqlite.Normal
	s, err := source.Open(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	storetest.DeclareForBench(b, s)
	db, err := sql.Open("sqlite", "file:"+source.Path)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	numbers := fmt.Sprintf("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) ", jobs)
	of := fmt.Sprintf("CASE WHEN i %% %d = 0 THEN 'few' WHEN i %% 2 = 1 THEN 'many' ELSE 'customer ' || i %% 100000 END", jobs/50)
	for _, text := range []string{
		"INSERT INTO holdfast_queue (namespace, name, created_at) VALUES ('default', 'mail', 1)",
		"INSERT INTO holdfast_lane (queue, kind, priority) VALUES (1, 'send', 2)",
		"INSERT INTO holdfast_job (id, lane, run_at, created_at, lease, attempt, max_attempts, codec, args) " + numbers +
			"SELECT unhex(printf('%032x', i)), 1, i, i, 0, 0, 3, 0, '{}' FROM n", //nolint:dupword // SQL
		"INSERT INTO holdfast_finished (id, state, lease, node, claimed_at, finished_at) " + numbers +
			"SELECT unhex(printf('%032x', i)), 6, 1, 1, i, i FROM n",
		"INSERT INTO holdfast_attribute_value (attribute, value, id) " + numbers +
			"SELECT 1, CAST(" + of + " AS BLOB), unhex(printf('%032x', i)) FROM n",
		"INSERT INTO holdfast_attribute_value (attribute, value, id) " + numbers +
			"SELECT 2, unhex('80' || printf('%014x', i)), unhex(printf('%032x', i)) FROM n",
	} {
		if _, err := db.ExecContext(b.Context(), text); err != nil {
			b.Fatal(err)
		}
	}
	storetest.BenchmarkListByAttribute(b, s, store.IntValue(int64(jobs-50)))
}
