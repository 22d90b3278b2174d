package telemetry

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/internal/metrics"
	"github.com/holdfastdev/holdfast/internal/observer"
	"github.com/holdfastdev/holdfast/store"
)

// The attributes of spans, beside those of the semantic conventions for messaging.
const (
	keyJob       = attribute.Key("holdfast.job.id")
	keyKind      = attribute.Key("holdfast.job.kind")
	keyQueue     = attribute.Key("holdfast.job.queue")
	keyAttempt   = attribute.Key("holdfast.job.attempt")
	keyNamespace = attribute.Key("holdfast.namespace")
	keyOutcome   = attribute.Key("holdfast.outcome")
	keyStep      = attribute.Key("holdfast.step.name")
	keyTry       = attribute.Key("holdfast.step.attempt")
	keyLease     = attribute.Key("holdfast.run.lease")
	keyNode      = attribute.Key("holdfast.node.id")
	keySchedule  = attribute.Key("holdfast.schedule.name")
	keyJobs      = attribute.Key("holdfast.jobs")
)

var (
	system     = attribute.String("messaging.system", "holdfast")
	produces   = attribute.String("messaging.operation.type", "send")
	processes  = attribute.String("messaging.operation.type", "process")
	keyQueueOf = attribute.Key("messaging.destination.name")
	keyMessage = attribute.Key("messaging.message.id")
	keyBatch   = attribute.Key("messaging.batch.message_count")
)

// headers are what jobs carry of a trace, whatever propagator the program has set.
var headers propagation.TraceContext

// of returns the span of a context, as jobs carry it; zero if it is not valid.
func of(ctx context.Context) store.Options {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return store.Options{}
	}
	c := propagation.MapCarrier{}
	headers.Inject(ctx, c)
	o := store.Options{TraceParent: c.Get("traceparent"), TraceState: c.Get("tracestate")}
	if len(o.TraceState) > store.MaxTraceState {
		o.TraceState = ""
	}
	if o.CheckTrace() != nil {
		return store.Options{}
	}
	return o
}

// sends returns what a message carries of a context.
func sends(ctx context.Context) string {
	o := of(ctx)
	return o.TraceParent
}

// carry gives jobs the span of a context, if it is valid.
func carry(ctx context.Context, jobs ...*store.Job) {
	o := of(ctx)
	if o.TraceParent == "" {
		return
	}
	for _, j := range jobs {
		j.Options.TraceParent, j.Options.TraceState = o.TraceParent, o.TraceState
	}
}

// carried is the span that a job carries.
func carried(j *store.Options) trace.SpanContext {
	if j.TraceParent == "" {
		return trace.SpanContext{}
	}
	c := propagation.MapCarrier{"traceparent": j.TraceParent, "tracestate": j.TraceState}
	return trace.SpanContextFromContext(headers.Extract(background(), c))
}

// enqueue is around the enqueues of the client.
func (t *telemetry) enqueue(ctx context.Context, jobs []*store.Job, next func(context.Context) error) error {
	name, attrs := "enqueue", []attribute.KeyValue{system, produces, keyBatch.Int(len(jobs)), keyNamespace.String(jobs[0].Namespace)}
	if kind, queue, same := common(jobs); same {
		name, attrs = kind+" enqueue", append(attrs, keyKind.String(kind), keyQueue.String(queue), keyQueueOf.String(queue))
	}
	if len(jobs) == 1 {
		id := jobs[0].ID.String()
		attrs = append(attrs, keyJob.String(id), keyMessage.String(id))
	}
	ctx, span := t.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindProducer), trace.WithAttributes(attrs...))
	defer span.End()
	carry(ctx, jobs...)
	err := next(ctx)
	if err != nil {
		span.SetStatus(codes.Error, err.Error())
	}
	return err
}

// common is the kind and the queue of jobs, if all have the same.
func common(jobs []*store.Job) (kind, queue string, same bool) {
	for _, j := range jobs {
		if j.Kind != jobs[0].Kind || j.Queue != jobs[0].Queue {
			return "", "", false
		}
	}
	return jobs[0].Kind, jobs[0].Queue, true
}

// run is around the handlers of the client.
func (t *telemetry) run(run *holdfast.Run, next func(*holdfast.Run) error) (err error) {
	id, lease := run.ID(), run.Lease()
	opts := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(
		system, processes, keyQueueOf.String(run.Queue()), keyMessage.String(id.String()),
		keyJob.String(id.String()), keyKind.String(run.Kind()), keyQueue.String(run.Queue()), keyAttempt.Int(run.Attempt()),
		keyNamespace.String(run.Client().Namespace()), keyLease.Int64(lease.Number), keyNode.Int64(lease.Node),
	)}
	parent := context.Context(run)
	switch from := carried(optionsOf(run)); {
	case !from.IsValid():
	case t.child:
		parent = trace.ContextWithRemoteSpanContext(parent, from)
	default:
		opts = append(opts, trace.WithLinks(trace.Link{SpanContext: from}))
	}
	if before, ok := t.ended.take(id); ok {
		opts = append(opts, trace.WithLinks(trace.Link{SpanContext: before}))
	}
	ctx, span := t.tracer.Start(parent, run.Kind()+" run", opts...)
	returned := false
	defer func() {
		how := outcomeOf(returned, err)
		span.SetAttributes(keyOutcome.String(how))
		linkSenders(span, run)
		switch {
		case !returned:
			span.SetStatus(codes.Error, "it panicked")
		case how == "failed":
			span.SetStatus(codes.Error, err.Error())
		}
		if how != "completed" && how != "cancelled" && span.SpanContext().IsValid() {
			t.ended.put(id, span.SpanContext())
		}
		span.End()
	}()
	err = next(run.WithContext(ctx))
	returned = true
	return err
}

