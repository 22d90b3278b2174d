package postgres_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/store"
)

// TestARetryMeetsACount: a member is retried while a count is under way that has counted it. When
// the retry began its batch was open, and nothing of it was counted.
func TestARetryMeetsACount(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	s, counter, observer := open(t, config), connect(t, config.URL), connect(t, config.URL)
	table, batch := pgx.Identifier{config.SchemaName, "batch"}.Sanitize(), newJob().Job.ID
	if err := s.CreateBatch(t.Context(), nil, store.JobBatch{ID: batch, Namespace: "default"}); err != nil {
		t.Fatal(err)
	}
	q := newJob(func(q *store.Enqueue) { q.Job.Batch = batch })
	enqueue(t, s, q)
	runs, err := s.Claim(t.Context(), demand(join(t, s), 1, 1))
	if err != nil || len(runs) != 1 {
		t.Fatalf("claimed %v, %v", runs, err)
	}
	o := &store.Outcome{Lease: runs[0].Lease, State: store.Failed, Reason: store.ReasonTerminal}
	if err := apply(t, s, &store.Batch{Outcomes: []*store.Outcome{o}}); err != nil || o.Err != nil {
		t.Fatal(err, o.Err)
	}
	tx, err := counter.Begin(t.Context())
	if err == nil {
		_, err = tx.Exec(t.Context(), "SELECT 1 FROM "+table+" FOR UPDATE")
	}
	if err == nil {
		_, err = tx.Exec(t.Context(), "UPDATE "+table+" SET closed_at = 1, sealed = true, through = true, failed = 1, cursor = $1, version = 3",
			q.Job.ID.String())
	}
	if err != nil {
		t.Fatal(err)
	}
	retried := make(chan error)
	go func() {
		results, _, err := s.Retry(context.Background(), store.RetryParams{Jobs: []store.ID{q.Job.ID}})
		if err == nil {
			err = results[0].Err
		}
		retried <- err
	}()
	const blocks = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid)))"
	eventually(t, "the retry waits for the count", func() bool { return value[bool](t, observer, blocks, counter.PgConn().PID()) })
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-retried; err != nil {
		t.Fatal(err)
	}
	c, err := s.CountBatches(t.Context(), store.CountBatchesParams{Limit: 10, Members: 10})
	if err != nil || len(c.Through) > 0 {
		t.Fatalf("counted: %+v, %v", c, err)
	}
	if n := value[int](t, observer, "SELECT count(*)::int FROM "+pgx.Identifier{config.SchemaName, "batch_retried"}.Sanitize()); n != 1 {
		t.Errorf("%d notes of the retry", n)
	}
}
