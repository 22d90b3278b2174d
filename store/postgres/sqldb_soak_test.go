//go:build soak

package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/storetest"
)

// TestConformanceThroughSQL: a store on a pool of database/sql keeps every promise. The statements
// are the same, but their values take another way, so it tells the stories that send each of them,
// and those of who is told of something.
func TestConformanceThroughSQL(t *testing.T) {
	t.Parallel()
	open := func(t *testing.T, clock *storetest.Clock) store.Store {
		config := used(t, clock.Now)
		return open(t, postgres.Config{DB: openSQL(t, config.URL, 4), SchemaName: config.SchemaName, Clock: clock.Now})
	}
	told, _ := stories(t)
	storetest.RunStories(t, open, told...)
	storetest.Run(t, open, storetest.AllBut("Told", "Race")...)
}

// TestLifeThroughSQL takes a job with everything through its life on pools of database/sql, in each
// of pgx's modes, and around a pool of pgx.
func TestLifeThroughSQL(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			source := fresh(t)
			db := openSQL(t, source.URL+"&default_query_exec_mode="+mode, 2)
			s := open(t, postgres.Config{DB: db, SchemaName: source.SchemaName})
			life(t, s)
			durableLife(t, s)
		})
	}
	t.Run("pool", func(t *testing.T) {
		t.Parallel()
		source := fresh(t)
		pool, err := pgxpool.New(t.Context(), source.URL)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(pool.Close)
		db := stdlib.OpenDBFromPool(pool)
		t.Cleanup(func() { _ = db.Close() })
		s := open(t, postgres.Config{DB: db, SchemaName: source.SchemaName})
		life(t, s)
		durableLife(t, s)
	})
}
