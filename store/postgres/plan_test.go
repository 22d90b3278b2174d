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
