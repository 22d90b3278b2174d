package postgres

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// TestHotPlans: the statements of the hot path find their rows by index on tables that are empty
// and were never analysed, which is when the planner would rather read all of them.
func TestHotPlans(t *testing.T) {
	t.Parallel()
	s, conn := opened(t)
	// Of these tables a sequential scan is right: they are small, or read as a whole.
	small := regexp.MustCompile(`Seq Scan on (queue|lane|node|leader|cancel_request|pause_request|closed_parent|untold|claim` +
		`|edge_check|gate_check)\b`)
	bad := regexp.MustCompile(`(Seq Scan|Bitmap Heap Scan|Hash Join|Merge Join)`)
	// Retention reads once who has the turns of ordering keys.
	retention, turns := []string{"unfinished_between", "finished_over"}, regexp.MustCompile(`Seq Scan on key_holder\b`)
	// What is kept to be read again may be a whole table. Here it is the nodes.
	again, few := regexp.MustCompile(`Materialize`), "beat"
	for _, name := range []string{
		"enqueue", "enqueue_careful", "enqueue_obstacles", "replace_lock", "claim", "claim_gated", "claim_fair", "claim_fair_gated",
		"claim_note", "claim_again", "complete",
		"conclude", "checkpoint", "live_leases",
		"promote_due", "next_due", "hand_on_turns", "cancel", "lanes_bind", "outcomes_applied", "lock_bodies", "grab_bodies",
		"slots_of_node", "slots_of_dead", "slots_of_jobs", "slots_of_leases", "held_jobs", "beat", "node_ask", "node_join",
		"fence", "append", "append_closing", "append_live", "append_written", "journals", "journal_sizes",
		"entries", "entries_newest", "entries_named", "entries_named_newest",
		"send", "answer", "wake", "continue_inbox", "continue_journal", "continue_job", "children_to_close",
		"parents_of", "close_children", "say", "edit_body", "edit_move", "audit_all", "audit_in", "audit_to", "audit_of",
		"delete_look", "delete_audit", "forget_unique_keys_of",
		"keys_take", "key_obstacles", "key_find", "keys_of_finished", "key_sent", "key_sent_note", "copy_keys", "copy_signals",
		"list_key", "keys_busy", "keys_leave",
		"send_updates", "wake_for_updates", "answer_updates", "updates_open", "update", "update_forget", "updates_forget_accepted",
		"updates_refused", "updates_of_gone", "keys_of_gone", "keys_settle",
		"give_up_turns", "pause_jobs", "resume_look", "resume_held", "resume_cut", "fork", "retry_finished", "retry_deferred",
		"gate_rules_lock", "gates_look", "gated_put", "gated_out", "gates_freed", "gates_changed", "hand_on_gates", "gates_turn", "gate_running",
		"key_rates_put", "key_rates_next", "key_rate", "promote_look",
		"claim_records", "claim_releases",
		"limits_lock", "grant", "limit_holders", "limit_lock", "limit_delete", "nodes_die",
		"permits_lock", "permits", "rate_lock", "rate_put",
		"edge_look", "edge_put", "edge_cycle", "edges_of", "edge_checks_over", "edge_mark", "edge_successors",
		"edge_told_of", "edge_met", "edge_told", "edge_release", "edge_note", "edge_checked", "edge_await", "edge_unwatch",
		"unfinished_between", "finished_over", "waiting_few", "waiting_of_keys", "stuck_keys",
		"batch_close", "batches_keep", "batches_there", "batches_look", "batch_heads", "batches_seal", "batches_lock", "batch_members",
		"batches_counted", "batches_call_lock", "batches_called", "batches_forget", "batches", "batches_of",
		"batch_retried", "batch_retried_forget",
		"logs_put", "logs_trim", "logs_old", "logs", "logs_of_gone",
		"attributes_set", "attributes_unset", "attributes_of_gone", "attributes_declared", "attribute_leave", "attribute_values_remove",
		"facts_keep", "facts_put", "facts_delete", "facts_page", "facts_minutes", "facts_hours",
		"spots_of_jobs", "finish_outside", "fail_undoing", "untold_put", "untold_parents", "tell_parents",
	} {
		for _, line := range explain(t, conn, s.Text(name)) {
			if turns.MatchString(line) && slices.Contains(retention, name) {
				continue
			}
			if bad.MatchString(line) && !small.MatchString(line) || again.MatchString(line) && name != few {
				t.Errorf("%s: %s", name, strings.TrimSpace(line))
			}
		}
	}
}

// TestOneReadByKey: the job that has a business key is found by one row of one index, and what is
// known of that job by its id.
func TestOneReadByKey(t *testing.T) {
	t.Parallel()
	whenFilled(t, func(after string, plan plansOf) {
		text := plan("key_find")
		if n := strings.Count(text, " on job_key "); n != 1 || !strings.Contains(text, "Index Scan using job_key_pkey on job_key k") ||
			!strings.Contains(text, "((namespace = $1) AND (kind = $2) AND (key = $3))") {
			t.Errorf("after %.40s…: %s", after, text)
		}
	},
		`INSERT INTO {schema}.job_key (id, keep, taken, namespace, kind, key, args)
			SELECT gen_random_uuid(), i % 2 - 1, 0, 'default', 'k' || i % 3, 'order ' || i, '' FROM generate_series(1, 20000) i`,
		"ANALYZE {schema}.job_key",
	)
}

