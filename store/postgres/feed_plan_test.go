//go:build soak

package postgres

import (
	"strings"
	"testing"
)

// TestTheFeedIsReadByIndex: a pass of the sequencer, a page and what retention looks at cost the
// same however long the feed is.
func TestTheFeedIsReadByIndex(t *testing.T) {
	t.Parallel()
	whenFilled(t, func(after string, plan plansOf) {
		for _, name := range []string{"feed_order", "feed_page", "feed_forget", "feed_status"} {
			text := plan(name)
			for _, table := range []string{"feed_raw", "feed_order"} {
				if strings.Contains(text, "Seq Scan on "+table) {
					t.Errorf("%s after %.40s…: %s", name, after, text)
				}
			}
			if !strings.Contains(text, "using feed_order_pkey on feed_order") || name != "feed_status" && !strings.Contains(text, "feed_raw_pkey") {
				t.Errorf("%s after %.40s…: %s", name, after, text)
			}
		}
	},
		`INSERT INTO {schema}.feed_raw (at, n, state, ids) SELECT i, 1, 2, ARRAY[md5(i::text)::uuid] FROM generate_series(1, 20000) i`,
		`INSERT INTO {schema}.feed_order (first, last, at, xids, seqs, counts, snap)
			SELECT i, i AS last, 1000 * i, ARRAY['3'::xid8], ARRAY[i], ARRAY[1], pg_current_snapshot() FROM generate_series(1, 20000) i`,
		"ANALYZE {schema}.feed_raw, {schema}.feed_order",
	)
}
