package postgres_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

func TestZZMillions(t *testing.T) {
	config := fresh(t)
	s := open(t, config)
	enqueue(t, s, newJob())
	for range 50 {
		enqueue(t, s, newJob(func(q *store.Enqueue) { q.Delay = time.Hour }))
	}
	conn := connect(t, config.URL)
	now := time.Now()
	run := func(text string) {
		t.Helper()
		began := time.Now()
		if _, err := conn.Exec(t.Context(), strings.ReplaceAll(text, "{schema}", config.SchemaName)); err != nil {
			t.Fatal(text, err)
		}
		t.Logf("%6.1fs %.80s", time.Since(began).Seconds(), text)
	}
	for _, step := range undo[:1] {
		for _, text := range step.texts {
			run(text)
		}
	}
	run("DELETE FROM {schema}.migration WHERE version > 7")
	for part := range 10 {
		run(fmt.Sprintf(`INSERT INTO {schema}.job (id, lane, run_at, created_at, lease, attempt, max_attempts, codec, args)
			SELECT lpad(to_hex(i), 32, '0')::uuid, 1, %[1]d + i * 100000::bigint, i, 1, 1, 3, 0, '{"to":"ada@example.org","n":1}' FROM generate_series(%[2]d + 1, %[2]d + 1000000) i`,
			now.Add(-12*24*time.Hour).UnixMicro(), part*1_000_000))
		run(fmt.Sprintf(`INSERT INTO {schema}.finished (id, state, lease, node, claimed_at, started_at, finished_at, result)
			SELECT lpad(to_hex(i), 32, '0')::uuid, CASE WHEN i %% 100 = 0 THEN 7 ELSE 6 END, 1, 1, i, i, %[1]d + i * 100000::bigint, '{"ok":true}' FROM generate_series(%[2]d + 1, %[2]d + 1000000) i`,
			now.Add(-12*24*time.Hour).UnixMicro(), part*1_000_000))
		run(fmt.Sprintf(`INSERT INTO {schema}.attempt (id, attempt, lease, node, claimed_at, reported, started_at, ended_at, outcome, reason, error)
			SELECT lpad(to_hex(i), 32, '0')::uuid, 1, 1, 1, i, true, i, i, 4, 'error', 'it broke' FROM generate_series(%[1]d + 1, %[1]d + 1000000, 10) i`, part*1_000_000))
	}
	run("CHECKPOINT")
	began := time.Now()
	s = open(t, config)
	t.Logf("MIGRATION took %v", time.Since(began))
	for _, c := range []struct {
		what   string
		params store.ListParams
	}{
		{"newest", store.ListParams{}},
		{"waiting", store.ListParams{Filter: store.Filter{States: []store.State{store.Scheduled, store.Waiting}}}},
		{"run_at", store.ListParams{Sort: store.SortRunAt}},
		{"finished", store.ListParams{Sort: store.SortFinished}},
		{"finished a week ago", store.ListParams{Sort: store.SortFinished, Filter: store.Filter{FinishedBefore: now.Add(-7 * 24 * time.Hour)}}},
		{"failed", store.ListParams{Filter: store.Filter{States: []store.State{store.Failed}}}},
		{"failed in a namespace", store.ListParams{Filter: store.Filter{States: []store.State{store.Failed}, Namespace: "none"}}},
		{"a tag that none has", store.ListParams{Filter: store.Filter{Tags: []string{"x"}}}},
		{"args", store.ListParams{Filter: store.Filter{Args: []store.Match{{Path: "n", Value: []byte("2")}}}}},
	} {
		c.params.Limit = 100
		for range 2 {
			began := time.Now()
			page, err := s.List(t.Context(), c.params)
			t.Logf("%-24s %4d jobs in %v %v", c.what, len(page.Jobs), time.Since(began), err)
		}
	}
	for what, f := range map[string]store.Filter{
		"all": {}, "waiting": {States: []store.State{store.Scheduled}}, "failed": {States: []store.State{store.Failed}}, "completed": {States: []store.State{store.Completed}},
	} {
		began := time.Now()
		n, err := s.Count(t.Context(), store.CountParams{Filter: f})
		t.Logf("count %-20s %+v in %v %v", what, n.N, time.Since(began), err)
	}
}
