package postgres_test

import (
	"context"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/storetest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, clock *storetest.Clock) store.Store {
		url, schema := pgtest.Shared(t).Schema(t)
		return open(t, postgres.Config{URL: url, SchemaName: schema, MaxConns: 4, Clock: clock.Now})
	})
}

// TestConformanceBehindPooler has a pool that keeps nothing of a session from one use of a connection to the next, as a
// pooler in transaction mode would.
func TestConformanceBehindPooler(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T, clock *storetest.Clock) store.Store {
		url, schema := pgtest.Shared(t).Schema(t)
		return open(t, postgres.Config{Pool: forgetfulPool(t, url), SchemaName: schema, NoSession: true, Clock: clock.Now})
	})
}

func forgetfulPool(t *testing.T, url string) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	config.MaxConns = 4
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	config.AfterRelease = func(conn *pgx.Conn) bool {
		_, err := conn.Exec(context.Background(), "DISCARD ALL")
		return err == nil
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}
