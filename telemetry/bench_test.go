package telemetry_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/sqlitetest"
	"github.com/holdfastdev/holdfast/store/sqlite"
	"github.com/holdfastdev/holdfast/telemetry"
)

// BenchmarkDrain runs jobs that were enqueued before, with a step each: without telemetry, with
// metrics, and with spans, of which none or all are recorded. An operation is one job.
func BenchmarkDrain(b *testing.B) {
	unsampled := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample()))
	sampled := sdktrace.NewTracerProvider()
	for _, with := range []struct {
		name string
		opts func() []holdfast.Option
	}{
		{"without", func() []holdfast.Option { return nil }},
		{"metrics", func() []holdfast.Option {
			return []holdfast.Option{telemetry.With(telemetry.Config{Meters: newMeasured().provider})}
		}},
		{"unsampled", func() []holdfast.Option {
			return []holdfast.Option{telemetry.With(telemetry.Config{Meters: newMeasured().provider, Tracers: unsampled})}
		}},
		{"sampled", func() []holdfast.Option {
			return []holdfast.Option{telemetry.With(telemetry.Config{Meters: newMeasured().provider, Tracers: sampled})}
		}},
	} {
		b.Run(with.name, func(b *testing.B) {
			kind := holdfast.NewKind[int, struct{}]("drain")
			var left atomic.Int64
			left.Store(int64(b.N))
			drained := make(chan struct{})
			hf, err := holdfast.Open(b.Context(), sqlite.File(sqlitetest.File(b)),
				append(with.opts(), holdfast.WithLogger(slog.New(slog.DiscardHandler)))...)
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = hf.Close(context.Background()) })
			err = kind.Handle(hf, func(run *holdfast.Run, n int) (struct{}, error) {
				if left.Add(-1) == 0 {
					close(drained)
				}
				_, err := holdfast.Step(run, "s", func(context.Context) (int, error) { return n, nil })
				return struct{}{}, err
			})
			if err != nil {
				b.Fatal(err)
			}
			if _, err := kind.EnqueueMany(b.Context(), hf, make([]int, b.N)); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.ResetTimer()
			if err := hf.Start(b.Context()); err != nil {
				b.Fatal(err)
			}
			<-drained
			if err := hf.Stop(b.Context()); err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "op/s")
			if h := hf.Health(); h.HooksDropped > 0 {
				b.ReportMetric(float64(h.HooksDropped)/float64(b.N), "dropped/op")
			}
		})
	}
}
