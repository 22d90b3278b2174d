package limit_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"

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
	for name, source := range map[string]func(*testing.B) store.Source{
		"sqlite":   func(b *testing.B) store.Source { return sqlite.File(filepath.Join(b.TempDir(), "jobs.db")) },
		"postgres": func(b *testing.B) store.Source { return postgres.URL(pgtest.Shared(b).Database(b)) },
	} {
		for _, limits := range []int{0, 100, 1000} {
			b.Run(fmt.Sprintf("%s/limits=%d", name, limits), func(b *testing.B) {
				kind := holdfast.NewKind[int, struct{}]("drain")
				var left atomic.Int64
				left.Store(int64(b.N))
				drained := make(chan struct{})
				hf, err := holdfast.Open(b.Context(), source(b), holdfast.WithLogger(slog.New(slog.DiscardHandler)))
				if err != nil {
					b.Fatal(err)
				}
				defer hf.Close(context.WithoutCancel(b.Context()))
				var list []limit.Limit
				for i := range limits {
					list = append(list, limit.OfQueue(fmt.Sprint("queue-", i), limit.Capacity(10000)))
				}
				if _, err := limit.Sync(b.Context(), hf, list...); err != nil {
					b.Fatal(err)
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
