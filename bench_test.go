package holdfast_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/store/dsn"
)

// BenchmarkFlow takes durable functions from enqueue to result: as many callers as are at once, each of which enqueues one and waits for
// it. An operation is one function.
func BenchmarkFlow(b *testing.B) {
	kind := holdfast.NewKind[int, int]("flow")
	handle := func(run *holdfast.Run, steps int) (int, error) {
		for i := range steps {
			if _, err := holdfast.Step(run, "step", func(context.Context) (int, error) { return i, nil }); err != nil {
				return 0, err
			}
		}
		return steps, nil
	}
	databases := map[string]func(*testing.B) string{
		"sqlite":   func(b *testing.B) string { return filepath.Join(b.TempDir(), "bench.db") },
		"postgres": func(b *testing.B) string { return pgtest.Shared(b).Database(b) },
	}
	for name, database := range databases {
		for _, steps := range []int{0, 1, 10} {
			for _, atOnce := range []int{1, 64, 1000} {
				b.Run(fmt.Sprintf("%s/steps=%d/callers=%d", name, steps, atOnce), func(b *testing.B) {
					hf := bench(b, database(b), atOnce, func(hf *holdfast.Client) error { return kind.Handle(hf, handle) })
					inParallel(b, atOnce, func(ctx context.Context) error {
						job, err := kind.Enqueue(ctx, hf, steps)
						if err == nil {
							_, err = job.Wait(ctx)
						}
						return err
					})
				})
			}
		}
	}
}

// bench runs a node until the benchmark ends.
func bench(b *testing.B, database string, slots int, handle func(*holdfast.Client) error) *holdfast.Client {
	b.Helper()
	source, err := dsn.Parse(database)
	if err != nil {
		b.Fatal(err)
	}
	hf, err := holdfast.Open(b.Context(), source, holdfast.WithSlots(slots))
	if err != nil {
		b.Fatal(err)
	}
	if err := handle(hf); err != nil {
		b.Fatal(err)
	}
	ran := make(chan error, 1)
	go func() { ran <- hf.Run(context.Background()) }()
	b.Cleanup(func() {
		if err := hf.Close(context.Background()); err != nil {
			b.Error(err)
		}
		if err := <-ran; err != nil {
			b.Error(err)
		}
	})
	return hf
}

// inParallel calls f b.N times from several goroutines.
func inParallel(b *testing.B, atOnce int, f func(context.Context) error) {
	b.Helper()
	b.ReportAllocs()
	calls := make(chan struct{})
	var callers sync.WaitGroup
	for range atOnce {
		callers.Go(func() {
			for range calls {
				if err := f(b.Context()); err != nil {
					b.Error(err)
				}
			}
		})
	}
	b.ResetTimer()
	for range b.N {
		calls <- struct{}{}
	}
	close(calls)
	callers.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "op/s")
}
