package telemetry

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfastdev/holdfast/internal/metrics"
	"github.com/holdfastdev/holdfast/internal/observer"
	"github.com/holdfastdev/holdfast/store"
)

// TestWhatTheLeaderSawGoesStale: it is shown as long as the process leads and looks.
func TestWhatTheLeaderSawGoesStale(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reader := metric.NewManualReader()
		tel, err := newTelemetry(Config{Meters: metric.NewMeterProvider(metric.WithReader(reader))})
		if err != nil {
			t.Fatal(err)
		}
		leads := true
		defer tel.opened(func() observer.Process {
			return observer.Process{Nodes: []observer.Node{{Namespace: "a", Leader: leads}}}
		})()
		shown := func() bool {
			var all metricdata.ResourceMetrics
			if err := reader.Collect(context.Background(), &all); err != nil {
				t.Fatal(err)
			}
			for _, m := range all.ScopeMetrics[0].Metrics {
				if m.Name == metrics.JobsInState.Name {
					return true
				}
			}
			return false
		}
		if shown() {
			t.Error("something is shown before the leader has looked")
		}
		tel.queues([]store.Queue{{Namespace: "a", Name: "b"}}, time.Now())
		time.Sleep(stale)
		if !shown() {
			t.Error("after a minute nothing is shown")
		}
		if leads = false; shown() {
			t.Error("it is shown by one that leads no more")
		}
		if leads = true; !shown() {
			t.Error("it is not shown again")
		}
		time.Sleep(time.Second)
		if shown() {
			t.Error("what is stale is shown")
		}
	})
}

// TestEnded: the spans of so many runs are remembered, the last ones.
func TestEnded(t *testing.T) {
	t.Parallel()
	e := newEnded()
	span := func(n byte) trace.SpanContext {
		return trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{n}})
	}
	first, second := store.NewID(), store.NewID()
	e.put(first, span(1))
	e.put(second, span(2))
	e.put(first, span(3)) // its first place in the ring is of no meaning any more
	for range LinkedRuns - 1 {
		e.put(store.NewID(), span(9))
	}
	if s, ok := e.take(first); !ok || s.SpanID() != (trace.SpanID{3}) {
		t.Errorf("of a job that has ended twice it remembers %v, %t", s.SpanID(), ok)
	}
	if s, ok := e.take(second); ok {
		t.Errorf("it remembers more than it should: %v", s.SpanID())
	}
	if _, ok := e.take(first); ok {
		t.Error("a span is given twice")
	}
	if len(e.spans) > LinkedRuns {
		t.Errorf("it remembers %d", len(e.spans))
	}
}
