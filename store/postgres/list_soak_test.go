//go:build soak

package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// TestListsAskLittle: beside a hundred thousand jobs that completed over three years a page costs a
// few statements, each of which finds its rows by index (see TestListPlans).
func TestListsAskLittle(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	s, count := asking(t, config)
	enqueue(t, s, newJob()) // so that there are a queue and a lane
	for range 50 {
		enqueue(t, s, newJob(func(q *store.Enqueue) { q.Delay = time.Hour }))
	}
	conn := connect(t, config.URL)
	now := time.Now()
	for _, text := range []string{
		`INSERT INTO %[1]s.job (id, lane, run_at, created_at, lease, attempt, max_attempts, codec, args)
			SELECT lpad(to_hex(i), 32, '0')::uuid, 1, %[2]d + i * 900000000::bigint, i, 1, 1, 3, 0, '{}' FROM generate_series(1, 100000) i`,
		//nolint:dupword // two columns with the same time
		`INSERT INTO %[1]s.finished (id, state, lease, node, claimed_at, started_at, finished_at)
			SELECT lpad(to_hex(i), 32, '0')::uuid, 6, 1, 1, i, i, %[2]d + i * 900000000::bigint FROM generate_series(1, 100000) i`,
	} {
		if _, err := conn.Exec(t.Context(), fmt.Sprintf(text, config.SchemaName, now.Add(-100_000*15*time.Minute).UnixMicro())); err != nil {
			t.Fatal(err)
		}
	}
	unfinished := []store.State{store.Scheduled, store.Retryable, store.Waiting}
	for _, c := range []struct {
		what   string
		params store.ListParams
		want   int
	}{
		{"the newest", store.ListParams{}, 100},
		{"what waits", store.ListParams{Filter: store.Filter{States: unfinished}}, 50},
		{"what waits, by its time", store.ListParams{Sort: store.SortRunAt, Filter: store.Filter{States: unfinished}}, 50},
		{"what ended, the last first", store.ListParams{Sort: store.SortFinished}, 100},
		{"what ended a year ago", store.ListParams{
			Sort: store.SortFinished, Filter: store.Filter{FinishedBefore: now.Add(-365 * 24 * time.Hour)},
		}, 100},
		{"what ended on a day", store.ListParams{
			Filter: store.Filter{FinishedAfter: now.Add(-101 * 24 * time.Hour), FinishedBefore: now.Add(-100 * 24 * time.Hour)},
		}, 96},
		{"what failed", store.ListParams{Filter: store.Filter{States: []store.State{store.Failed}}}, 0},
	} {
		c.params.Limit = 100
		for range 2 { // the second time the pool has its connection
			count.n.Store(0)
			page, err := s.List(t.Context(), c.params)
			if err != nil || len(page.Jobs) != c.want {
				t.Fatalf("%s: %d jobs, %v", c.what, len(page.Jobs), err)
			}
		}
		if n := count.n.Load(); n > 45 {
			t.Errorf("%s costs %d statements", c.what, n)
		} else {
			t.Logf("%s costs %d statements", c.what, n)
		}
	}
}
