package limit_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/internal/pgtest/ready"
	"github.com/holdfastdev/holdfast/limit"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// gates holds the calls of a store up.
type gates struct {
	store.Source

	apply, count atomic.Pointer[chan struct{}] // until it is closed; nil: not
	applies      atomic.Int64                  // calls that have begun
	counts       atomic.Int64
}

type gated struct {
	store.Store
	by *gates
}

func (g *gates) Open(ctx context.Context) (store.Store, error) {
	st, err := g.Source.Open(ctx)
	return gated{st, g}, err
}

func pass(ctx context.Context, gate *atomic.Pointer[chan struct{}]) {
	if held := gate.Load(); held != nil {
		select {
		case <-*held:
		case <-ctx.Done():
		}
	}
}

func hold(gate *atomic.Pointer[chan struct{}]) (release func()) {
	held := make(chan struct{})
	gate.Store(&held)
	return func() { close(held); gate.Store(nil) }
}

func (s gated) Apply(ctx context.Context, b *store.Batch) error {
	s.by.applies.Add(1)
	pass(ctx, &s.by.apply)
	return s.Store.Apply(ctx, b)
}

func (s gated) Count(ctx context.Context, p store.CountParams) (store.Counted, error) {
	s.by.counts.Add(1)
	pass(ctx, &s.by.count)
	return s.Store.Count(ctx, p)
}

// TestBacklogHeedsContexts: nobody waits for a count of another one for longer than he has time.
func TestBacklogHeedsContexts(t *testing.T) {
	t.Parallel()
	g := &gates{Source: sqlite.File(filepath.Join(t.TempDir(), "jobs.db"))}
	hf := open(t, g, limit.Backlog("default", 10))
	release := hold(&g.count)
	var first sync.WaitGroup
	first.Go(func() {
		if _, err := light.Enqueue(t.Context(), hf, 0); err != nil {
			t.Error(err)
		}
	})
	defer first.Wait()
	defer release()
	eventually(t, "it is counted", func() bool { return g.counts.Load() == 1 })
	gone, give := context.WithCancel(t.Context())
	give()
	ended := make(chan error, 1)
	go func() {
		_, err := light.Enqueue(gone, hf, 0)
		ended <- err
	}()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) || !errors.Is(err, store.ErrUnavailable) {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("an enqueue whose context has ended waits for a count")
	}
}

// TestBacklogInTransactions: an enqueue in a transaction of the caller does not wait for room,
// which nobody could make who waits for the transaction.
func TestBacklogInTransactions(t *testing.T) {
	t.Parallel()
	test := func(t *testing.T, source store.Source, begin func(ctx context.Context) (*sql.Tx, store.Tx)) {
		g := &gates{Source: source}
		hf := open(t, g, limit.BacklogWait("default", 1))
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		stop := holdfast.NewSignal[int]("stop")
		tx, wrapped := begin(ctx)
		if _, err := light.EnqueueTx(ctx, hf, wrapped, 0); err != nil {
			t.Fatal(err)
		}
		release := hold(&g.count) // the next count would not see what is not committed
		for what, enqueue := range map[string]func() error{
			"EnqueueTx": func() error { _, err := light.EnqueueTx(ctx, hf, wrapped, 0); return err },
			"EnqueueBatchTx": func() error {
				_, err := hf.EnqueueBatchTx(ctx, wrapped, []holdfast.BatchItem{light.Item(0)})
				return err
			},
			"SendOrStartTx": func() error {
				_, err := stop.SendOrStartTx(ctx, hf, wrapped, light.Item(0, holdfast.Key("k")), 1)
				return err
			},
		} {
			err := enqueue()
			full, ok := errors.AsType[*limit.BacklogError](err)
			if !ok || full.Cause != nil || full.Waiting != 1 {
				t.Errorf("%s: %v", what, err)
			}
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		release()
		gone, give := context.WithTimeout(t.Context(), time.Millisecond)
		defer give()
		if _, err := light.Enqueue(gone, hf, 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("one without a transaction, which waits: %v", err)
		}
	}
	on := func(t *testing.T, driver, name string, wrap func(*sql.Tx) store.Tx) func(context.Context) (*sql.Tx, store.Tx) {
		db, err := sql.Open(driver, name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		return func(ctx context.Context) (*sql.Tx, store.Tx) {
			tx, err := db.BeginTx(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = tx.Rollback() })
			return tx, wrap(tx)
		}
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "jobs.db")
		test(t, sqlite.File(file), on(t, "sqlite", "file:"+file+"?_txlock=immediate", func(tx *sql.Tx) store.Tx { return sqlite.Tx(tx) }))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		pgtest.InSoak(t)
		url := ready.Database(t)
		test(t, postgres.URL(url), on(t, "pgx", url, postgres.SQLTx))
	})
}

// TestBacklogInTransactionsOfItsPool: transactions that hold all connections of a pool, which is
// that of the client as well, do not wait for a count, which would need one.
func TestBacklogInTransactionsOfItsPool(t *testing.T) {
	t.Parallel()
	config, err := pgxpool.ParseConfig(ready.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	config.MaxConns = 4
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	hf := open(t, postgres.Pool(pool), limit.Backlog("default", 1))
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var all []pgx.Tx
	for range config.MaxConns {
		tx, err := pool.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, tx)
	}
	if _, err := light.EnqueueTx(ctx, hf, postgres.Tx(all[0]), 0); err != nil {
		t.Error(err)
	}
	if _, err := light.EnqueueTx(ctx, hf, postgres.Tx(all[1]), 0); !errors.Is(err, store.ErrConflict) {
		t.Error(err)
	}
	for _, tx := range all {
		if err := tx.Rollback(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
