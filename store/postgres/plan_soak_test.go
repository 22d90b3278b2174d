//go:build soak

package postgres

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// TestFactsAreFoundByTheirTime: a page of facts reads by an index, in its order, whatever there is
// of other times and namespaces.
func TestFactsAreFoundByTheirTime(t *testing.T) {
	t.Parallel()
	whenFilled(t, func(after string, plan plansOf) {
		for name, index := range map[string]string{"facts_page": "fact_pkey", "facts_minutes": "fact_minutes", "facts_hours": "fact_hours"} {
			text := plan(name)
			if !strings.Contains(text, "Index Scan using "+index) || strings.Contains(text, "Sort") {
				t.Errorf("%s after %.40s…: %s", name, after, text)
			}
		}
	},
		`INSERT INTO {schema}.fact (namespace, span, at, node, number, version)
			SELECT 'space ' || i % 3, 1 + i % 2, i / 6 * 60000000::bigint, i % 5, i, 1 FROM generate_series(1, 50000) i`,
		"ANALYZE {schema}.fact",
	)
}

// TestValuesAreFoundByThemselves: jobs with a value come from one index, in the order of their ids,
// and so do those of a range; what a job has is found by its id.
func TestValuesAreFoundByThemselves(t *testing.T) {
	t.Parallel()
	whenFilled(t, func(after string, plan plansOf) {
		for name, want := range map[string]string{
			"list_valued": "attribute_value_place", "list_valued_few": "attribute_value_place",
			"attribute_values_remove": "attribute_value_place", "list_values": "attribute_value_pkey",
			"attributes_of_gone": "attribute_value_pkey", "attributes_unset": "attribute_value_pkey",
		} {
			text := plan(name)
			if !strings.Contains(text, "using "+want+" on attribute_value") || strings.Contains(text, "Seq Scan on attribute_value") {
				t.Errorf("%s after %.40s…: %s", name, after, text)
			}
			if strings.HasPrefix(name, "list_valued") && strings.Contains(text, "Sort") {
				t.Errorf("%s sorts after %.40s…: %s", name, after, text)
			}
		}
		if text := plan("records"); strings.Contains(text, "Seq Scan on attribute_value") {
			t.Errorf("records after %.40s…: %s", after, text)
		}
	},
		`INSERT INTO {schema}.attribute_value (id, attribute, value)
			SELECT lpad(to_hex(i), 32, '0')::uuid, 1 + a, ('v' || i % (10 + a * 1000))::bytea
			FROM generate_series(1, 30000) i, generate_series(0, 1) a`,
		"ANALYZE {schema}.attribute_value",
	)
}

// TestGatesAreSkippedThrough: however many jobs wait at gates, what lets them go on reads the first
// ones of each, by the primary key.
func TestGatesAreSkippedThrough(t *testing.T) {
	t.Parallel()
	whenFilled(t, func(after string, plan plansOf) {
		text := plan("hand_on_gates")
		if strings.Contains(text, "Seq Scan on gated") || strings.Contains(text, "Hash Join") || strings.Contains(text, "Merge Join") ||
			!strings.Contains(text, "->  Index Scan using gated_pkey on gated g") {
			t.Errorf("after %.40s…: %s", after, text)
		}
	},
		`INSERT INTO {schema}.gated (gate, priority, run_at, id, lane)
			SELECT i % 10, 2, i, gen_random_uuid(), 1 FROM generate_series(1, 50000) i`,
		"ANALYZE {schema}.gated",
	)
}

// TestUnservedReadsFirstRows: whoever looks for what nobody serves reads no more of ready than the
// first row of a lane, however long that is.
func TestUnservedReadsFirstRows(t *testing.T) {
	t.Parallel()
	whenFilled(t, func(after string, plan plansOf) {
		wantFirstRows(t, after, plan("unserved"), "ready", 1)
		wantFirstRows(t, after, plan("queues_busy"), "ready", 2) // the first lane, and each next one
	},
		"INSERT INTO {schema}.queue (namespace, name) SELECT 'default', 'q' || i FROM generate_series(1, 50) i",
		`INSERT INTO {schema}.lane (queue, kind, priority, used_on)
			SELECT q.id, 'k' || i, 2, 1 FROM {schema}.queue q, generate_series(1, 20) i`,
		`INSERT INTO {schema}.ready (run_at, id, lane)
			SELECT i, gen_random_uuid(), 1 + i % 1000 FROM generate_series(1, 50000) i`,
		"ANALYZE {schema}.ready, {schema}.lane, {schema}.queue",
	)
}

// TestNoParallelPlans: a page of a large table is read along its index. A planner that believes
// that parallel workers cost nothing would rather let them read all that follows, and sort it.
func TestNoParallelPlans(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	url, schema := pgtest.Shared(t).Schema(t)
	opened, err := Config{URL: url, SchemaName: schema}.Open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	s := opened.(*Store).db //nolint:errcheck // what else would it be
	conn, err := s.Beside(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	fill(t, conn, schema)
	exec := func(texts ...string) {
		t.Helper()
		for _, text := range texts {
			if _, err := conn.Exec(ctx, text, pgx.QueryExecModeSimpleProtocol); err != nil {
				t.Fatal(text, err)
			}
		}
	}
	exec("SET min_parallel_table_scan_size = 0", "SET min_parallel_index_scan_size = 0",
		"SET parallel_setup_cost = 0", "SET parallel_tuple_cost = 0")
	isParallel := func(name string) bool {
		plan := strings.Join(explain(t, conn, s.Text(name)), "\n")
		return strings.Contains(plan, "Gather")
	}
	for what, begin := range map[string]string{"hot": pg.BeginHot, "reads": pg.BeginRead} {
		exec(begin)
		for _, name := range []string{"copy_next", "list_jobs", "list_failed", "list_times"} {
			if isParallel(name) {
				t.Errorf("%s: the plan of %s is parallel", what, name)
			}
		}
		exec("SET LOCAL max_parallel_workers_per_gather = 2")
		if !isParallel("copy_next") {
			t.Errorf("%s: the plan of copy_next would not be parallel anyway: nothing is tested", what)
		}
		exec("ROLLBACK")
	}
}
