//go:build soak

package postgres

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/internal/pgtest"
)

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
			"spans_remove",
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
