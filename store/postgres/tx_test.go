package postgres_test

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/storetest"
)

// callers are the two kinds of transactions that a caller may have. When one commits it has the
// settings with which it began.
var callers = map[string]func(t *testing.T, url string) (tx store.Tx, commit, rollback func() error){
	"pgx": func(t *testing.T, url string) (store.Tx, func() error, func() error) {
		t.Helper()
		tx, err := connect(t, url).Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ctx := context.Background()
		unchanged := unchanged(t, func(text *string) error { return tx.QueryRow(ctx, settings).Scan(text) })
		return postgres.Tx(tx), func() error { return cmp.Or(unchanged(), tx.Commit(ctx)) }, func() error { return tx.Rollback(ctx) }
	},
	"database/sql": func(t *testing.T, url string) (store.Tx, func() error, func() error) {
		t.Helper()
		db, err := sql.Open("pgx", url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		unchanged := unchanged(t, func(text *string) error { return tx.QueryRowContext(context.Background(), settings).Scan(text) })
		return postgres.SQLTx(tx), func() error { return cmp.Or(unchanged(), tx.Commit()) }, tx.Rollback
	},
}

// settings are those of a transaction that are not those of its session, but for how long it may be
// silent, which an append bounds.
const settings = `SELECT coalesce(string_agg(name || ' = ' || setting, ', ' ORDER BY name), '') FROM pg_settings
	WHERE source = 'session' AND setting IS DISTINCT FROM reset_val AND name <> 'idle_in_transaction_session_timeout'`

// unchanged returns a check that the settings are those of now, which is the commit's error else.
func unchanged(t *testing.T, look func(*string) error) func() error {
	t.Helper()
	var before string
	if err := look(&before); err != nil {
		t.Fatal(err)
	}
	return func() error {
		var after string
		if err := look(&after); err == nil && after != before {
			return fmt.Errorf("the caller's transaction has the settings %q, and had %q", after, before)
		}
		return nil // a failed transaction cannot be asked, and its commit tells
	}
}

func TestCallersTransactions(t *testing.T) {
	t.Parallel()
	callersTransactions(t, "pgx")
}

func callersTransactions(t *testing.T, name string) {
	t.Helper()
	begin := callers[name]
	storetest.RunTx(t, func(t *testing.T, clock *storetest.Clock) (store.Store, func(*testing.T) storetest.Tx) {
		config := used(t, clock.Now)
		config.Clock = clock.Now
		return open(t, config), func(t *testing.T) storetest.Tx {
			tx, commit, rollback := begin(t, config.URL)
			return storetest.Tx{Tx: tx, Commit: commit, Rollback: rollback}
		}
	})
}

// TestEnqueueTxWakesAtItsCommit: the store hears of it like everybody else.
func TestEnqueueTxWakesAtItsCommit(t *testing.T) {
	t.Parallel()
	for name, begin := range callers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := used(t, nil)
			s := open(t, config)
			w := watch(t, s)
			eventually(t, "wake-ups", func() bool { return s.Traits().Wakeups })
			tx, commit, _ := begin(t, config.URL)
			ordered := newJob(func(q *store.Enqueue) { q.Job.OrderingKey, q.Job.Queue = "k", "ordered" })
			if err := s.EnqueueTx(t.Context(), tx, []*store.Enqueue{newJob(), ordered}); err != nil {
				t.Fatal(err)
			}
			if n := w.count(ofQueue("mail")); n != 0 {
				t.Fatalf("%d wake-ups before the commit", n)
			}
			if err := commit(); err != nil {
				t.Fatal(err)
			}
			eventually(t, "this store hears of it too", func() bool { return w.count(ofQueue("mail")) >= 1 && w.count(ofQueue("ordered")) >= 1 })
		})
	}
}

func TestEnqueueTxOfAnotherStoreIsRefused(t *testing.T) {
	t.Parallel()
	s := open(t, used(t, nil))
	for _, tx := range []store.Tx{nil, postgres.Tx(nil), postgres.SQLTx(nil)} {
		wantErr(t, "EnqueueTx", s.EnqueueTx(t.Context(), tx, []*store.Enqueue{newJob()}), store.ErrInvalid)
	}
}

// TestAbortedTransaction: nothing can be done any more in a transaction in which a statement has
// failed, and the error says so, instead of to repeat it.
func TestAbortedTransaction(t *testing.T) {
	t.Parallel()
	config := used(t, nil)
	s := open(t, config)
	pgxTx, err := connect(t, config.URL).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("pgx", config.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	sqlTx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, failed := pgxTx.Exec(t.Context(), "SELECT 1/0")
	_, alsoFailed := sqlTx.ExecContext(t.Context(), "SELECT 1/0")
	if failed == nil || alsoFailed == nil {
		t.Fatal("the transactions have not failed")
	}
	for name, tx := range map[string]store.Tx{"pgx": postgres.Tx(pgxTx), "database/sql": postgres.SQLTx(sqlTx)} {
		_, cancelled := s.CancelTx(t.Context(), tx, store.CancelParams{Jobs: []store.ID{newJob().Job.ID}})
		for op, err := range map[string]error{
			"EnqueueTx": s.EnqueueTx(t.Context(), tx, []*store.Enqueue{newJob()}), "CancelTx": cancelled,
		} {
			wantErr(t, name+" "+op, err, store.ErrInvalid)
			if errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "your transaction is aborted; roll it back and begin again") {
				t.Errorf("%s: %s: %v", name, op, err)
			}
		}
	}
	if err := errors.Join(pgxTx.Rollback(t.Context()), sqlTx.Rollback()); err != nil {
		t.Error(err)
	}
}

