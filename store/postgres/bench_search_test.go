package postgres

import (
	"context"
	"fmt"
	"testing"

	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
	"github.com/holdfastdev/holdfast/store/storetest"
)

// BenchmarkListByAttribute: a page of fifty jobs by search attributes beside finished jobs, a
// million or as many as HOLDFAST_BENCH_JOBS says, each of which has two. Fifty jobs are of the
// customer "few", and half of the others are of the customer "many".
func BenchmarkListByAttribute(b *testing.B) {
	jobs := storetest.BenchJobs(b)
	url, schema := pgtest.Shared(b).Schema(b)
	opened, err := Config{URL: url, SchemaName: schema}.Open(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = opened.Close() })
	storetest.DeclareForBench(b, opened)
	conn, err := opened.(*Store).db.Beside(b.Context(), "") //nolint:errcheck // what else would it be
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = conn.Close(context.Background()) })
	of := fmt.Sprintf("CASE WHEN i %% %d = 0 THEN 'few' WHEN i %% 2 = 1 THEN 'many' ELSE 'customer ' || i %% 100000 END", jobs/50)
	from := fmt.Sprintf(" FROM generate_series(1, %d) i", jobs)
	const id = "lpad(to_hex(i), 32, '0')::uuid"
	for _, text := range []string{
		"INSERT INTO {schema}.queue (namespace, name) VALUES ('default', 'mail')",
		"INSERT INTO {schema}.lane (queue, kind, priority, used_on) SELECT q.id, 'send', 2, 1 FROM {schema}.queue q",
		"INSERT INTO {schema}.job (id, lane, run_at, created_at, lease, attempt, max_attempts, codec, args) " +
			"SELECT " + id + ", 1, i, i, 0, 0, 3, 0, '{}'" + from, //nolint:dupword // SQL
		"INSERT INTO {schema}.finished (id, state, lease, node, claimed_at, started_at, finished_at) " +
			"SELECT " + id + ", 6, 1, 1, i, i, i" + from, //nolint:dupword // SQL
		"INSERT INTO {schema}.attribute_value (attribute, value, id) SELECT (SELECT id FROM {schema}.attribute WHERE name = 'customer'), (" +
			of + ")::bytea, " + id + from,
		"INSERT INTO {schema}.attribute_value (attribute, value, id) SELECT (SELECT id FROM {schema}.attribute WHERE name = 'amount'), " +
			"decode('80' || lpad(to_hex(i), 14, '0'), 'hex'), " + id + from,
		"VACUUM ANALYZE {schema}.job", "VACUUM ANALYZE {schema}.finished", "VACUUM ANALYZE {schema}.attribute_value",
	} {
		if _, err := conn.Exec(b.Context(), pg.InSchema(text, schema)); err != nil {
			b.Fatal(err)
		}
	}
	storetest.BenchmarkListByAttribute(b, opened, store.IntValue(int64(jobs-50)))
}