// linkSenders links the span of a run to those in which the messages were sent that it has
// received.
func linkSenders(span trace.Span, run *holdfast.Run) {
	for _, parent := range access.Senders(run) {
		if from := carried(&store.Options{TraceParent: parent}); from.IsValid() {
			span.AddLink(trace.Link{SpanContext: from})
		}
	}
}

// outcomeOf is how a run, or a step, has ended as far as middleware sees it.
func outcomeOf(returned bool, err error) string {
	switch {
	case !returned:
		return "failed"
	case err == nil:
		return "completed"
	case errors.Is(err, holdfast.ErrParked):
		return "parked"
	case errors.Is(err, holdfast.ErrShutdown), errors.Is(err, holdfast.ErrLeaseLost):
		return "interrupted"
	case errors.Is(err, holdfast.ErrCancelled):
		return "cancelled"
	}
	return "failed"
}

// step is around the function of a step.
func (t *telemetry) step(ctx context.Context, name string, attempt int) (context.Context, func(bool, error)) {
	kind := ""
	if run, ok := holdfast.RunFrom(ctx); ok {
		kind = run.Kind()
	}
	began := time.Now()
	ctx, span := t.tracer.Start(ctx, "step "+name, //nolint:spancheck // who gets the function ends it
		trace.WithAttributes(keyStep.String(name), keyTry.Int(attempt), keyKind.String(kind)))
	return ctx, func(returned bool, err error) { //nolint:spancheck // as above
		how := outcomeOf(returned, err)
		if how == "parked" || how == "cancelled" {
			how = "interrupted"
		}
		t.took(metrics.StepRun, time.Since(began), kind, how)
		span.SetAttributes(keyOutcome.String(how))
		switch {
		case !returned:
			span.SetStatus(codes.Error, "it panicked, or ended its goroutine")
		case how == "failed":
			span.SetStatus(codes.Error, err.Error())
		}
		span.End()
	}
}

// fires is told of the fire of a schedule. A fire that enqueues nothing is no span.
func (t *telemetry) fires(ctx context.Context, u *store.Unit, now time.Time) func(error) {
	var span trace.Span
	f := u.Fire
	if len(u.Enqueues) > 0 {
		ctx, span = t.tracer.Start(ctx, "schedule fire", trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindProducer), trace.WithAttributes(
			keySchedule.String(f.Name), keyNamespace.String(f.Namespace), keyJobs.Int(len(u.Enqueues)), system, produces))
		for _, q := range u.Enqueues {
			carry(ctx, &q.Job)
		}
	}
	return func(err error) {
		if err == nil {
			t.fired(f, now)
		}
		if span == nil {
			return
		}
		if err != nil {
			span.SetStatus(codes.Error, err.Error())
		}
		span.End()
	}
}

// fired counts what a fire has written.
func (t *telemetry) fired(f *store.Fire, now time.Time) {
	missed := 0
	for i := range f.Runs {
		switch r := &f.Runs[i]; r.State {
		case store.RunFired:
			t.took(metrics.ScheduleLag, max(now.Sub(r.Nominal), 0), f.Namespace, r.Enqueue.Job.Kind)
		case store.RunMissed:
			missed++
		default:
		}
	}
	if missed > 0 {
		t.count(metrics.ScheduleMissed, missed, f.Namespace)
	}
}

// performed is told of a duty. It is a span if it did something, or failed.
func (t *telemetry) performed(ctx context.Context, d observer.Duty) {
	how := "idle"
	switch {
	case d.Err != nil:
		how = "failed"
	case d.Jobs > 0:
		how = "done"
	}
	t.took(metrics.DutyTime, d.Took, d.Name, how)
	if d.Jobs > 0 {
		t.count(metrics.DutyJobs, d.Jobs, d.Name)
	}
	if how == "idle" {
		return
	}
	_, span := t.tracer.Start(ctx, "duty "+d.Name, trace.WithNewRoot(), trace.WithTimestamp(d.Began),
		trace.WithAttributes(keyJobs.Int(d.Jobs)))
	if d.Err != nil {
		span.SetStatus(codes.Error, d.Err.Error())
	}
	span.End(trace.WithTimestamp(d.Began.Add(d.Took)))
}
