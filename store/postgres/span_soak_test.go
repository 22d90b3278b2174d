//go:build soak

package postgres_test

import (
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest"
)

// TestSpansOfOldBodies: bodies from before the migration are found as before, while retention gives
// them their spans, and then.
func TestSpansOfOldBodies(t *testing.T) {
	t.Parallel()
	const jobs = 12_000 // more than one Retain gives theirs
	config := fresh(t)
	s := open(t, config)
	more := func(n int) {
		var list []*store.Enqueue
		for range n {
			list = append(list, newJob())
		}
		enqueue(t, s, list...)
	}
	for range jobs / 1000 {
		more(1000)
	}
	conn := connect(t, config.URL)
	var undone []string
	for _, u := range undo {
		if u.to >= 43 {
			undone = append(undone, u.texts...)
		}
	}
	for _, text := range append([]string{"DELETE FROM {schema}.migration WHERE version > 43"}, undone...) {
		if _, err := conn.Exec(t.Context(), strings.ReplaceAll(text, "{schema}", config.SchemaName)); err != nil {
			t.Fatal(text, err)
		}
	}
	s = open(t, config)
	more(10)
	for round := 0; ; round++ {
		if n := storetest.ListedBoth(t, s); n != jobs+10 {
			t.Fatalf("round %d: %d jobs are listed", round, n)
		}
		wantSpans(t.Context(), t, conn, config)
		left := value[int64](t, conn, "SELECT count(*) FROM "+config.SchemaName+".meta WHERE name = 'spans_from'")
		if spans := value[int64](t, conn, "SELECT count(*) FROM "+config.SchemaName+".lane_span"); left == 0 && spans < 2 || round > 5 {
			t.Fatalf("round %d: there are %d spans", round, spans)
		}
		if left == 0 {
			break
		}
		if retained, err := s.Retain(t.Context(), store.Retention{}); err != nil || round == 0 && !retained.More {
			t.Fatalf("%+v, %v", retained, err)
		}
	}
}
