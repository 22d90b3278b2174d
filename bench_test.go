package holdfast_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/dsn"
)

// databases returns an empty database of each sort.
var databases = map[string]func(*testing.B) string{
	"sqlite":   func(b *testing.B) string { return filepath.Join(b.TempDir(), "bench.db") },
	"postgres": func(b *testing.B) string { return pgtest.Shared(b).Database(b) },
}

// BenchmarkDrain runs jobs that were enqueued before. An operation is one job; the time ends when
// all outcomes are durable.
func BenchmarkDrain(b *testing.B) {
	kind := holdfast.NewKind[int, struct{}]("drain")
	for name, database := range databases {
		for _, slots := range []int{100, 1000} {
			b.Run(fmt.Sprintf("%s/slots=%d", name, slots), func(b *testing.B) {
				var left atomic.Int64
				left.Store(int64(b.N))
				drained := make(chan struct{})
				hf := openBench(b, database(b), slots)
				err := kind.Handle(hf, func(*holdfast.Run, int) (struct{}, error) {
					if left.Add(-1) == 0 {
						close(drained)
					}
					return struct{}{}, nil
				})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := kind.EnqueueMany(b.Context(), hf, make([]int, b.N)); err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				b.ResetTimer()
				runBench(b, hf)
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

// BenchmarkSteady enqueues jobs in batches of 1,000 while a node runs them, so that about 10,000
// are waiting. An operation is one job; the time ends when all outcomes are durable.
func BenchmarkSteady(b *testing.B) {
	const batch, waiting = 1000, 10_000
	kind := holdfast.NewKind[int, struct{}]("steady")
	for name, database := range databases {
		b.Run(name, func(b *testing.B) {
			var done atomic.Int64
			hf := openBench(b, database(b), 100)
			err := kind.Handle(hf, func(*holdfast.Run, int) (struct{}, error) {
				done.Add(1)
				return struct{}{}, nil
			})
			if err != nil {
				b.Fatal(err)
			}
			runBench(b, hf)
			b.ReportAllocs()
			b.ResetTimer()
			for stored := 0; done.Load() < int64(b.N); {
				if stored == b.N || int64(stored)-done.Load() > waiting-batch {
					time.Sleep(time.Millisecond) //nolint:forbidigo // the producer is ahead
					continue
				}
				n := min(batch, b.N-stored)
				if _, err := kind.EnqueueMany(b.Context(), hf, make([]int, n)); err != nil {
					b.Fatal(err)
				}
				stored += n
			}
			if err := hf.Stop(b.Context()); err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "op/s")
		})
	}
}

// BenchmarkFlow runs durable functions from enqueue to result, with concurrent callers that each
// enqueue one and wait for it. An operation is one function.
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
	for name, database := range databases {
		for _, steps := range []int{0, 1, 10} {
			for _, atOnce := range []int{1, 64, 1000} {
				b.Run(fmt.Sprintf("%s/steps=%d/callers=%d", name, steps, atOnce), func(b *testing.B) {
					hf := openBench(b, database(b), atOnce)
					if err := kind.Handle(hf, handle); err != nil {
						b.Fatal(err)
					}
					runBench(b, hf)
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

func openBench(b *testing.B, database string, slots int) *holdfast.Client {
	b.Helper()
	source, err := dsn.Parse(database)
	if err != nil {
		b.Fatal(err)
	}
	return openBenchSource(b, source, slots)
}

func openBenchSource(b *testing.B, source store.Source, slots int) *holdfast.Client {
	b.Helper()
	hf, err := holdfast.Open(b.Context(), source, holdfast.WithSlots(slots))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := hf.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	return hf
}

// runBench runs a node until it is stopped or the benchmark ends.
func runBench(b *testing.B, hf *holdfast.Client) {
	b.Helper()
	ran := make(chan error, 1)
	go func() { ran <- hf.Run(context.Background()) }()
	b.Cleanup(func() {
		if err := hf.Stop(context.Background()); err != nil {
			b.Error(err)
		}
		if err := <-ran; err != nil {
			b.Error(err)
		}
	})
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
