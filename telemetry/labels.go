package telemetry

import (
	"cmp"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/holdfastdev/holdfast/internal/metrics"
)

// usualMost is the default of Config.MaxQueues and Config.MaxKinds.
const usualMost = 100

// labels gives the values of labels, of which there are few.
type labels struct {
	mu     sync.Mutex
	queues bounded[queue]
	spaces bounded[string] // namespaces of metrics without a queue
	kinds  bounded[string]
	sets   map[setKey]metric.MeasurementOption
}

type queue struct{ namespace, name string }

// setKey is a metric with its values, in the order of its labels.
type setKey struct {
	metric *metrics.Metric
	values [mostLabels]string
}

// mostLabels is how many labels a metric has at the most.
const mostLabels = 4

func newLabels(queues, kinds int) *labels {
	return &labels{
		queues: bounded[queue]{most: cmp.Or(queues, usualMost)}, spaces: bounded[string]{most: cmp.Or(queues, usualMost)},
		kinds: bounded[string]{most: cmp.Or(kinds, usualMost)},
		sets:  map[setKey]metric.MeasurementOption{},
	}
}

// bounded are the values that are seen first.
type bounded[T comparable] struct {
	most int
	seen map[T]bool
}

// takes reports whether a value is one of them.
func (b *bounded[T]) takes(v T) bool {
	if b.seen[v] || len(b.seen) == b.most {
		return b.seen[v]
	}
	if b.seen == nil {
		b.seen = map[T]bool{}
	}
	b.seen[v] = true
	return true
}

// of returns the labels of a metric with values in the order of Metric.Labels. Of queues and kinds
// those beyond the bound are Other.
func (l *labels) of(m *metrics.Metric, values ...string) metric.MeasurementOption {
	key := setKey{metric: m}
	copy(key.values[:], values)
	l.mu.Lock()
	defer l.mu.Unlock()
	if set, ok := l.sets[key]; ok {
		return set
	}
	full := l.bound(&key)
	if set, ok := l.sets[key]; ok {
		return set
	}
	attrs := make([]attribute.KeyValue, len(m.Labels))
	for i, name := range m.Labels {
		attrs[i] = attribute.String(name, full[i])
	}
	set := metric.WithAttributeSet(attribute.NewSet(attrs...))
	l.sets[key] = set
	return set
}

// has reports whether of was asked for these values.
func (l *labels) has(m *metrics.Metric, values ...string) bool {
	key := setKey{metric: m}
	copy(key.values[:], values)
	l.mu.Lock()
	defer l.mu.Unlock()
	_, has := l.sets[key]
	return has
}

// bound replaces the values beyond the bounds, and returns all.
func (l *labels) bound(key *setKey) []string {
	var namespace, name *string
	for i, label := range key.metric.Labels {
		v := &key.values[i]
		switch label {
		case metrics.Namespace:
			namespace = v
		case metrics.Queue:
			name = v
		case metrics.JobKind:
			if !l.kinds.takes(*v) {
				*v = Other
			}
		}
	}
	switch {
	case namespace == nil:
	case name == nil:
		if !l.spaces.takes(*namespace) {
			*namespace = Other
		}
	case !l.queues.takes(queue{*namespace, *name}):
		*namespace, *name = Other, Other
	}
	return key.values[:]
}

// queue returns a queue as labels have it.
func (l *labels) queue(namespace, name string) queue {
	l.mu.Lock()
	defer l.mu.Unlock()
	if q := (queue{namespace, name}); l.queues.takes(q) {
		return q
	}
	return queue{Other, Other}
}
