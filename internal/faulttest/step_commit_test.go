//go:build soak

package faulttest

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// TestStepTxThatEndsWhileItCommits runs 160 steps whose time limits end at about the time of their
// commit, which is on its way for a while then and arrives although nobody waits for it any more.
// Those that have not been lucky after many tries have all the time they need.
// Whatever the transaction has come to: each step's effect is there once, and each job finishes.
func TestStepTxThatEndsWhileItCommits(t *testing.T) {
	t.Parallel()
	const insert = "INSERT INTO ledger VALUES ($1, $2)"
	t.Run("pgx", func(t *testing.T) {
		t.Parallel()
		db := onPostgres(t)
		p := pool(t, with(t, slowCommits(t, db).url, "pool_max_conns", "20"))
		stepsThatEnd(t, db, postgres.Begin(p), func(ctx context.Context, tx pgx.Tx, job string, step int) error {
			_, err := tx.Exec(ctx, insert, job, step)
			return err
		})
	})
	t.Run("database/sql", func(t *testing.T) {
		t.Parallel()
		db := onPostgres(t)
		p := slowCommits(t, db).sqlDB(t)
		p.SetMaxIdleConns(20)
		stepsThatEnd(t, db, postgres.BeginSQL(p), func(ctx context.Context, tx *sql.Tx, job string, step int) error {
			_, err := tx.ExecContext(ctx, insert, job, step)
			return err
		})
	})
}

// slowCommits is the database with commits that are on their way for up to 30 ms.
func slowCommits(t *testing.T, db *database) *database {
	t.Helper()
	p := newProxy(t, db.url)
	upTo := draw(t)
	p.slow(func(data []byte, sent bool) time.Duration {
		if sent && bytes.Contains(data, []byte("commit")) {
			return upTo(30 * time.Millisecond)
		}
		return 0
	})
	return p.database()
}

// draw draws durations.
func draw(t *testing.T) (upTo func(time.Duration) time.Duration) {
	t.Helper()
	var mu sync.Mutex
	rnd := random(t)
	return func(d time.Duration) time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return time.Duration(rnd.Int64N(int64(d)))
	}
}

// pace is how long the parts of a step take on this machine, at this moment.
type pace struct {
	mu            sync.Mutex
	begins, lasts time.Duration // until the function begins, and from its end to that of the commit
}

// note corrects it by what one step has taken.
func (p *pace) note(part *time.Duration, took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*part = min((3**part+took)/4, time.Second)
}

// plan returns a time limit for a step, and how long before its end the function is to be done
// so that it ends at about the time of the commit.
func (p *pace) plan(upTo func(time.Duration) time.Duration) (limit, before time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return 20*time.Millisecond + 3*p.begins + 2*p.lasts, upTo(2 * p.lasts)
}

func stepsThatEnd[Tx any](
	t *testing.T, db *database, begin holdfast.Transactor[Tx], write func(ctx context.Context, tx Tx, job string, step int) error,
) {
	t.Helper()
	const jobs, steps, most = 16, 10, 400
	var tries atomic.Int64
	p := pool(t, db.url)
	execute(t, p, "CREATE TABLE ledger (job text NOT NULL, step int NOT NULL)")
	upTo := draw(t)
	usual := &pace{begins: 30 * time.Millisecond, lasts: 30 * time.Millisecond}
	hf := db.open(t)
	kind := holdfast.NewKind[int, int]("ledger")
	again := holdfast.Backoff(time.Millisecond, 5*time.Millisecond)
	// A step is tried again by the same run, which has to see what the try before has come to, and
	// by the next run.
	step := func(run *holdfast.Run, i int) error {
		limit, before := usual.plan(upTo)
		if tries.Load() > most {
			limit, before = time.Minute, time.Minute
		}
		var done time.Time
		_, err := holdfast.StepTx(run, fmt.Sprint("entry ", i), begin, func(ctx context.Context, tx Tx) (int, error) {
			tries.Add(1)
			if err := write(ctx, tx, run.ID().String(), i); err != nil {
				return 0, err
			}
			deadline, _ := ctx.Deadline()
			usual.note(&usual.begins, limit-time.Until(deadline))
			linger(ctx, time.Until(deadline)-before)
			done = time.Now()
			return i, nil
		}, holdfast.Timeout(limit), holdfast.MaxAttempts(3), again)
		switch {
		case !done.IsZero():
			usual.note(&usual.lasts, time.Since(done))
		case err != nil:
			usual.note(&usual.begins, 2*limit)
		}
		return err
	}
	register(t, hf, kind, func(run *holdfast.Run, _ int) (int, error) {
		for i := range steps {
			if err := step(run, i); err != nil {
				return 0, err
			}
		}
		return steps, nil
	}, holdfast.MaxAttempts(1000), again)
	work(t, hf)
	ids := make([]holdfast.ID, jobs)
	for i := range ids {
		ids[i] = enqueue(t, hf, kind, i).ID
	}
	over := func() bool {
		for _, id := range ids {
			if !get(t, hf, id).State.Finished() {
				return false
			}
		}
		return true
	}
	const long = 3 * patience
	comesTrue(long, over)
	for _, id := range ids {
		if r := get(t, hf, id); r.State != store.Completed {
			t.Errorf("not within %v: %s", long, told(r))
		}
	}
	if n := value[int](t, p, "SELECT count(*) FROM (SELECT FROM ledger GROUP BY job, step HAVING count(*) > 1) t"); n > 0 {
		t.Errorf("%d steps have written twice", n)
	}
	if n := value[int](t, p, "SELECT count(*) FROM ledger"); n != jobs*steps && !t.Failed() {
		t.Errorf("%d entries instead of %d", n, jobs*steps)
	}
}
