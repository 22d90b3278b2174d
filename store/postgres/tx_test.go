package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// callers are the two kinds of transactions that a caller may have.
var callers = map[string]func(t *testing.T, url string) (tx store.Tx, commit, rollback func() error){
	"pgx": func(t *testing.T, url string) (store.Tx, func() error, func() error) {
		t.Helper()
		tx, err := connect(t, url).Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ctx := context.Background()
		return postgres.Tx(tx), func() error { return tx.Commit(ctx) }, func() error { return tx.Rollback(ctx) }
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
		return postgres.SQLTx(tx), tx.Commit, tx.Rollback
	},
}

func TestEnqueueTxHappensWithItsTransaction(t *testing.T) {
	t.Parallel()
	for name, begin := range callers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := fresh(t)
			s := open(t, config)
			w := watch(t, s)
			eventually(t, "wake-ups", func() bool { return s.Traits().Wakeups })
			holder := newJob(withKey("taken"))
			enqueue(t, s, holder)

			tx, commit, _ := begin(t, config.URL)
			plain, ordered := newJob(), newJob(func(q *store.Enqueue) { q.Job.OrderingKey, q.Job.Queue = "k", "ordered" })
			late := newJob(func(q *store.Enqueue) {
				q.Delay, q.Job.Tags, q.Job.Metadata = time.Hour, []string{"a"}, []byte(`{"a":1}`)
			})
			refused := newJob(withKey("taken"), func(q *store.Enqueue) { q.OnConflict = store.Reject })
			existing := newJob(withKey("taken"))
			replacing := newJob(withKey("taken"), func(q *store.Enqueue) { q.OnConflict, q.Job.Args = store.Replace, []byte("new") })
			invalid := newJob(func(q *store.Enqueue) { q.Job.Kind = "a\x00b" })
			jobs := []*store.Enqueue{plain, ordered, late, refused, existing, replacing, invalid}
			if err := s.EnqueueTx(t.Context(), tx, jobs); err != nil {
				t.Fatal(err)
			}
			wantErr(t, "a taken key", refused.Err, store.ErrConflict)
			wantErr(t, "a kind that is no text", invalid.Err, store.ErrInvalid)
			if plain.Result.State != store.Available || late.Result.State != store.Scheduled || existing.Result.ID != holder.Job.ID ||
				!replacing.Result.Replaced {
				t.Fatalf("results: %+v, %+v, %+v, %+v", plain.Result, late.Result, existing.Result, replacing.Result)
			}
			// The failures left the transaction usable, and a repeat finds what it has written.
			again := *plain
			if err := s.EnqueueTx(t.Context(), tx, []*store.Enqueue{&again}); err != nil || !again.Result.Existing {
				t.Fatalf("repeat: %+v, %v", again.Result, err)
			}
			if _, err := s.Get(t.Context(), plain.Job.ID); !errors.Is(err, store.ErrNotFound) {
				t.Fatalf("before the commit the job is there: %v", err)
			}
			if n := w.count(ofQueue("mail")); n != 0 {
				t.Fatalf("%d wake-ups before the commit", n)
			}
			if err := commit(); err != nil {
				t.Fatal(err)
			}
			wantState(t, s, plain.Job.ID, store.Available)
			wantState(t, s, ordered.Job.ID, store.Available)
			wantState(t, s, late.Job.ID, store.Scheduled)
			eventually(t, "this store hears of it too", func() bool { return w.count(ofQueue("mail")) >= 1 && w.count(ofQueue("ordered")) >= 1 })
			if record, err := s.Get(t.Context(), holder.Job.ID); err != nil || string(record.Args) != "new" {
				t.Fatalf("replaced job: %+v, %v", record, err)
			}

			tx, _, rollback := begin(t, config.URL)
			never := newJob(withKey("free"))
			if err := s.EnqueueTx(t.Context(), tx, []*store.Enqueue{never}); err != nil || never.Err != nil {
				t.Fatalf("%v, %v", err, never.Err)
			}
			if err := rollback(); err != nil {
				t.Fatal(err)
			}
			_, err := s.Get(t.Context(), never.Job.ID)
			wantErr(t, "a job that was rolled back", err, store.ErrNotFound)
			enqueue(t, s, newJob(withKey("free")))
		})
	}
}

func TestEnqueueTxOfAnotherStoreIsRefused(t *testing.T) {
	t.Parallel()
	s := open(t, fresh(t))
	for _, tx := range []store.Tx{nil, postgres.Tx(nil), postgres.SQLTx(nil)} {
		wantErr(t, "EnqueueTx", s.EnqueueTx(t.Context(), tx, []*store.Enqueue{newJob()}), store.ErrInvalid)
	}
}

// TestCallersPool: a pool of the caller's is neither drained, nor changed, nor closed.
func TestCallersPool(t *testing.T) {
	t.Parallel()
	source := fresh(t)
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
	wantErr(t, "Apply after Close", s.Apply(t.Context(), &store.Batch{Enqueues: []*store.Enqueue{newJob()}}), store.ErrClosed)
}

// TestOpenTransactionHoldsUpNobody: a unique key that an open transaction has taken makes enqueues of that key wait, and
// then fail alone.
func TestOpenTransactionHoldsUpNobody(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	s := open(t, config)
	tx, commit, _ := callers["pgx"](t, config.URL)
	first := newJob(withKey("k"))
	if err := s.EnqueueTx(t.Context(), tx, []*store.Enqueue{first}); err != nil {
		t.Fatal(err)
	}
	blocked, other, free := newJob(withKey("k")), newJob(), newJob(withKey("other"))
	if err := s.Apply(t.Context(), &store.Batch{Enqueues: []*store.Enqueue{other, blocked, free}}); err != nil {
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
