package sqlite_test

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/store/sqlite"
)

// TestListPlans: what lists, counts, edits and deletes ask for is found by index, in its order, so
// that a limit bounds what is looked at, whatever there is.
func TestListPlans(t *testing.T) {
	source := sqlite.File(file(t))
	open(t, source)
	db := database(t, source.Path)
	const ownKey = "" // of the table
	for name, index := range map[string]string{
		"jobs_newest":           ownKey,
		"jobs_oldest":           ownKey,
		"finished_newest":       ownKey,
		"finished_oldest":       ownKey,
		"children_newest":       "holdfast_job_parent",
		"children_oldest":       "holdfast_job_parent",
		"children_ids":          "holdfast_job_parent",
		"child_unfinished":      "holdfast_job_parent",
		"job_facts":             ownKey,
		"job_documents":         ownKey,
		"end_facts":             ownKey,
		"not_completed_newest":  "holdfast_finished_not_completed",
		"not_completed_oldest":  "holdfast_finished_not_completed",
		"not_completed_in_lane": "holdfast_finished_lane",
		"ended_before":          "holdfast_finished_by_time",
		"dead_alike":            "holdfast_finished_dead",
		"dead_next":             "holdfast_finished_dead",
		"dead_first":            "holdfast_finished_dead",
		"dead_said":             ownKey,
		"ready_in_lane":         ownKey,
		"keyed_in_queue":        ownKey,
		"deferred_in_lane":      "holdfast_deferred_lane",
		"deferred_page":         ownKey,
		"lost_from":             "holdfast_attempt_lost",
		"lost_from_has":         "holdfast_attempt_lost",
		"unique_holder":         ownKey,
		"job_limit_key":         ownKey,
		"job_set_tags":          ownKey,
		"job_set_metadata":      ownKey,
		"job_set_args":          ownKey,
		"job_set_place":         ownKey,
		"wait_move":             ownKey,
		"audit_gone":            "holdfast_audit_job",
		"retain_attempts":       ownKey,
		"closed_delete":         ownKey,
		"limit":                 "holdfast_limit_rule_name",
		"gate_rule":             "holdfast_limit_rule_name",
		"key_rate_next":         "holdfast_key_rate_look",
		"key_rates_due":         "holdfast_key_rate_look",
		"gated_delete":          "holdfast_gated_lane",
		"gated_has":             "holdfast_gated_lane",
		"gated_oldest":          "holdfast_gated_lane",
		"gated_in_lane":         "holdfast_gated_lane",
		"gated_next":            ownKey,
		"gated_lane":            ownKey,
		"gated_lanes":           "holdfast_gated_lane",
		"gated_heads":           ownKey,
		"rate_named":            "holdfast_limit_rule_name",
		"limit_wishes":          ownKey,
		"limit_grants_delete":   ownKey,
		"edges_of":              "holdfast_edge_successor",
		"edge_left":             "holdfast_edge_successor",
		"edges_delete":          "holdfast_edge_successor",
		"edges_untold":          ownKey,
		"edge_told":             ownKey,
		"edge_delete":           ownKey,
		"fact_delete":           "holdfast_fact_place",
		"facts_page":            "holdfast_fact_place",
		"facts_page_of_all":     "holdfast_fact_time",
		"attributes_declared":   ownKey,
		"attribute_value":       "holdfast_attribute_value_job",
		"attribute_value_unset": "holdfast_attribute_value_job",
		"valued_newest":         ownKey,
		"valued_oldest":         ownKey,
		"valued_few":            ownKey,
		"retain_attributes":     "holdfast_attribute_value_job",
		"over":                  ownKey,
		"removed_of":            ownKey,
		"spans_newest":          ownKey,
		"spans_oldest":          ownKey,
		"span_lane_next":        ownKey,
		"span_delete":           ownKey,
		"span_has_body":         ownKey,
		"request":               ownKey,
		"request_update":        ownKey,
		"request_delete":        ownKey,
		"requests_over":         "holdfast_request_at",
		"api_key":               ownKey,
		"api_keys":              ownKey,
		"api_keys_in":           "holdfast_api_key_namespace",
		"api_keys_over":         "holdfast_api_key_over",
		"audit_all":             "holdfast_audit_at",
		"audit_in":              "holdfast_audit_namespace",
		"audit_to":              "holdfast_audit_target",
	} {
		plan := planOf(t, db, name)
		found := strings.Contains(plan, "USING PRIMARY KEY") || strings.Contains(plan, "sqlite_autoindex_")
		if index != ownKey {
			found = strings.Contains(plan, "INDEX "+index+" ")
		}
		if !found || strings.Contains(plan, "SCAN ") || strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("%s does not find by %q alone:\n%s", name, index, plan)
		}
	}
	// Of one moment, however many that are, those are sorted that come after a place.
	if plan := planOf(t, db, "ended_at"); !strings.Contains(plan, "holdfast_finished_by_time") || strings.Contains(plan, "SCAN ") {
		t.Errorf("ended_at: %s", plan)
	}
}

