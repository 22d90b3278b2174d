//go:build soak

package postgres

import (
	"strings"
	"testing"
)

// TestOldJobsAreFoundByIndex: what is over by some class is found in the order of its end, or of
// its id, after a place, however much was passed before; and what was removed by days.
func TestOldJobsAreFoundByIndex(t *testing.T) {
	t.Parallel()
	whenFilled(t, func(after string, plan plansOf) {
		for name, wants := range map[string][]string{
			"ended_after":         {"finished_by_time", "state_finished_at_id_idx", "using finished_default_state_finished_at"},
			"ended_after_default": {"using finished_default_by_time on finished_default"},
			"ended_between":       {"Merge Append"}, // of the partitions in the range, by their keys
			"removed_in":          {"using removed_pkey"},
			"removed_forget":      {"using removed_day"},
		} {
			text, found := plan(name), false
			for _, want := range wants {
				found = found || strings.Contains(text, want)
			}
			if !found || strings.Contains(text, "Seq Scan on finished") || strings.Contains(text, "Seq Scan on removed") {
				t.Errorf("%s after %.40s…: %s", name, after, text)
			}
		}
	},
		// Their ids are of no day that has a partition.
		`INSERT INTO {schema}.finished_default (id, state, finished_at)
			SELECT ('f' || substr(md5(i::text), 2))::uuid, 6 + i % 3, i / 100 FROM generate_series(1, 100000) i`,
		`INSERT INTO {schema}.removed (day, namespace, queue, state, jobs)
			SELECT i % 90, 'n' || i % 7, 'q' || i, 6, 1 FROM generate_series(1, 50000) i`,
		"ANALYZE {schema}.finished, {schema}.removed",
	)
}
