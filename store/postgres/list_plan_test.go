package postgres

import (
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

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