// TestRetentionPlans: what is over by some class is found in the order of its end, after a place,
// whatever was passed before, and what was removed in the order of days.
func TestRetentionPlans(t *testing.T) {
	source := sqlite.File(file(t))
	open(t, source)
	db := database(t, source.Path)
	for name, wants := range map[string][]string{
		"ended_after": {
			"SEARCH holdfast_finished USING INDEX holdfast_finished_by_time (state=? AND finished_at>? AND finished_at<?)",
			"SEARCH j USING INDEX sqlite_autoindex_holdfast_job_1 (id=?)", "SEARCH l USING INTEGER PRIMARY KEY (rowid=?)",
		},
		"queues_set": {"USING INDEX holdfast_queue_attempts"},
		"removed":    {"SEARCH holdfast_removed USING PRIMARY KEY (namespace=?)"},
		"removed_in": {
			"SEARCH r USING INDEX holdfast_removed_day (day=? AND namespace=? AND queue=?)",
			"USING PRIMARY KEY (namespace=? AND day<?)",
		},
		"removed_old":    {"SEARCH holdfast_removed USING COVERING INDEX holdfast_removed_day (day<?)"},
		"removed_forget": {"SEARCH holdfast_removed USING COVERING INDEX holdfast_removed_day (day<?)"},
	} {
		plan := planOf(t, db, name)
		for _, want := range wants {
			if !strings.Contains(plan, want) {
				t.Errorf("%s does not %s:\n%s", name, want, plan)
			}
		}
		if name == "ended_after" && strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("%s sorts:\n%s", name, plan)
		}
	}
}

func planOf(t *testing.T, db *sql.DB, name string) string {
	t.Helper()
	text := sqlite.Statement(name)
	rows, err := db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+text, make([]any, strings.Count(text, "?"))...)
	if err != nil {
		t.Fatal(name, err)
	}
	defer rows.Close()
	var lines []string
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, detail)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

// TestStuckPlan: the keys of a queue are found in their order, and what is known of each by keys.
func TestStuckPlan(t *testing.T) {
	source := sqlite.File(file(t))
	open(t, source)
	plan := planOf(t, database(t, source.Path), "stuck_keys")
	for line := range strings.Lines(plan) {
		if strings.Contains(line, "SCAN ") && !strings.Contains(line, "SCAN k") && !strings.Contains(line, "SCAN (") {
			t.Errorf("%s in:\n%s", line, plan)
		}
	}
	if !strings.Contains(plan, "SEARCH h USING PRIMARY KEY (queue=? AND ordering_key>?)") || strings.Contains(plan, "TEMP B-TREE") {
		t.Error(plan)
	}
}

// TestWaitingPlan: the jobs of a key are found by the index of keys, in its order, and where each
// waits by the keys of the tables.
func TestWaitingPlan(t *testing.T) {
	source := sqlite.File(file(t))
	open(t, source)
	plan := planOf(t, database(t, source.Path), "waiting_of_key")
	if !strings.Contains(plan, "SEARCH j USING INDEX holdfast_job_limit_key (<expr>=?)") || strings.Contains(plan, "TEMP B-TREE FOR ORDER") {
		t.Error(plan)
	}
	for line := range strings.Lines(plan) {
		if strings.Contains(line, "SCAN ") && !strings.Contains(line, "json_each") && !strings.Contains(line, "SCAN (") {
			t.Errorf("%s in:\n%s", line, plan)
		}
	}
}
