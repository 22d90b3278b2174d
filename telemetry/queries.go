package telemetry

import (
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/holdfastdev/holdfast/internal/metrics"
	"github.com/holdfastdev/holdfast/internal/timed"
)

// queried returns what is told how long calls of the store take. Its labels are made here, once, so
// that a call makes nothing.
func (t *telemetry) queried() func(op timed.Operation, took time.Duration) {
	var labels [timed.Operations][]metric.RecordOption
	for op := range labels {
		labels[op] = []metric.RecordOption{t.labels.of(metrics.QueryTime, timed.Operation(op).String())}
	}
	times, ctx := t.times[metrics.QueryTime], background()
	return func(op timed.Operation, took time.Duration) {
		times.Record(ctx, took.Seconds(), labels[op]...)
	}
}
