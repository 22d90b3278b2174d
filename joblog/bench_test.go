package joblog_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/joblog"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// BenchmarkDrain runs jobs that log one line each, which is kept or not, or none. An operation is
// one job.
func BenchmarkDrain(b *testing.B) {
	for name, source := range map[string]func(*testing.B) store.Source{
		"sqlite":   func(b *testing.B) store.Source { return sqlite.File(filepath.Join(b.TempDir(), "jobs.db")) },
		"postgres": func(b *testing.B) store.Source { return postgres.URL(pgtest.Shared(b).Database(b)) },
	} {
		for _, c := range []struct {
			lines int
			opts  []holdfast.Option
		}{{0, nil}, {1, []holdfast.Option{joblog.Off()}}, {1, nil}} {
			b.Run(fmt.Sprintf("%s/lines=%d/kept=%t", name, c.lines, c.lines > 0 && c.opts == nil), func(b *testing.B) {
				opts := append([]holdfast.Option{holdfast.WithLogger(slog.New(slog.DiscardHandler))}, c.opts...)
				hf, err := holdfast.Open(b.Context(), source(b), opts...)
				if err != nil {
					b.Fatal(err)
				}
				defer hf.Close(context.WithoutCancel(b.Context()))
				drain(b, hf, c.lines)
			})
		}
	}
}

// drain runs b.N jobs, and stops when they have ended.
func drain(b *testing.B, hf *holdfast.Client, lines int) {
	b.Helper()
	kind := holdfast.NewTask[int]("drain")
	var done atomic.Int64
	drained := make(chan struct{})
	err := kind.Handle(hf, func(run *holdfast.Run, n int) error {
		for range lines {
			run.Logger(nil).Info("a job was worked", "number", n)
		}
		if done.Add(1) == int64(b.N) {
			close(drained)
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	for from := 0; from < b.N; from += 1000 {
		var items []holdfast.BatchItem
		for i := from; i < min(from+1000, b.N); i++ {
			items = append(items, kind.Item(i))
		}
		if _, err := hf.EnqueueBatch(b.Context(), items); err != nil {
			b.Fatal(err)
		}
	}
	b.ResetTimer()
	if err := hf.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	<-drained
	if err := hf.Stop(b.Context()); err != nil {
		b.Fatal(err)
	}
}
