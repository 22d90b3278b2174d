package holdfast_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/pgtest/ready"
	"github.com/holdfastdev/holdfast/internal/sqlitetest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/sqlite"
	"github.com/holdfastdev/holdfast/store/storetest/faults"
)

// adds is a kind whose jobs receive as many numbers as their args say, and return their sum.
type adds struct {
	kind   holdfast.Kind[int, int]
	number holdfast.Signal[int]
}

func addsIn(t *testing.T, hf *holdfast.Client, opts ...holdfast.EnqueueOption) adds {
	t.Helper()
	a := adds{holdfast.NewKind[int, int]("adds", opts...), holdfast.NewSignal[int]("number")}
	err := a.kind.Handle(hf, func(run *holdfast.Run, n int) (sum int, err error) {
		for range n {
			v, err := a.number.Wait(run)
			if err != nil {
				return 0, err
			}
			sum += v
		}
		return sum, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestSendOrStart: the first signal starts the job, others join it until it has finished, and the
// next one starts another.
func TestSendOrStart(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		ctx := t.Context()
		a := addsIn(t, f.hf)
		f.run()
		send := func(wants, v int) holdfast.SendResult {
			t.Helper()
			sent, err := a.number.SendOrStart(ctx, f.hf, a.kind.Item(wants, holdfast.Key("k")), v)
			if err != nil {
				t.Fatal(err)
			}
			return sent
		}
		first := send(3, 100)
		if !first.Started || first.Differs || first.Duplicate {
			t.Errorf("the first: %+v", first)
		}
		synctest.Wait()
		if second := send(3, 20); second != (holdfast.SendResult{Job: first.Job, Message: second.Message}) || second.Message <= first.Message {
			t.Errorf("the second: %+v after %+v", second, first)
		}
		if third := send(1, 3); third != (holdfast.SendResult{Job: first.Job, Differs: true, Message: third.Message}) {
			t.Errorf("the third, with other args: %+v", third)
		}
		if sum, err := a.kind.Job(f.hf, first.Job).Wait(ctx); err != nil || sum != 123 {
			t.Errorf("%d, %v", sum, err)
		}
		next := send(1, 7)
		if !next.Started || next.Differs || next.Job == first.Job {
			t.Errorf("after its end: %+v", next)
		}
		if sum, err := a.kind.Job(f.hf, next.Job).Wait(ctx); err != nil || sum != 7 {
			t.Errorf("%d, %v", sum, err)
		}
	})
}

// TestSendOrStartInAStep: a run that sends gets one message there, however often the step is tried,
// if it names the id.
func TestSendOrStartInAStep(t *testing.T) {
	t.Parallel()
	inFlow(t, func(t *testing.T, f *flow) {
		a := addsIn(t, f.hf)
		job := begin(f, 0, func(run *holdfast.Run, _ int) (string, error) {
			id, err := holdfast.Step(run, "id", func(context.Context) (holdfast.ID, error) { return holdfast.NewID(), nil })
			if err != nil {
				return "", err
			}
			return holdfast.Step(run, "send", func(ctx context.Context) (string, error) {
				sent, err := a.number.SendOrStart(ctx, f.hf, a.kind.Item(2, holdfast.Key("k"), holdfast.JobID(id)), 1)
				if err == nil && !sent.Duplicate {
					err = errors.New("the program dies here")
				}
				return sent.Job.String(), err
			})
		})
		started := result(f, job)
		sent, err := a.number.SendOrStart(t.Context(), f.hf, a.kind.Item(2, holdfast.Key("k")), 10)
		if err != nil || sent.Job.String() != started {
			t.Fatalf("%+v, %v; want job %s", sent, err, started)
		}
		if sum, err := a.kind.Job(f.hf, sent.Job).Wait(t.Context()); err != nil || sum != 11 {
			t.Errorf("%d, %v", sum, err)
		}
	})
}

// TestSendOrStartUnavailable: who got no answer repeats it with the id, and the message is there
// once, also when the job has finished meanwhile.
func TestSendOrStartUnavailable(t *testing.T) {
	t.Parallel()
	for _, kind := range []faults.Kind{faults.FailBefore, faults.FailAfter} {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			inFlow(t, func(t *testing.T, f *flow) {
				ctx := t.Context()
				broken := faults.Wrap(f.st, func(c faults.Call) faults.Fault {
					if c.Op == "Apply" {
						return faults.Fault{Kind: kind}
					}
					return faults.Fault{}
				})
				a := addsIn(t, f.hf)
				f.run()
				hf, err := holdfast.Open(ctx, memorySource{broken})
				if err != nil {
					t.Fatal(err)
				}
				defer func() {
					if err := hf.Close(context.WithoutCancel(ctx)); err != nil {
						t.Error(err)
					}
				}()
				key := holdfast.Key("k")
				sent, err := a.number.SendOrStart(ctx, hf, a.kind.Item(1, key), 5)
				if !errors.Is(err, holdfast.ErrUnavailable) || sent.Job == (holdfast.ID{}) {
					t.Fatalf("%+v, %v", sent, err)
				}
				synctest.Wait() // what has arrived has been received
				broken.Plan(nil)
				again, err := a.number.SendOrStart(ctx, hf, a.kind.Item(1, key, holdfast.JobID(sent.Job)), 5)
				arrived := kind == faults.FailAfter
				if err != nil || again.Job != sent.Job || again.Duplicate != arrived || again.Started == arrived {
					t.Errorf("%+v, %v", again, err)
				}
				if sum, err := a.kind.Job(hf, sent.Job).Wait(ctx); err != nil || sum != 5 {
					t.Errorf("%d, %v", sum, err)
				}
				page, err := hf.List(ctx, store.Filter{}, "", 10)
				if err != nil || len(page.Jobs) != 1 {
					t.Errorf("%d jobs, %v", len(page.Jobs), err)
				}
			})
		})
	}
}

