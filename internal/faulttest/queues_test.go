//go:build soak

package faulttest

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/holdfastdev/holdfast"
)

// TestThousandsOfQueues drains two thousand jobs of a hundred queues, once where there are no
// other queues, and once where twenty thousand have had a job in their time. What the drain
// costs the server must go by the work, and not by what ever was.
func TestThousandsOfQueues(t *testing.T) {
	t.Parallel()
	const few, many, jobs, handful = 100, 10_000, 2000, 4
	alone, among := queueCost(t, few, few, jobs), queueCost(t, many, few, jobs)
	t.Logf("among %d queues: %+v; among %d: %+v", few, alone, many, among)
	if among.scans > handful*alone.scans {
		t.Errorf("the drain took %d index scans instead of %d", among.scans, alone.scans)
	}
	if among.blocks > handful*alone.blocks {
		t.Errorf("the drain looked at %d blocks instead of %d", among.blocks, alone.blocks)
	}
}

// cost is what the statements of clients have cost a server, as it counts it.
type cost struct{ scans, rows, blocks int64 }

// queueCost is the cost of draining jobs out of some of the queues that there are.
func queueCost(t *testing.T, queues, used, jobs int) cost {
	t.Helper()
	db := onPostgres(t)
	p := pool(t, db.url)
	kind := holdfast.NewKind[int, int]("plain")
	hf := db.open(t)
	enqueueTo := func(n, queues int) (ids []holdfast.ID) {
		t.Helper()
		items := make([]holdfast.BatchItem, n)
		for i := range items {
			items[i] = kind.Item(i, holdfast.Queue(fmt.Sprint("queue ", i%queues)))
		}
		results, err := hf.EnqueueBatch(t.Context(), items)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			ids = append(ids, r.ID)
		}
		return ids
	}
	for ids := range slices.Chunk(enqueueTo(queues, queues), 1000) {
		if _, err := hf.Cancel(t.Context(), "not needed", ids...); err != nil {
			t.Fatal(err)
		}
	}
	enqueueTo(jobs, used)
	closeClient(t, hf)
	before := costOf(t, db)

	hf = db.open(t, holdfast.WithSlots(1000))
	register(t, hf, kind, func(*holdfast.Run, int) (int, error) { return 0, nil })
	worker := work(t, hf)
	eventually(t, "all jobs have run", func() bool {
		return value[int](t, p, "SELECT count(*) FROM holdfast.finished WHERE state = 6") == jobs
	})
	worker.stop()
	closeClient(t, hf)
	after := costOf(t, db)
	return cost{after.scans - before.scans, after.rows - before.rows, after.blocks - before.blocks}
}

// costOf is what the server has counted, once nobody is connected who has not told.
func costOf(t *testing.T, db *database) (c cost) {
	t.Helper()
	goneFrom(t, db)
	p := pool(t, db.url)
	err := p.QueryRow(context.WithoutCancel(t.Context()), `
SELECT (SELECT sum(coalesce(idx_scan, 0) + seq_scan) FROM pg_stat_user_tables WHERE schemaname = 'holdfast'),
  (SELECT sum(coalesce(idx_tup_fetch, 0) + seq_tup_read) FROM pg_stat_user_tables WHERE schemaname = 'holdfast'),
  (SELECT sum(heap_blks_hit + heap_blks_read + coalesce(idx_blks_hit, 0) + coalesce(idx_blks_read, 0))
   FROM pg_statio_user_tables WHERE schemaname = 'holdfast')`).Scan(&c.scans, &c.rows, &c.blocks)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
