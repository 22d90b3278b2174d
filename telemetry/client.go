package telemetry

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// telemetry is that of one client.
type telemetry struct {
	*instruments

	tracer trace.Tracer
	child  bool
	labels *labels
	ended  *ended
	looked looked
}

func newTelemetry(c Config) (*telemetry, error) {
	if c.MaxQueues < 0 || c.MaxKinds < 0 {
		return nil, fmt.Errorf("%w: telemetry: %d queues and %d kinds: both must not be negative", holdfast.ErrInvalid, c.MaxQueues, c.MaxKinds)
	}
	if c.Tracers == nil {
		c.Tracers = otel.GetTracerProvider()
	}
	if c.Meters == nil {
		c.Meters = otel.GetMeterProvider()
	}
	i, err := newInstruments(c.Meters.Meter(Scope))
	if err != nil {
		return nil, fmt.Errorf("%w: telemetry: %w", holdfast.ErrInvalid, err)
	}
	return &telemetry{
		instruments: i, tracer: c.Tracers.Tracer(Scope), child: c.Child, labels: newLabels(c.MaxQueues, c.MaxKinds), ended: newEnded(),
	}, nil
}

// background is the context of measurements, which have no span.
func background() context.Context { return context.Background() }

// looked is what the leader saw last in the queues.
type looked struct {
	mu     sync.Mutex
	queues []store.Queue
	now    time.Time // by the clock of the database
	at     time.Time // by that of the process
}
