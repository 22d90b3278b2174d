//go:build soak

package faulttest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// elsewhere is how long the jobs of a machine that has vanished may take to run elsewhere. It
// is far more than is promised, and far less than TCP takes to give up.
const elsewhere = 2 * time.Minute

// machine is a node behind a network of its own, with which it can vanish.
type machine struct {
	*node

	network *proxy
	pool    *pgxpool.Pool // of the program that runs there
}

// newMachine starts one, with the handlers that the function registers.
func newMachine(t *testing.T, db *database, handlers func(hf *holdfast.Client, p *pgxpool.Pool)) *machine {
	t.Helper()
	m := &machine{network: newProxy(t, db.url)}
	m.pool = pool(t, with(t, m.network.url, "pool_max_conns", "10"))
	hf := m.network.database().open(t, holdfast.WithLeases(clockBeat, clockDead))
	handlers(hf, m.pool)
	m.node = work(t, hf)
	t.Cleanup(func() { m.network.refuse(true) }) // so that what waits for the silence to end is told
	return m
}

// vanishAtCommit lets the machine vanish when a transaction of its own, one of the first so
// many, is about to commit: the server has all of the transaction but its end.
func (m *machine) vanishAtCommit(t *testing.T, amongFirst int) {
	t.Helper()
	left := 1 + random(t).IntN(amongFirst)
	t.Logf("it vanishes before commit %d", left)
	m.fails = true
	m.network.vanishBefore(func(sent []byte) bool {
		left -= commits(sent)
		return left <= 0
	})
}

// TestMachineThatVanishesInAStep lets a machine vanish inside of the transaction of a StepTx:
// its fence and its rows are locked by nobody who would ever tell. Its jobs run elsewhere all
// the same.
func TestMachineThatVanishesInAStep(t *testing.T) {
	t.Parallel()
	const jobs, steps = 20, 3
	db := onPostgres(t)
	people, p := db.open(t), pool(t, db.url)
	execute(t, p, "CREATE TABLE ledger (job text NOT NULL, step int NOT NULL)")
	kind := holdfast.NewKind[int, int]("ledger")
	handlers := func(hf *holdfast.Client, p *pgxpool.Pool) {
		register(t, hf, kind, func(run *holdfast.Run, _ int) (int, error) {
			for i := range steps {
				_, err := holdfast.StepTx(run, fmt.Sprint("entry ", i), postgres.Begin(p), func(ctx context.Context, tx pgx.Tx) (int, error) {
					_, err := tx.Exec(ctx, "INSERT INTO ledger VALUES ($1, $2)", run.ID().String(), i)
					return i, err
				})
				if err != nil {
					return 0, err
				}
			}
			return steps, nil
		}, holdfast.Backoff(10*time.Millisecond, 10*time.Millisecond))
	}
	m := newMachine(t, db, handlers)
	m.vanishAtCommit(t, jobs*steps/2)
	all, err := kind.EnqueueMany(t.Context(), people, make([]int, jobs))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the machine vanishes", m.network.vanished)

	other := db.open(t, holdfast.WithLeases(clockBeat, clockDead))
	handlers(other, p)
	work(t, other)
	limit := time.Now().Add(elsewhere)
	for _, job := range all {
		if endsWithin(t, time.Until(limit), people, job.ID, store.Completed); t.Failed() {
			return
		}
	}
	if n := value[int](t, p, "SELECT count(*) FROM (SELECT DISTINCT job, step FROM ledger) t"); n != jobs*steps {
		t.Errorf("%d of %d steps have written", n, jobs*steps)
	}
	if n := value[int](t, p, "SELECT count(*) FROM ledger"); n != jobs*steps {
		t.Errorf("%d steps have written %d times", jobs*steps, n)
	}
}

// TestMachineThatVanishesInATransaction does the same inside of transactions of Holdfast's own,
// in which jobs are taken from nodes.
func TestMachineThatVanishesInATransaction(t *testing.T) {
	t.Parallel()
	const victims = 8
	db := onPostgres(t)
	people := db.open(t)
	stays := holdfast.NewKind[int, int]("stays")
	running := make(chan holdfast.ID, 2*victims)
	m := newMachine(t, db, func(hf *holdfast.Client, _ *pgxpool.Pool) { staying(t, hf, stays, running, nil) })
	all, err := stays.EnqueueMany(t.Context(), people, make([]int, victims+1))
	if err != nil {
		t.Fatal(err)
	}
	for range all {
		receive(t, "the machine runs its jobs", running)
	}
	m.vanishAtCommit(t, victims)
	ctx, stop := context.WithCancel(t.Context())
	terminating := make(chan struct{})
	go func() {
		defer close(terminating)
		for _, job := range all[:victims] {
			if ctx.Err() == nil {
				_, _ = m.Terminate(ctx, "enough", job.ID) // one of them is never answered
			}
		}
	}()
	t.Cleanup(func() { stop(); <-terminating })
	eventually(t, "the machine vanishes", m.network.vanished)

	other := db.open(t, holdfast.WithLeases(clockBeat, clockDead))
	staying(t, other, stays, running, nil)
	work(t, other)
	limit := time.Now().Add(elsewhere)
	endsWithin(t, time.Until(limit), people, all[victims].ID, store.Completed)
	for _, job := range all[:victims] {
		// Those that it has not come to run again, too.
		if !comesTrue(time.Until(limit), func() bool { return get(t, people, job.ID).State.Finished() }) {
			t.Errorf("not within %v: %s", elsewhere, told(get(t, people, job.ID)))
		}
	}
}
