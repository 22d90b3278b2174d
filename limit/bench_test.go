package limit_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	zombiezen "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/limit"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// BenchmarkQueueLimits drains jobs of a hundred queues where so many queues have a limit of their
// own, which does not bind. An operation is one job.
func BenchmarkQueueLimits(b *testing.B) {
	type made func(b *testing.B) (source store.Source, limits func(n int))
	for name, open := range map[string]made{
		"sqlite": func(b *testing.B) (store.Source, func(int)) {
			path := filepath.Join(b.TempDir(), "jobs.db")
			return sqlite.File(path), func(n int) { limitsOfSQLite(b, path, n) }
		},
		"postgres": func(b *testing.B) (store.Source, func(int)) {
			url := pgtest.Shared(b).Database(b)
			return postgres.URL(url), func(n int) { limitsOfPostgres(b, url, n) }
		},
	} {
		for _, limits := range []int{0, 100, 1000, 20_000} {
			b.Run(fmt.Sprintf("%s/limits=%d", name, limits), func(b *testing.B) {
				kind := holdfast.NewKind[int, struct{}]("drain")
				var left atomic.Int64
				left.Store(int64(b.N))
				drained := make(chan struct{})
				source, fill := open(b)
				hf, err := holdfast.Open(b.Context(), source, holdfast.WithLogger(slog.New(slog.DiscardHandler)))
				if err != nil {
					b.Fatal(err)
				}
				defer hf.Close(context.WithoutCancel(b.Context()))
				if limits > 0 {
					if _, err := limit.Sync(b.Context(), hf, limit.OfQueue("queue-0", limit.Capacity(10000))); err != nil {
						b.Fatal(err)
					}
					fill(limits)
				}
				err = kind.Handle(hf, func(*holdfast.Run, int) (struct{}, error) {
					if left.Add(-1) == 0 {
						close(drained)
					}
					return struct{}{}, nil
				})
				if err != nil {
					b.Fatal(err)
				}
				items := make([]holdfast.BatchItem, b.N)
				for i := range items {
					items[i] = kind.Item(i, holdfast.Queue(fmt.Sprint("queue-", i%100)))
				}
				for len(items) > 0 {
					n := min(1000, len(items))
					if _, err := hf.EnqueueBatch(b.Context(), items[:n]); err != nil {
						b.Fatal(err)
					}
					items = items[n:]
				}
				b.ReportAllocs()
				b.ResetTimer()
				go hf.Run(b.Context()) //nolint:errcheck // Stop ends it
				<-drained
				if err := hf.Stop(b.Context()); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "op/s")
			})
		}
	}
}

// limitsOfSQLite makes limits of n queues like that of the first, which is there.
func limitsOfSQLite(b *testing.B, path string, n int) {
	b.Helper()
	conn, err := zombiezen.OpenConn(path)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	if err := sqlitex.ExecuteTransient(conn, `WITH RECURSIVE i (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < ? - 1)
		INSERT INTO holdfast_limit_rule (namespace, name, settings, capacity, version, created_at, updated_at)
		SELECT namespace, 'queue:queue-' || n, replace(settings, 'queue-0', 'queue-' || n), capacity, version, created_at, updated_at
		FROM holdfast_limit_rule, i`, &sqlitex.ExecOptions{Args: []any{n}}); err != nil {
		b.Fatal(err)
	}
}

// limitsOfPostgres is limitsOfSQLite.
func limitsOfPostgres(b *testing.B, url string, n int) {
	b.Helper()
	conn, err := pgx.Connect(b.Context(), url)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(b.Context()))
	if _, err := conn.Exec(b.Context(), `
		INSERT INTO holdfast.limit_rule (namespace, name, settings, capacity, version, created_at, updated_at)
		SELECT namespace, 'queue:queue-' || n, replace(settings, 'queue-0', 'queue-' || n), capacity, version, created_at, updated_at
		FROM holdfast.limit_rule, generate_series(1, $1 - 1) n`, n); err != nil {
		b.Fatal(err)
	}
}
