package telemetry

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/holdfastdev/holdfast/internal/metrics"
	"github.com/holdfastdev/holdfast/internal/observer"
	"github.com/holdfastdev/holdfast/store"
)

// TestPrometheusNames: each metric of the list has in Prometheus the name, the type, the help and
// the labels that the list says, and there is no other.
func TestPrometheusNames(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	reader, err := exporter.New(exporter.WithRegisterer(registry), exporter.WithoutScopeInfo(), exporter.WithoutTargetInfo())
	if err != nil {
		t.Fatal(err)
	}
	tel, err := newTelemetry(Config{Meters: metric.NewMeterProvider(metric.WithReader(reader))})
	if err != nil {
		t.Fatal(err)
	}
	for m := range tel.counters {
		tel.count(m, 1, m.Labels...)
	}
	for m := range tel.times {
		tel.took(m, 1, m.Labels...)
	}
	tel.queues([]store.Queue{{Namespace: "a", Name: "b"}}, time.Now())
	defer tel.opened(func() observer.Process {
		return observer.Process{Nodes: []observer.Node{{Namespace: "a", Leader: true}}}
	})()
	families := scrape(t, registry)
	for _, m := range metrics.All() {
		f := families[m.Prometheus()]
		if f == nil {
			t.Errorf("%s is not there as %s", m.Name, m.Prometheus())
			continue
		}
		delete(families, m.Prometheus())
		want := map[metrics.Kind]dto.MetricType{
			metrics.Counter: dto.MetricType_COUNTER, metrics.Gauge: dto.MetricType_GAUGE, metrics.Histogram: dto.MetricType_HISTOGRAM,
		}[m.Kind]
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		if f.GetType() != want || f.GetHelp() != m.Help || !slices.Equal(labels, slices.Sorted(slices.Values(m.Labels))) {
			t.Errorf("%s is a %v with the labels %v: %q", m.Prometheus(), f.GetType(), labels, f.GetHelp())
		}
	}
	for name := range families {
		t.Errorf("%s is not in the list", name)
	}
}

// scrape reads what Prometheus would read.
func scrape(t *testing.T, registry *prometheus.Registry) map[string]*dto.MetricFamily {
	t.Helper()
	gathered, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	for _, f := range gathered {
		if _, err := expfmt.MetricFamilyToText(&text, f); err != nil {
			t.Fatal(err)
		}
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(&text)
	if err != nil {
		t.Fatal(err)
	}
	return families
}
