package holdfast_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// pools are the ways to a PostgreSQL database: by its URL, and through pools of the caller's.
var pools = []struct {
	name string
	open func(b *testing.B, url string) store.Source
}{
	{"url", func(_ *testing.B, url string) store.Source { return postgres.URL(url) }},
	{"pgxpool", func(b *testing.B, url string) store.Source {
		b.Helper()
		config, err := pgxpool.ParseConfig(url)
		if err != nil {
			b.Fatal(err)
		}
		config.MaxConns = 10
		pool, err := pgxpool.NewWithConfig(b.Context(), config)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(pool.Close)
		return postgres.Pool(pool)
	}},
	{"sql", func(b *testing.B, url string) store.Source { b.Helper(); return sqlSource(b, url, 10) }},
	{"sql-idle=2", func(b *testing.B, url string) store.Source { b.Helper(); return sqlSource(b, url, 2) }},
}

func sqlSource(b *testing.B, url string, idle int) store.Source {
	b.Helper()
	db, err := sql.Open("pgx", url)
	if err != nil {
		b.Fatal(err)
	}
	db.SetMaxOpenConns(10)
	db.SetMaxIdleConns(idle)
	b.Cleanup(func() { _ = db.Close() })
	return postgres.DB(db)
}

// BenchmarkPools runs durable functions of one step, from enqueue to result, through each kind of
// pool. An operation is one function.
func BenchmarkPools(b *testing.B) {
	kind := holdfast.NewKind[int, int]("flow")
	for _, atOnce := range []int{1, 64} {
		for _, pool := range pools {
			b.Run(fmt.Sprintf("callers=%d/%s", atOnce, pool.name), func(b *testing.B) {
				hf := openBenchSource(b, pool.open(b, pgtest.Shared(b).Database(b)), atOnce)
				err := kind.Handle(hf, func(run *holdfast.Run, n int) (int, error) {
					return holdfast.Step(run, "step", func(context.Context) (int, error) { return n, nil })
				})
				if err != nil {
					b.Fatal(err)
				}
				runBench(b, hf)
				inParallel(b, atOnce, func(ctx context.Context) error {
					job, err := kind.Enqueue(ctx, hf, 1)
					if err == nil {
						_, err = job.Wait(ctx)
					}
					return err
				})
			})
		}
	}
}
