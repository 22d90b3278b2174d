package limit_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/limit"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// BenchmarkKeyMemory drains jobs of 10,000 keys with a limit per key, or without, and tells how
// much of the heap was in use at the most after a collection, every thousand jobs. An operation is
// one job.
func BenchmarkKeyMemory(b *testing.B) {
	for name, source := range map[string]func(*testing.B) store.Source{
		"sqlite":   func(b *testing.B) store.Source { return sqlite.File(filepath.Join(b.TempDir(), "jobs.db")) },
		"postgres": func(b *testing.B) store.Source { return postgres.URL(pgtest.Shared(b).Database(b)) },
	} {
		for _, limited := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/limited=%t", name, limited), func(b *testing.B) {
				hf, err := holdfast.Open(b.Context(), source(b), holdfast.WithLogger(slog.New(slog.DiscardHandler)))
				if err != nil {
					b.Fatal(err)
				}
				defer hf.Close(context.WithoutCancel(b.Context()))
				if _, err := limit.Sync(b.Context(), hf, limit.New("account", limit.Capacity(2), limit.PerKey())); err != nil {
					b.Fatal(err)
				}
				peak := drainKeys(b, hf, limited)
				b.ReportMetric(float64(peak)/(1<<20), "peak-MiB")
			})
		}
	}
}

// drainKeys runs b.N jobs of 10,000 keys, and returns how much of the heap was in use.
func drainKeys(b *testing.B, hf *holdfast.Client, limited bool) uint64 {
	b.Helper()
	kind := holdfast.NewKind[int, struct{}]("drain")
	var done atomic.Int64
	var peak atomic.Uint64
	drained := make(chan struct{})
	err := kind.Handle(hf, func(*holdfast.Run, int) (struct{}, error) {
		n := done.Add(1)
		if n%1000 == 0 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			peak.Store(max(peak.Load(), m.HeapAlloc)) // they are a thousand jobs apart
		}
		if n == int64(b.N) {
			close(drained)
		}
		return struct{}{}, nil
	})
	if err != nil {
		b.Fatal(err)
	}
	for from := 0; from < b.N; from += 1000 {
		var items []holdfast.BatchItem
		for i := from; i < min(from+1000, b.N); i++ {
			var opts []holdfast.EnqueueOption
			if limited {
				opts = append(opts, limit.By("account", fmt.Sprint("key-", i%10_000)))
			}
			items = append(items, kind.Item(i, opts...))
		}
		if _, err := hf.EnqueueBatch(b.Context(), items); err != nil {
			b.Fatal(err)
		}
	}
	b.ResetTimer()
	go hf.Run(b.Context()) //nolint:errcheck // Stop ends it
	<-drained
	if err := hf.Stop(b.Context()); err != nil {
		b.Fatal(err)
	}
	return peak.Load()
}