// TestCallersPool: a pool of the caller's is neither drained, nor changed, nor closed.
func TestCallersPool(t *testing.T) {
	t.Parallel()
	source := used(t, nil)
	config, err := pgxpool.ParseConfig(source.URL)
	if err != nil {
		t.Fatal(err)
	}
	config.MaxConns = 1
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	s := open(t, postgres.Config{Pool: pool, SchemaName: source.SchemaName})
	w := watch(t, s)
	eventually(t, "wake-ups beside the pool", func() bool { return s.Traits().Wakeups })

	// The only connection is in the caller's transaction, and the lane has to be made.
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	q := newJob()
	if err := s.EnqueueTx(t.Context(), postgres.Tx(tx), []*store.Enqueue{q}); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a wake-up", func() bool { return w.count(ofQueue("mail")) == 1 })
	if runs, err := s.Claim(t.Context(), demand(join(t, s), 1, 10)); err != nil || len(runs) != 1 {
		t.Fatalf("claimed %d, %v", len(runs), err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for setting, want := range map[string]string{"enable_seqscan": "on", "plan_cache_mode": "auto", "lock_timeout": "0"} {
		var got string
		if err := pool.QueryRow(t.Context(), "SELECT current_setting($1)", setting).Scan(&got); err != nil || got != want {
			t.Fatalf("%s of the caller's connection is %q (%v)", setting, got, err)
		}
	}
	wantErr(t, "Apply after Close", store.ApplyEach(t.Context(), s, &store.Batch{Enqueues: []*store.Enqueue{newJob()}}), store.ErrClosed)
}

// TestOpenTransactionHoldsUpNobody: a unique key that an open transaction has taken makes enqueues
// of that key wait, and then fail alone.
func TestOpenTransactionHoldsUpNobody(t *testing.T) {
	t.Parallel()
	config := used(t, nil)
	s := open(t, config)
	tx, commit, _ := callers["pgx"](t, config.URL)
	first := newJob(withKey("k"))
	if err := s.EnqueueTx(t.Context(), tx, []*store.Enqueue{first}); err != nil {
		t.Fatal(err)
	}
	blocked, other, free := newJob(withKey("k")), newJob(), newJob(withKey("other"))
	if err := store.ApplyEach(t.Context(), s, &store.Batch{Enqueues: []*store.Enqueue{other, blocked, free}}); err != nil {
		t.Fatal(err)
	}
	wantErr(t, "the enqueue of the same key", blocked.Err, store.ErrUnavailable)
	wantState(t, s, other.Job.ID, store.Available)
	wantState(t, s, free.Job.ID, store.Available)
	if err := commit(); err != nil {
		t.Fatal(err)
	}
	enqueue(t, s, blocked)
	if blocked.Result.ID != first.Job.ID {
		t.Fatalf("result: %+v", blocked.Result)
	}
}

// TestIsolation: a transaction that sees what was there when it began would take a job that has
// ended for one that can be sent to, and a lease that was lost for one that lives. Steps begin
// another one, whatever is the default.
func TestIsolation(t *testing.T) {
	t.Parallel()
	config := used(t, nil)
	st := open(t, config)
	job := newJob()
	enqueue(t, st, job)
	for _, level := range []pgx.TxIsoLevel{pgx.ReadUncommitted, pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable} {
		tx, err := connect(t, config.URL).BeginTx(t.Context(), pgx.TxOptions{IsoLevel: level})
		if err != nil {
			t.Fatal(err)
		}
		send := &store.Send{Job: job.Job.ID, Message: store.Message{Kind: store.MessageSignal, Name: "s"}}
		err = st.SendTx(t.Context(), postgres.Tx(tx), []*store.Send{send})
		fits := level == pgx.ReadUncommitted || level == pgx.ReadCommitted
		if fits && err != nil || !fits && !errors.Is(err, store.ErrInvalid) {
			t.Errorf("SendTx at %s: %v", level, err)
		}
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	pool, err := pgxpool.New(t.Context(), config.URL+"&default_transaction_isolation=serializable")
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	err = postgres.Begin(pool).Transact(t.Context(), func(tx pgx.Tx, _ store.Tx) error {
		var level string
		if err := tx.QueryRow(t.Context(), "SELECT current_setting('transaction_isolation')").Scan(&level); err != nil {
			return err
		}
		if level != "read committed" {
			t.Errorf("a step begins a transaction at %s", level)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
