//go:build soak

package postgres

import (
	"strings"
	"testing"
)

// TestSuccessorsAreFoundByIndex: who tells the successors of finished jobs finds them by the
// primary key of the edges, however many others there are, and finished ones that were noted by an
// index of the notes, without reading all of them for each portion.
func TestSuccessorsAreFoundByIndex(t *testing.T) {
	t.Parallel()
	whenFilled(t, func(after string, plan plansOf) {
		for _, name := range []string{
			"edge_look", "edge_successors", "edge_told_of", "edge_checked", "edge_met", "edge_told", "edges_of", "edge_release", "edge_cycle",
			"edge_await",
		} {
			text := plan(name)
			if name != "edge_look" && !strings.Contains(text, "Scan using edge_") || strings.Contains(text, "Seq Scan on edge ") {
				t.Errorf("%s after %.40s…: %s", name, after, text)
			}
		}
		text := plan("edge_checks_over")
		if !strings.Contains(text, "using edge_check_predecessor on edge_check c") {
			t.Errorf("edge_checks_over after %.40s…: %s", after, text)
		}
	},
		`INSERT INTO {schema}.edge (predecessor, successor, policy, told)
			SELECT md5((i / 10)::text)::uuid, md5('s' || i)::uuid, 0, 3 FROM generate_series(1, 100000) i`,
		`INSERT INTO {schema}.edge_check (predecessor) SELECT md5(i::text)::uuid FROM generate_series(1, 10000) i`,
		"ANALYZE {schema}.edge, {schema}.edge_check",
	)
}
