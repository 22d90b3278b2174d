//go:build soak

package faulttest

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// busy is a node that always has more to do, of a producer that never stops.
type busy struct {
	t     *testing.T
	hf    *holdfast.Client
	ran   atomic.Int64     // jobs that have run
	began [10]atomic.Int64 // how many they were when the job with that number started, or 0
}

var busyKind = holdfast.NewKind[int, int]("busy")

// newBusy starts the node and the producer. A thousand jobs take it two seconds at the least, so
// that so many jobs are so much time on any machine.
func newBusy(t *testing.T, db *database) *busy {
	t.Helper()
	const slots, each, batch, ahead = 10, 20 * time.Millisecond, 100, 1000
	b := &busy{t: t, hf: db.open(t, holdfast.WithSlots(slots))}
	register(t, b.hf, busyKind, func(run *holdfast.Run, n int) (int, error) {
		if n > 0 {
			b.began[n].Store(b.ran.Load())
		}
		linger(run, each)
		b.ran.Add(1)
		return 0, nil
	})
	work(t, b.hf)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for put := int64(0); ctx.Err() == nil; {
			if put-b.ran.Load() > ahead {
				linger(ctx, time.Millisecond)
				continue
			}
			if _, err := busyKind.EnqueueMany(ctx, b.hf, make([]int, batch)); err != nil && ctx.Err() == nil {
				t.Errorf("the producer: %v", err)
				return
			}
			put += batch
		}
	}()
	t.Cleanup(func() { stop(); <-done })
	b.until(slots)
	return b
}

// until waits until so many jobs have run.
func (b *busy) until(n int64) {
	b.t.Helper()
	if !comesTrue(2*patience, func() bool { return b.ran.Load() >= n }) {
		b.t.Fatalf("the node has run %d of %d jobs", b.ran.Load(), n)
	}
}

// TestCommitBehindABusyNode keeps transactions with an EnqueueTx, or an enqueue from SQL, open
// until a node has gone on by a thousand jobs and more of the same queue. Somebody's dump keeps the
// server from clearing away what was taken, of which there is much. After its commit the turn of
// each job is long past, and it starts soon: not only when there is nothing else to do.
func TestCommitBehindABusyNode(t *testing.T) {
	t.Parallel()
	const (
		taken = 300_000 // places of jobs that were taken while the dump went on
		late  = 8       // transactions
		open  = 1000    // jobs that go by before the first commits
		next  = 250     // and before each of the others does
		most  = 600     // that may go by between a commit and the start of its job
	)
	db := onPostgres(t)
	b := newBusy(t, db)
	dump := connect(t, db.url)
	if _, err := dump.Exec(t.Context(), "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1"); err != nil {
		t.Fatal(err)
	}
	p := pool(t, with(t, db.url, "pool_max_conns", "20"))
	// As if so many had been taken: nobody has seen them, and nobody can clear them away.
	execute(t, p, fmt.Sprintf(`BEGIN;
INSERT INTO holdfast.ready (lane, run_at, id)
SELECT l.id, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint - 1000000 + g, gen_random_uuid()
FROM holdfast.lane l, generate_series(1, %d) g;
DELETE FROM holdfast.ready WHERE xmin = pg_current_xact_id()::xid;
COMMIT`, taken))

	var txs [late + 1]pgx.Tx
	var committed [late + 1]int64
	first := b.ran.Load()
	for n := 1; n <= late; n++ {
		tx, err := p.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n%2 == 0 {
			_, err = tx.Exec(t.Context(), "SELECT holdfast.enqueue('busy', $1)", strconv.Itoa(n))
		} else {
			_, err = busyKind.EnqueueTx(t.Context(), b.hf, postgres.Tx(tx), n)
		}
		if err != nil {
			t.Fatal(err)
		}
		txs[n] = tx
	}
	for n := 1; n <= late; n++ {
		b.until(first + open + int64(n-1)*next)
		if err := txs[n].Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		committed[n] = b.ran.Load()
	}
	comesTrue(2*patience, func() bool {
		for n := 1; n <= late; n++ {
			if b.began[n].Load() == 0 && b.ran.Load() < committed[n]+most {
				return false
			}
		}
		return true
	})
	for n := 1; n <= late; n++ {
		switch began := b.began[n].Load(); {
		case began == 0:
			t.Errorf("job %d has not started %d jobs after its commit", n, b.ran.Load()-committed[n])
		case began-committed[n] > most:
			t.Errorf("job %d started %d jobs after its commit", n, began-committed[n])
		default:
			t.Logf("job %d started %d jobs after its commit", n, began-committed[n])
		}
	}
}
