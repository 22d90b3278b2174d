package holdfast_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/pgtest/ready"
	"github.com/holdfastdev/holdfast/internal/sqlitetest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// callers is a test of what callers do in their own transactions, with a process that runs jobs and
// another one that does not.
type callers[Tx any] struct {
	t         *testing.T
	l         ledger[Tx]
	hf, other *holdfast.Client
	noted     []string // that have to be in the ledger, once
}

var (
	errNoCommit = errors.New("it is not to be committed")

	endsInTx  = holdfast.NewKind[string, string]("ends in a transaction")
	handsOver = holdfast.NewKind[string, string]("hands over")
	asksOver  = holdfast.NewKind[string, string]("asks one that hands over")
	stops     = holdfast.NewKind[string, string]("stops")
)

// in does something in a transaction, with a note, first in one that is rolled back, and then in
// one that is committed.
func (c *callers[Tx]) in(note string, unchanged func(), do func(tx store.Tx) error) {
	c.t.Helper()
	ctx := c.t.Context()
	both := func(last error) error {
		return c.l.db.Transact(ctx, func(tx Tx, wrapped store.Tx) error {
			if err := errors.Join(c.l.add(ctx, tx, note), do(wrapped)); err != nil {
				return err
			}
			return last
		})
	}
	if err := both(errNoCommit); !errors.Is(err, errNoCommit) {
		c.t.Fatalf("%s: %v", note, err)
	}
	unchanged()
	if err := both(nil); err != nil {
		c.t.Fatalf("%s: %v", note, err)
	}
	c.noted = append(c.noted, note)
}

// is expects the state of a job.
func (c *callers[Tx]) is(id holdfast.ID, want store.State) func() {
	return func() {
		c.t.Helper()
		if record, err := c.other.Get(c.t.Context(), id); err != nil || record.State != want {
			c.t.Errorf("the job is %v, not %v; %v", record.State, want, err)
		}
	}
}

// handle registers the handlers. Whatever ends a job in a transaction does so at the second try:
// the first one is rolled back.
func (c *callers[Tx]) handle() error {
	failed := map[holdfast.ID]bool{}
	return errors.Join(
		endsInTx.Handle(c.hf, func(run *holdfast.Run, how string) (string, error) {
			err := c.l.db.Transact(run, func(tx Tx, wrapped store.Tx) error {
				err := c.l.add(run, tx, how)
				if how == "fails" {
					err = errors.Join(err, run.FailTx(wrapped, errors.New(how)))
				} else {
					err = errors.Join(err, run.CompleteTx(wrapped, how))
				}
				if err == nil && run.Attempt() == 1 {
					return errNoCommit
				}
				return err
			})
			return "what it returns does not count", errors.Join(err, errors.New("nor does this"))
		}, holdfast.Backoff(time.Millisecond, time.Millisecond)),
		handsOver.Handle(c.hf, func(*holdfast.Run, string) (string, error) { return "", holdfast.HandOver(0) }),
		asksOver.Handle(c.hf, func(run *holdfast.Run, in string) (string, error) { return handsOver.Call(run, in) }),
		stops.Handle(c.hf, func(run *holdfast.Run, _ string) (string, error) {
			n, err := holdfast.Step(run, "once", func(context.Context) (string, error) {
				if failed[run.ID()] {
					return "", holdfast.Fail(errors.New("the step runs again"))
				}
				return "once", nil
			})
			if err == nil && !failed[run.ID()] {
				failed[run.ID()] = true
				return "", holdfast.Fail(errors.New("at first"))
			}
			return n, err
		}))
}

// ended returns how a job has ended, as the other process hears.
func (c *callers[Tx]) ended(id holdfast.ID) holdfast.Ended {
	c.t.Helper()
	ends, err := c.other.WaitAll(c.t.Context(), id)
	var failed *holdfast.JobError
	if err != nil && !errors.As(err, &failed) {
		c.t.Fatal(err)
	}
	return ends[0]
}