// TestQueueAttemptsReadsWhatIsSet: nodes that look what is set of queues read no others.
func TestQueueAttemptsReadsWhatIsSet(t *testing.T) {
	t.Parallel()
	whenFilled(t, func(after string, plan plansOf) {
		for _, name := range []string{"queue_attempts", "queue_attempts_all"} {
			if text := plan(name); !strings.Contains(text, "Index Scan using queue_attempts on queue") {
				t.Errorf("%s after %.40s…: %s", name, after, text)
			}
		}
	},
		`INSERT INTO {schema}.queue (namespace, name, attempts)
			SELECT 'default', 'q' || i, CASE WHEN i % 1000 = 0 THEN '{}' END FROM generate_series(1, 5000) i`,
		"ANALYZE {schema}.queue",
	)
}

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

// TestKeysThatAreDueAreFound: however many keys wait for their rate, those whose time has come are
// found by an index, and so is the next one.
func TestKeysThatAreDueAreFound(t *testing.T) {
	t.Parallel()
	whenFilled(t, func(after string, plan plansOf) {
		for _, name := range []string{"key_rates_next", "promote_look", "hand_on_gates"} {
			text := plan(name)
			if !strings.Contains(text, "Scan using key_rate_look on key_rate") || strings.Contains(text, "Seq Scan on key_rate") {
				t.Errorf("%s after %.40s…: %s", name, after, text)
			}
		}
	},
		`INSERT INTO {schema}.key_rate (gate, tat, period, look_at)
			SELECT i, 0 + i, 1, CASE WHEN i % 2 = 0 THEN i END FROM generate_series(1, 50000) i`,
		"ANALYZE {schema}.key_rate",
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

// TestUntoldParentsReadsOneNoteOfEach: the next parents that are to be told are found without
// reading through their notes, of which one may have any number.
func TestUntoldParentsReadsOneNoteOfEach(t *testing.T) {
	t.Parallel()
	whenFilled(t, func(after string, plan plansOf) {
		wantFirstRows(t, after, plan("untold_parents"), "untold", 2)
	},
		`INSERT INTO {schema}.untold (id, parent, state, codec)
			SELECT gen_random_uuid(), lpad((i % 3)::text, 32, '1')::uuid, 5, 0 FROM generate_series(1, 20000) i`,
		"ANALYZE {schema}.untold",
	)
}

// wantFirstRows checks that a plan reads a table in so many places, and at each of them no more
// than the first row that it finds in an index.
func wantFirstRows(t *testing.T, after, plan, table string, want int) {
	t.Helper()
	places, lines := 0, strings.Split(plan, "\n")
	for i, line := range lines {
		if !strings.Contains(line, " on "+table+" ") {
			continue
		}
		places++
		if !strings.Contains(line, "Index Only Scan") || !strings.Contains(lines[i-1], "Limit") {
			t.Errorf("after %.40s…: %s", after, plan)
		}
	}
	if places != want {
		t.Errorf("after %.40s… %s is read in %d places: %s", after, table, places, plan)
	}
}

// opened returns an empty database and a connection to it.
func opened(t *testing.T) (*pg.DB, *pgx.Conn) {
	t.Helper()
	url, schema := pgtest.Shared(t).Schema(t)
	config := Config{URL: url, SchemaName: schema}
	s, err := config.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d := s.(*Store).db //nolint:errcheck // what else would it be
	conn, err := d.Beside(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close(context.Background())
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return d, conn
}

// plansOf explains statements by their names.
type plansOf func(name string) string

// whenFilled calls check with an empty database, and again after each of the statements that fill
// it.
func whenFilled(t *testing.T, check func(after string, plan plansOf), fills ...string) {
	t.Helper()
	s, conn := opened(t)
	plan := func(name string) string { return strings.Join(explain(t, conn, s.Text(name)), "\n") }
	check("nothing", plan)
	for _, fill := range fills {
		if _, err := conn.Exec(t.Context(), pg.InSchema(fill, s.SchemaName)); err != nil {
			t.Fatal(err)
		}
		check(fill, plan)
	}
}

// explain returns the generic plan of a statement, which is run with NULLs if no args are given.
func explain(t *testing.T, conn *pgx.Conn, text string, args ...string) (lines []string) {
	t.Helper()
	ctx := context.Background()
	prepared, err := conn.Prepare(ctx, "explained", text)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := conn.Deallocate(ctx, "explained"); err != nil {
			t.Fatal(err)
		}
	}()
	for len(args) < len(prepared.ParamOIDs) {
		args = append(args, "NULL")
	}
	execute := "EXECUTE explained"
	if len(args) > 0 {
		execute += " (" + strings.Join(args, ", ") + ")"
	}
	rows, err := conn.Query(ctx, "EXPLAIN (COSTS OFF) "+execute, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Fatal(err)
	}
	lines, err = pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return lines
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
