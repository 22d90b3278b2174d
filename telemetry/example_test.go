package telemetry_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store/sqlite"
	"github.com/holdfastdev/holdfast/telemetry"
)

// A program chooses where its metrics and spans go; here they stay in memory.
func Example() {
	ctx := context.Background()
	reader, spans := metric.NewManualReader(), tracetest.NewSpanRecorder()
	hf, err := holdfast.Open(ctx, sqlite.File(sqlite.Memory), holdfast.WithLogger(slog.New(slog.DiscardHandler)),
		telemetry.With(telemetry.Config{
			Meters:  metric.NewMeterProvider(metric.WithReader(reader)),
			Tracers: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)),
		}))
	if err != nil {
		log.Fatal(err)
	}
	greet := holdfast.NewTask[string]("greet")
	err = greet.Handle(hf, func(run *holdfast.Run, name string) error {
		_, err := holdfast.Step(run, "say", func(context.Context) (string, error) { return "hello " + name, nil })
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := hf.Start(ctx); err != nil {
		log.Fatal(err)
	}
	for _, name := range []string{"ada", "grace"} {
		job, err := greet.Enqueue(ctx, hf, name)
		if err != nil {
			log.Fatal(err)
		}
		if err := greet.Wait(ctx, hf, job.ID); err != nil {
			log.Fatal(err)
		}
	}
	if err := hf.Close(ctx); err != nil { // which counts what is left
		log.Fatal(err)
	}

	var all metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &all); err != nil {
		log.Fatal(err)
	}
	for _, m := range all.ScopeMetrics[0].Metrics {
		if sum, ok := m.Data.(metricdata.Sum[int64]); ok && m.Name == "holdfast.jobs.finished" {
			outcome, _ := sum.DataPoints[0].Attributes.Value("outcome")
			fmt.Println(m.Name, sum.DataPoints[0].Value, outcome.AsString())
		}
	}
	names := map[string]int{}
	for _, span := range spans.Ended() {
		names[span.Name()]++
	}
	fmt.Println(names["greet enqueue"], names["greet run"], names["step say"])
	// Output:
	// holdfast.jobs.finished 2 completed
	// 2 2 2
}
