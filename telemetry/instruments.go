package telemetry

import (
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/metric"

	"github.com/holdfastdev/holdfast/internal/metrics"
)

// instruments are those of all metrics of the list.
type instruments struct {
	meter      metric.Meter
	counters   map[*metrics.Metric]metric.Int64Counter
	times      map[*metrics.Metric]metric.Float64Histogram
	gauges     map[*metrics.Metric]metric.Float64ObservableGauge
	observed   map[*metrics.Metric]metric.Int64ObservableCounter // counters that are kept elsewhere
	observable []metric.Observable
}

// kept are the counters that the engine keeps.
var kept = map[*metrics.Metric]bool{metrics.HooksDropped: true, metrics.Panics: true}

func newInstruments(meter metric.Meter) (*instruments, error) {
	i := &instruments{
		meter: meter, counters: map[*metrics.Metric]metric.Int64Counter{}, times: map[*metrics.Metric]metric.Float64Histogram{},
		gauges: map[*metrics.Metric]metric.Float64ObservableGauge{}, observed: map[*metrics.Metric]metric.Int64ObservableCounter{},
	}
	var errs []error
	for _, m := range metrics.All() {
		if err := i.add(m); err != nil {
			errs = append(errs, fmt.Errorf("instrument %s: %w", m.Name, err))
		}
	}
	return i, errors.Join(errs...)
}

func (i *instruments) add(m *metrics.Metric) (err error) {
	help, unit := metric.WithDescription(m.Help), metric.WithUnit(m.Unit)
	switch {
	case kept[m]:
		i.observed[m], err = i.meter.Int64ObservableCounter(m.Name, help, unit)
		i.observable = append(i.observable, i.observed[m])
	case m.Kind == metrics.Counter:
		i.counters[m], err = i.meter.Int64Counter(m.Name, help, unit)
	case m.Kind == metrics.Histogram:
		i.times[m], err = i.meter.Float64Histogram(m.Name, help, unit, metric.WithExplicitBucketBoundaries(m.Bounds...))
	default:
		i.gauges[m], err = i.meter.Float64ObservableGauge(m.Name, help, unit)
		i.observable = append(i.observable, i.gauges[m])
	}
	return err
}