func enqueued[In, Out any](
	t *testing.T, hf *holdfast.Client, kind holdfast.Kind[In, Out], in In, opts ...holdfast.EnqueueOption,
) holdfast.ID {
	t.Helper()
	job, err := kind.Enqueue(t.Context(), hf, in, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return job.ID
}

// one is the error of an operation on one job.
func one(results []store.Result, err error) error {
	if err != nil {
		return err
	}
	return results[0].Err
}

func playCallers[Tx any](t *testing.T, source func() store.Source, l ledger[Tx]) {
	t.Helper()
	c := &callers[Tx]{t: t, l: l}
	for _, hf := range []**holdfast.Client{&c.hf, &c.other} {
		opened, err := holdfast.Open(t.Context(), source())
		if err != nil {
			t.Fatal(err)
		}
		defer opened.Close(context.WithoutCancel(t.Context()))
		*hf = opened
	}
	if err := c.handle(); err != nil {
		t.Fatal(err)
	}
	run(t, c.hf)
	c.handlers()
	c.finishers()
	c.operators()
	for _, note := range c.noted {
		if n := l.count(note); n != 1 {
			t.Errorf("%q was noted %d times", note, n)
		}
	}
}

// handlers: jobs end in their handlers' transactions.
func (c *callers[Tx]) handlers() {
	c.t.Helper()
	if end := c.ended(enqueued(c.t, c.other, endsInTx, "completes")); end.State != store.Completed || string(end.Result) != `"completes"` {
		c.t.Errorf("%+v", end)
	}
	if end := c.ended(enqueued(c.t, c.other, endsInTx, "fails")); end.State != store.Failed || end.Error != "fails" {
		c.t.Errorf("%+v", end)
	}
	c.noted = append(c.noted, "completes", "fails")
}

// finishers: jobs that were handed over are finished in transactions, by a process that does not
// run jobs; who waits hears of it, here and there, and so does a parent.
func (c *callers[Tx]) finishers() {
	c.t.Helper()
	ctx := c.t.Context()
	id := enqueued(c.t, c.other, handsOver, "x")
	handedOver(c.t, c.other, id)
	here := make(chan error, 1)
	go func() { here <- c.hf.Wait(ctx, id) }()
	c.in("completed from outside", c.is(id, store.Waiting), func(tx store.Tx) error {
		return handsOver.CompleteTx(ctx, c.other, tx, id, "outside")
	})
	if err := <-here; err != nil {
		c.t.Error(err)
	}
	if end := c.ended(id); string(end.Result) != `"outside"` {
		c.t.Errorf("%+v", end)
	}

	id = enqueued(c.t, c.other, handsOver, "x")
	handedOver(c.t, c.other, id)
	c.in("failed from outside", c.is(id, store.Waiting), func(tx store.Tx) error {
		return c.other.FailTx(ctx, tx, id, errors.New("from outside"))
	})
	if end := c.ended(id); end.State != store.Failed || end.Error != "from outside" {
		c.t.Errorf("%+v", end)
	}

	parent := enqueued(c.t, c.other, asksOver, "x")
	child := c.childOf(parent)
	handedOver(c.t, c.other, child)
	c.in("answered from outside", c.is(child, store.Waiting), func(tx store.Tx) error {
		return c.other.CompleteTx(ctx, tx, child, []byte(`"an answer"`))
	})
	if end := c.ended(parent); string(end.Result) != `"an answer"` {
		c.t.Errorf("the parent: %+v", end)
	}
}

func (c *callers[Tx]) childOf(parent holdfast.ID) (child holdfast.ID) {
	c.t.Helper()
	eventually(c.t, "a child", func() bool {
		page, err := c.other.List(c.t.Context(), store.Filter{Parent: parent}, "", 1)
		if err != nil {
			c.t.Fatal(err)
		}
		if len(page.Jobs) == 1 {
			child = page.Jobs[0].ID
		}
		return len(page.Jobs) == 1
	})
	return child
}

// operators: jobs are cancelled, and failed ones retried after the last step that succeeded.
func (c *callers[Tx]) operators() {
	c.t.Helper()
	ctx := c.t.Context()
	id := enqueued(c.t, c.other, handsOver, "x", holdfast.Delay(time.Hour))
	c.in("cancelled", c.is(id, store.Scheduled), func(tx store.Tx) error { return one(c.other.CancelTx(ctx, tx, "not needed", id)) })
	if end := c.ended(id); end.State != store.Cancelled || end.Error != "not needed" {
		c.t.Errorf("%+v", end)
	}
	id = enqueued(c.t, c.other, stops, "x")
	if end := c.ended(id); end.Error != "at first" {
		c.t.Errorf("%+v", end)
	}
	c.in("retried", c.is(id, store.Failed), func(tx store.Tx) error { return one(c.other.RetryTx(ctx, tx, "again", id)) })
	if end := c.ended(id); end.State != store.Completed || string(end.Result) != `"once"` {
		c.t.Errorf("%+v", end)
	}
}

func TestCallersOnSQLite(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"immediate", "deferred"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			file := sqlitetest.File(t)
			db, err := sql.Open("sqlite", "file:"+file+"?_txlock="+mode+"&_pragma=busy_timeout(10000)&_pragma=journal_mode(wal)")
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			playCallers(t, func() store.Source { return sqlite.File(file) },
				sqlLedger(t, db, sqlite.Begin(db), "INSERT INTO ledger VALUES (?)"))
		})
	}
}

func TestCallersOnPostgreSQL(t *testing.T) {
	t.Parallel()
	t.Run("database/sql", func(t *testing.T) {
		t.Parallel()
		url := ready.Database(t)
		db, err := sql.Open("pgx", url)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		playCallers(t, func() store.Source { return postgres.URL(url) },
			sqlLedger(t, db, postgres.BeginSQL(db), "INSERT INTO ledger VALUES ($1)"))
	})
	t.Run("pgx", func(t *testing.T) {
		t.Parallel()
		url := ready.Database(t)
		pool, err := pgxpool.New(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		defer pool.Close()
		playCallers(t, func() store.Source { return postgres.URL(url) }, pgxLedger(t, pool))
	})
}

func pgxLedger(t *testing.T, pool *pgxpool.Pool) ledger[pgx.Tx] {
	t.Helper()
	if _, err := pool.Exec(t.Context(), "CREATE TABLE ledger (note TEXT)"); err != nil {
		t.Fatal(err)
	}
	return ledger[pgx.Tx]{
		db: postgres.Begin(pool),
		add: func(ctx context.Context, tx pgx.Tx, note string) error {
			_, err := tx.Exec(ctx, "INSERT INTO ledger VALUES ($1)", note)
			return err
		},
		count: func(note string) (n int) {
			if err := pool.QueryRow(t.Context(), "SELECT count(*) FROM ledger WHERE note = $1", note).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		},
	}
}