// transacted is a database in which the caller has transactions.
type transacted struct {
	source store.Source
	begin  func() (tx store.Tx, end func(commit bool) error)
}

func sqliteTransacted(t *testing.T) transacted {
	t.Helper()
	file := sqlitetest.File(t)
	db, err := sql.Open("sqlite", "file:"+file+"?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=journal_mode(wal)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return transacted{sqlite.File(file), func() (store.Tx, func(bool) error) {
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return sqlite.Tx(tx), func(commit bool) error {
			if commit {
				return tx.Commit()
			}
			return tx.Rollback()
		}
	}}
}

func postgresTransacted(t *testing.T) transacted {
	t.Helper()
	url := ready.Database(t)
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return transacted{postgres.URL(url), func() (store.Tx, func(bool) error) {
		tx, err := pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return postgres.Tx(tx), func(commit bool) error {
			if commit {
				return tx.Commit(context.WithoutCancel(t.Context()))
			}
			return tx.Rollback(context.WithoutCancel(t.Context()))
		}
	}}
}

// TestKeyInTransactions: what a caller's transaction does with a key happens if and when it
// commits.
func TestKeyInTransactions(t *testing.T) {
	t.Parallel()
	for name, database := range map[string]func(*testing.T) transacted{"sqlite": sqliteTransacted, "postgres": postgresTransacted} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := database(t)
			ctx := t.Context()
			hf, err := holdfast.Open(ctx, db.source)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := hf.Close(context.WithoutCancel(ctx)); err != nil {
					t.Error(err)
				}
			})
			a := addsIn(t, hf)
			run(t, hf)
			in := func(commit bool, do func(tx store.Tx) error) {
				t.Helper()
				tx, end := db.begin()
				if err := errors.Join(do(tx), end(commit)); err != nil {
					t.Fatal(err)
				}
			}
			enqueued, sent := (*holdfast.Job[int])(nil), holdfast.SendResult{}
			enqueue := func(tx store.Tx) (err error) {
				enqueued, err = a.kind.EnqueueTx(ctx, hf, tx, 2, holdfast.Key("enqueued"))
				return err
			}
			send := func(v int) func(tx store.Tx) error {
				return func(tx store.Tx) (err error) {
					sent, err = a.number.SendOrStartTx(ctx, hf, tx, a.kind.Item(2, holdfast.Key("sent")), v)
					return err
				}
			}
			in(false, enqueue)
			in(false, send(1))
			for _, key := range []string{"enqueued", "sent"} {
				if job, err := a.kind.Find(ctx, hf, key); !errors.Is(err, holdfast.ErrNotFound) {
					t.Errorf("%s is rolled back, but held by %v, %v", key, job, err)
				}
			}
			if page, err := hf.List(ctx, store.Filter{}, "", 10); err != nil || len(page.Jobs) != 0 {
				t.Errorf("%d jobs remain of what is rolled back, %v", len(page.Jobs), err)
			}

			in(true, enqueue)
			if job, err := a.kind.Find(ctx, hf, "enqueued"); err != nil || job.ID != enqueued.ID {
				t.Errorf("%v, %v; want %s", job, err, enqueued.ID)
			}
			in(true, send(10))
			started := sent
			in(false, send(200))
			in(true, send(3))
			if !started.Started || sent.Started || sent.Job != started.Job {
				t.Errorf("%+v, then %+v", started, sent)
			}
			if sum, err := a.kind.Job(hf, started.Job).Wait(ctx); err != nil || sum != 13 {
				t.Errorf("%d, %v; want 13, without what was rolled back", sum, err)
			}
		})
	}
}

// TestSendOrStartKept: a key that a finished job keeps takes no signal, in a transaction too, and
// nothing has happened.
func TestSendOrStartKept(t *testing.T) {
	t.Parallel()
	for name, database := range map[string]func(*testing.T) transacted{"sqlite": sqliteTransacted, "postgres": postgresTransacted} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := database(t)
			ctx := t.Context()
			hf, err := holdfast.Open(ctx, db.source)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := hf.Close(context.WithoutCancel(ctx)); err != nil {
					t.Error(err)
				}
			})
			a := addsIn(t, hf, holdfast.KeepKey(time.Hour))
			run(t, hf)
			item := a.kind.Item(1, holdfast.Key("k"))
			first, err := a.number.SendOrStart(ctx, hf, item, 1)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := a.kind.Job(hf, first.Job).Wait(ctx); err != nil {
				t.Fatal(err)
			}
			_, err = a.number.SendOrStart(ctx, hf, item, 2)
			tx, end := db.begin()
			sent, txErr := a.number.SendOrStartTx(ctx, hf, tx, item, 3)
			if err := end(true); err != nil {
				t.Error(err)
			}
			for _, err := range []error{err, txErr} {
				if !errors.Is(err, holdfast.ErrConflict) {
					t.Errorf("%+v, %v", sent, err)
				}
			}
			journal, err := hf.Journal(ctx, first.Job)
			if err != nil || len(journal.Messages) != 1 {
				t.Errorf("%d messages, %v", len(journal.Messages), err)
			}
			page, err := hf.List(ctx, store.Filter{}, "", 10)
			if err != nil || len(page.Jobs) != 1 {
				t.Errorf("%d jobs, %v", len(page.Jobs), err)
			}
		})
	}
}
