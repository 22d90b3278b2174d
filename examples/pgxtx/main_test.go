package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// count counts the rows of a table.
func count(t *testing.T, pool *pgxpool.Pool, table string) (n int) {
	t.Helper()
	if err := pool.QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestRun orders twice, and once something that the table does not take: then there is no job.
func TestRun(t *testing.T) {
	t.Parallel()
	url := pgtest.Shared(t).Database(t)
	for n, want := range []string{"lamp: parcel 1\nchair: parcel 2\n", "lamp: parcel 3\n"} {
		var out strings.Builder
		if err := run(t.Context(), &out, url, strings.Fields([]string{"lamp chair", "lamp"}[n])); err != nil || out.String() != want {
			t.Fatalf("%q, %v", out.String(), err)
		}
	}
	var out strings.Builder
	if err := run(t.Context(), &out, url, []string{"table", "", "bed"}); err == nil || out.String() != "table: parcel 4\n" {
		t.Fatalf("%q, %v", out.String(), err)
	}
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	for _, table := range []string{"orders", "parcels", "holdfast.job", "holdfast.finished"} {
		if n := count(t, pool, table); n != 4 {
			t.Errorf("%d rows in %s", n, table)
		}
	}
}

// TestOnce: an order that is rolled back leaves no job, and a handler that is called again after
// its step makes no second parcel.
func TestOnce(t *testing.T) {
	t.Parallel()
	pool, err := pgxpool.New(t.Context(), pgtest.Shared(t).Database(t))
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if _, err := pool.Exec(t.Context(), tables); err != nil {
		t.Fatal(err)
	}
	hf, err := holdfast.Open(t.Context(), postgres.Pool(pool))
	if err != nil {
		t.Fatal(err)
	}
	defer hf.Close(context.Background())
	s := &shop{pool, hf}
	var calls atomic.Int32
	err = Ship.Handle(hf, func(run *holdfast.Run, order int64) (int64, error) {
		parcel, err := s.ship(run, order)
		if calls.Add(1) < 3 {
			return 0, errors.Join(err, errors.New("the node dies here"))
		}
		return parcel, err
	}, holdfast.Backoff(time.Millisecond, time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	undone := errors.New("undone")
	err = pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		_, err := Ship.EnqueueTx(t.Context(), hf, postgres.Tx(tx), 7)
		return errors.Join(err, undone)
	})
	if page, listErr := hf.List(t.Context(), store.Filter{}, "", 10); listErr != nil || len(page.Jobs) != 0 || !errors.Is(err, undone) {
		t.Fatalf("%d jobs of a transaction that was rolled back (%v, %v)", len(page.Jobs), err, listErr)
	}
	ran := make(chan error, 1)
	go func() { ran <- hf.Run(context.Background()) }()
	job, err := s.buy(t.Context(), "lamp")
	if err != nil {
		t.Fatal(err)
	}
	if parcel, err := job.Wait(t.Context()); err != nil || parcel != 1 {
		t.Errorf("parcel %d, %v", parcel, err)
	}
	if n := count(t, pool, "parcels"); n != 1 || calls.Load() != 3 {
		t.Errorf("%d parcels after %d calls", n, calls.Load())
	}
	if err := errors.Join(hf.Stop(context.Background()), <-ran); err != nil {
		t.Error(err)
	}
}
