package postgres

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// filled is a schema with a large history: a hundred thousand jobs that completed, a thousand that
// failed, and a few that have not finished, in a thousand lanes.
//
//nolint:dupword // columns with the same time
var filled = []string{
	"INSERT INTO {schema}.queue (namespace, name) SELECT 'default', 'q' || i FROM generate_series(1, 50) i",
	"INSERT INTO {schema}.lane (queue, kind, priority, used_on) SELECT q.id, 'k' || i, 2, 1 FROM {schema}.queue q, generate_series(1, 20) i",
	`INSERT INTO {schema}.job (id, lane, run_at, created_at, lease, attempt, max_attempts, codec, args, parent)
		SELECT lpad(to_hex(i), 32, '0')::uuid, 1 + i % 1000, i, i, 0, 0, 3, 0, '{}',
		CASE WHEN i % 3 = 0 THEN lpad(to_hex(i / 10), 32, '0')::uuid END
		FROM generate_series(1, 101100) i`,
	`INSERT INTO {schema}.finished (id, state, lease, node, claimed_at, started_at, finished_at, lane)
		SELECT lpad(to_hex(i), 32, '0')::uuid, CASE WHEN i > 100000 THEN 7 ELSE 6 END, 1, 1, i, i, i,
		CASE WHEN i > 100000 THEN 1 + i % 1000 END FROM generate_series(1, 101000) i`,
	`INSERT INTO {schema}.attempt (id, attempt, lease, node, claimed_at, reported, started_at, ended_at, outcome, reason, lost)
		SELECT lpad(to_hex(i), 32, '0')::uuid, 1, 1, 1 + i % 7, i, i % 10 > 0, i, i, 4, 'error', i % 20 = 0 FROM generate_series(1, 50000) i`,
	`INSERT INTO {schema}.deferred (due, id, lane, state)
		SELECT i, lpad(to_hex(i), 32, '0')::uuid, 1 + i % 1000, 1 FROM generate_series(101001, 101050) i`,
	`INSERT INTO {schema}.ready (run_at, id, lane)
		SELECT i, lpad(to_hex(i), 32, '0')::uuid, 1 + i % 1000 FROM generate_series(101051, 101100) i`,
	"ANALYZE {schema}.job, {schema}.finished, {schema}.attempt, {schema}.deferred, {schema}.ready, {schema}.lane, {schema}.queue",
}

// fill writes that into a schema.
func fill(t *testing.T, conn *pgx.Conn, schema string) {
	t.Helper()
	for _, text := range filled {
		if _, err := conn.Exec(t.Context(), pg.InSchema(text, schema)); err != nil {
			t.Fatalf("%.60s…: %v", text, err)
		}
	}
}

// TestListPlans: what lists and counts ask for is found by index, whether the tables are empty and
// were never looked at, or large.
func TestListPlans(t *testing.T) {
	t.Parallel()
	url, schema := pgtest.Shared(t).Schema(t)
	opened, err := Config{URL: url, SchemaName: schema}.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	s := opened.(*Store).db //nolint:errcheck // what else would it be
	conn, err := s.Beside(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	small := regexp.MustCompile(`Seq Scan on (queue|lane|claim|keyed|key_holder)\b`)
	byAll := regexp.MustCompile(`Seq Scan|using finished_\w+_pkey`)
	days := regexp.MustCompile(`Bitmap Index Scan on finished_\d+_finished_at_idx`)
	bad := regexp.MustCompile(`(Seq Scan|Bitmap Heap Scan|Hash Join|Merge Join) on`)
	for _, when := range []string{"empty", "filled"} {
		for _, name := range []string{
			"list_jobs", "list_fits", "list_documents", "list_holder", "list_descendants", "list_lost", "list_times", "list_ready_few",
			"list_keyed_few", "list_deferred_few", "list_claims_few", "list_ready", "list_deferred",
			"list_failed_few", "list_failed", "list_finished",
			"list_failed_by_time", "waiting_few", "waiting_of_keys", "stuck_keys", "list_dead", "dead_groups", "dead_counts",
			"edit_move", "delete_look", "finished_over", "list_values", "records", "list_buckets", "list_buckets_few", "list_within", "spans_old",
			"spans_fill", "spans_remove",
		} {
			plan := explain(t, conn, s.Text(name))
			for _, line := range plan {
				if bad.MatchString(line) && !small.MatchString(line) {
					t.Errorf("%s, %s: %s", when, name, strings.Join(plan, "\n"))
					break
				}
			}
		}
		if _, err := conn.Exec(t.Context(), "SET enable_bitmapscan = on"); err != nil {
			t.Fatal(err)
		}
		for name, args := range map[string][]string{
			"list_completed_by_time": {"900", "1000", "'ffffffff-ffff-ffff-ffff-ffffffffffff'", "5000"},
			"list_completed_at":      {"1000", "'ffffffff-ffff-ffff-ffff-ffffffffffff'", "100"},
		} {
			plan := strings.Join(explain(t, conn, s.Text(name), args...), "\n")
			if bad, ranges := byAll.FindString(plan), days.FindAllString(plan, -1); bad != "" || len(ranges) == 0 {
				t.Errorf("%s, %s: %s", when, name, plan)
			}
		}
		if _, err := conn.Exec(t.Context(), "SET enable_bitmapscan = off"); err != nil {
			t.Fatal(err)
		}
		if when == "empty" {
			fill(t, conn, schema)
		}
	}
}

// TestWaitingPlan: the jobs of a key are found by the index of keys, in its order, so that as many
// are looked at as wait at the most; of jobs without a key it has nothing.
func TestWaitingPlan(t *testing.T) {
	t.Parallel()
	bad := regexp.MustCompile(`(?m)Seq Scan|Bitmap|->  (Incremental )?Sort$`)
	s, conn := opened(t)
	for _, fill := range []string{
		"SELECT 1",
		pg.InSchema(`INSERT INTO {schema}.job (id, lane, run_at, created_at, lease, attempt, max_attempts, codec, args, options)
			SELECT lpad(to_hex(i), 32, '0')::uuid, 1, i, i + 1, 0, 0, 3, 0, '{}',
			CASE WHEN i % 2 = 0 THEN json_build_object('timeout', i) ELSE json_build_object('limit', 'l', 'limit_key', 'k' || i % 50) END
			FROM generate_series(1, 20000) i`, s.SchemaName),
		pg.InSchema("ANALYZE {schema}.job", s.SchemaName),
	} {
		if _, err := conn.Exec(t.Context(), fill); err != nil {
			t.Fatal(err)
		}
		plan := strings.Join(explain(t, conn, s.Text("waiting_of_keys")), "\n")
		if !strings.Contains(plan, "using job_default_expr_id_idx") || bad.MatchString(plan) {
			t.Error(plan)
		}
	}
	var jobs, keyed float64
	count := pg.InSchema(`SELECT (SELECT count(*) FROM {schema}.job),
		(SELECT reltuples FROM pg_class WHERE oid = '{schema}.job_default_expr_id_idx'::regclass)`, s.SchemaName)
	if err := conn.QueryRow(t.Context(), count).Scan(&jobs, &keyed); err != nil || keyed != jobs/2 {
		t.Errorf("the index has %v of %v jobs, %v", keyed, jobs, err)
	}
}
