package events_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	_ "modernc.org/sqlite"

	"github.com/holdfastdev/holdfast/internal/pgtest/ready"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// ground is a database on which a storm takes place.
type ground struct {
	source store.Source
	// within calls f in a transaction of a caller, which commits late, or not at all.
	within func(ctx context.Context, f func(store.Tx) error) error
	late   time.Duration // how long a transaction stays open at the most
}

func onSQLite(t *testing.T) ground {
	file := filepath.Join(t.TempDir(), "jobs.db")
	return ground{sqlite.File(file), func(ctx context.Context, f func(store.Tx) error) error {
		db, err := sql.Open("sqlite", "file:"+file+"?_txlock=immediate&_pragma=busy_timeout(120000)")
		if err != nil {
			return err
		}
		defer db.Close()
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		if err := f(sqlite.Tx(tx)); err != nil {
			return errors.Join(err, tx.Rollback())
		}
		return tx.Commit()
	}, 10 * time.Millisecond} // it is the only writer meanwhile
}

func onPostgres(t *testing.T) ground {
	url := ready.Database(t)
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return ground{postgres.URL(url), func(ctx context.Context, f func(store.Tx) error) error {
		tx, err := pool.Begin(ctx)
		if err != nil {
			return err
		}
		if err := f(postgres.Tx(tx)); err != nil {
			return errors.Join(err, tx.Rollback(ctx))
		}
		return tx.Commit(ctx)
	}, 600 * time.Millisecond}
}
