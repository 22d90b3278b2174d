// Package telemetry makes metrics and traces of what a client does, by the API of OpenTelemetry:
//
//	hf, err := holdfast.Open(ctx, source, telemetry.With(telemetry.Config{}))
//
// A program chooses the SDK and where that sends to; without one, nothing is recorded. See
// docs/observability.md for the metrics, the spans, and what to watch. A client without the option
// has none of the cost.
//
// # Traces
//
// An enqueue is a span of a producer, and the job carries its context, as the headers traceparent
// and tracestate of W3C Trace Context (store.Options), through whatever becomes of it: retries,
// parks, forks, ContinueAsNew. A context that is no valid one is not carried, nor is a tracestate
// beyond store.MaxTraceState. Children, follow-ups and jobs of schedules carry theirs.
//
// A run is a span of a consumer, a trace of its own that links to the enqueue, or, with Child, a
// child of it. It ends when the run parks: no span is open while a job waits. A run links also to
// the run of the job before it, if this process knows it, which is one of the last
// LinkedRuns that have ended here and let their job go on. The function of a step is a child of the
// run, unless the step is replayed.
//
// A signal, and the answer of a callback, carries the span in which it was sent, without its
// tracestate; the run that receives it links to that. The run links to at most 100 of them.
//
// # Imports
//
// The root package, hooks, internal/access, internal/metrics, internal/observer and store; and the
// API of OpenTelemetry, of which nothing else in Holdfast's library knows.
package telemetry

import (
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/internal/metrics"
	"github.com/holdfastdev/holdfast/internal/observer"
)

// Scope is the name of the tracer and of the meter.
const Scope = "github.com/holdfastdev/holdfast"

// Config says where telemetry goes. The zero value is usable.
type Config struct {
	// Tracers makes the tracer. Nil: the global provider (otel.GetTracerProvider).
	Tracers trace.TracerProvider
	// Meters makes the instruments. Nil: the global provider (otel.GetMeterProvider).
	Meters metric.MeterProvider
	// Child makes a run a child of the span in which its job was enqueued, in the same trace.
	// Default: a trace of its own that links to it, as a job may run days later, and often.
	Child bool
	// MaxQueues is how many queues, of all namespaces, have a value of their own in labels, those
	// that are seen first; the others are "other". Default: 100.
	MaxQueues int
	// MaxKinds is the same for kinds. Default: 100.
	MaxKinds int
}

// Other is the value of labels for what is beyond MaxQueues or MaxKinds.
const Other = "other"

// With is an option of holdfast.Open, which goes around all middleware. A client has one. An
// instrument that the provider does not make is an ErrInvalid of Open, as is a negative number.
func With(c Config) holdfast.Option {
	t, err := newTelemetry(c)
	if err != nil {
		return access.Fails(err).(holdfast.Option) //nolint:errcheck // always one
	}
	t.born(metrics.NodesDied)
	with := access.WithTelemetry(access.Telemetry{
		Observer: &observer.Observer{
			Opened: t.opened, Claimed: t.claimed, LeaseLost: t.leaseLost, Performed: t.performed, Fires: t.fires, Queues: t.queues,
		},
		Hooks: t.hooks(), Around: holdfast.Middleware(t.run), Enqueues: t.enqueue, Step: t.step, Sends: sends, Queried: t.queried(),
	})
	return with.(holdfast.Option) //nolint:errcheck // always one
}
