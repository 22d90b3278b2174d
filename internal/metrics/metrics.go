// Package metrics is the list of all metrics that Holdfast has: from it come the instruments of
// package telemetry, the table of docs/observability.md, and the dashboard and the alerts in
// deploy/.
//
// # Imports
//
// None of ours.
package metrics

import (
	"slices"
	"strings"
)

// Kind is what a metric is.
type Kind uint8

// The kinds.
const (
	Counter   Kind = iota + 1 // it only grows
	Histogram                 // counts by size
	Gauge                     // as it is now
)

func (k Kind) String() string { return [...]string{"", "counter", "histogram", "gauge"}[k] }

// Metric is one metric.
type Metric struct {
	Name   string // of the instrument of OpenTelemetry
	Kind   Kind
	Unit   string // "s", or what is counted, in braces
	Help   string
	Labels []string
	Bounds []float64 // of a histogram
}

// Prometheus is the name that the metric has in Prometheus.
func (m *Metric) Prometheus() string {
	name := strings.ReplaceAll(m.Name, ".", "_")
	if m.Unit == "s" {
		name += "_seconds"
	}
	if m.Kind == Counter {
		name += "_total"
	}
	return name
}

// Has reports whether a metric has a label.
func (m *Metric) Has(label string) bool {
	return slices.Contains(m.Labels, label)
}

var (
	// seconds are from a millisecond to an hour.
	seconds = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600}
	// calls are from a tenth of a millisecond to ten seconds.
	calls = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}
	sizes = []float64{0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000}
)

var all []*Metric

// All are all metrics, in the order of the documentation.
func All() []*Metric { return all }

func add(m Metric) *Metric {
	all = append(all, &m)
	return &m
}

func counter(name, unit, help string, labels ...string) *Metric {
	return add(Metric{Name: name, Kind: Counter, Unit: unit, Help: help, Labels: labels})
}

func histogram(name, unit, help string, bounds []float64, labels ...string) *Metric {
	return add(Metric{Name: name, Kind: Histogram, Unit: unit, Help: help, Labels: labels, Bounds: bounds})
}

func gauge(name, unit, help string, labels ...string) *Metric {
	return add(Metric{Name: name, Kind: Gauge, Unit: unit, Help: help, Labels: labels})
}
