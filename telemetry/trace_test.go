package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/after"
	"github.com/holdfastdev/holdfast/holdfasttest"
	"github.com/holdfastdev/holdfast/schedule"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/telemetry"
)

// traced are the spans of a test.
type traced struct {
	*tracetest.SpanRecorder

	provider *sdktrace.TracerProvider
}

func newTraced() traced {
	r := tracetest.NewSpanRecorder()
	return traced{r, sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(r))}
}

// named are the spans of a name that have ended, in the order in which they did.
func (r traced) named(name string) (found []sdktrace.ReadOnlySpan) {
	for _, s := range r.Ended() {
		if s.Name() == name {
			found = append(found, s)
		}
	}
	return found
}

func (r traced) one(t *testing.T, name string) sdktrace.ReadOnlySpan {
	t.Helper()
	found := r.named(name)
	if len(found) != 1 {
		t.Fatalf("there are %d spans %q", len(found), name)
	}
	return found[0]
}

func attr(s sdktrace.ReadOnlySpan, key string) string {
	for _, a := range s.Attributes() {
		if a.Key == attribute.Key(key) {
			return a.Value.String()
		}
	}
	return ""
}

// links tells to which spans a span links, as their names.
func (r traced) links(s sdktrace.ReadOnlySpan) string {
	var names []string
	for _, l := range s.Links() {
		name := "?"
		for _, other := range r.Ended() {
			if other.SpanContext().SpanID() == l.SpanContext.SpanID() && other.SpanContext().TraceID() == l.SpanContext.TraceID() {
				name = fmt.Sprintf("%s %s", other.Name(), attr(other, "holdfast.outcome"))
			}
		}
		names = append(names, strings.TrimSpace(name))
	}
	return strings.Join(names, ", ")
}

func isChild(s, of sdktrace.ReadOnlySpan) bool {
	return s.Parent().SpanID() == of.SpanContext().SpanID() && s.SpanContext().TraceID() == of.SpanContext().TraceID()
}

// order is a durable function with steps, a child, a park and a retry.
func order(part holdfast.Kind[int, int]) func(run *holdfast.Run, n int) (int, error) {
	return func(run *holdfast.Run, n int) (int, error) {
		reserved, err := holdfast.Step(run, "reserve", func(ctx context.Context) (int, error) {
			if !trace.SpanContextFromContext(ctx).IsValid() {
				return 0, errors.New("the step has no span")
			}
			return n, nil
		})
		if err != nil {
			return 0, err
		}
		if reserved, err = part.Call(run, reserved); err != nil {
			return 0, err
		}
		if err := run.Sleep(time.Hour); err != nil {
			return 0, err
		}
		return holdfast.Step(run, "charge", func(context.Context) (int, error) {
			if run.Attempt() == 1 {
				return 0, errors.New("the bank is closed")
			}
			return reserved + 1, nil
		})
	}
}

// TestTraceOfADurableJob: an enqueue is in the trace of its caller, a run in one of its own that
// links to the enqueue and to the run before, executed steps and the enqueue of a child are in that
// of the run, and no span is open while the job waits.
func TestTraceOfADurableJob(t *testing.T) {
	t.Parallel()
	r := newTraced()
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		t := env.T
		part := holdfast.NewKind[int, int]("part")
		kind := holdfast.NewKind[int, int]("order", holdfast.Backoff(time.Minute, time.Hour))
		if err := errors.Join(
			part.Handle(env.Client, func(_ *holdfast.Run, n int) (int, error) { return n * 2, nil }),
			kind.Handle(env.Client, order(part)),
		); err != nil {
			t.Fatal(err)
		}
		env.Start()
		ctx, request := r.provider.Tracer("test").Start(t.Context(), "request")
		job, err := kind.Enqueue(ctx, env.Client, 20)
		request.End()
		if err != nil {
			t.Fatal(err)
		}
		if out, err := job.Wait(t.Context()); err != nil || out != 41 {
			t.Fatal(out, err)
		}
		env.Advance(time.Second)
		checkDurable(t, r, job.ID)
	}, telemetry.With(telemetry.Config{Tracers: r.provider}))
	if open, ended := len(r.Started()), len(r.Ended()); open != ended {
		t.Errorf("%d spans began, and %d ended", open, ended)
	}
}

func checkDurable(t *testing.T, r traced, id holdfast.ID) {
	t.Helper()
	request, enqueued := r.one(t, "request"), r.one(t, "order enqueue")
	if !isChild(enqueued, request) || enqueued.SpanKind() != trace.SpanKindProducer || attr(enqueued, "holdfast.job.id") != id.String() {
		t.Errorf("the enqueue is %v, a child of %v", enqueued.SpanKind(), enqueued.Parent())
	}
	runs := r.named("order run")
	var story []string
	for _, run := range runs {
		if run.SpanKind() != trace.SpanKindConsumer || run.Parent().IsValid() || attr(run, "messaging.destination.name") != "default" ||
			attr(run, "holdfast.job.id") != id.String() || run.SpanContext().TraceID() == request.SpanContext().TraceID() {
			t.Errorf("a run is %v %v", run, run.Attributes())
		}
		if d := run.EndTime().Sub(run.StartTime()); d > time.Minute {
			t.Errorf("a run has a span of %v", d)
		}
		story = append(story, attr(run, "holdfast.job.attempt")+" "+attr(run, "holdfast.outcome")+": "+r.links(run))
	}
	want := []string{
		"1 parked: order enqueue", "1 parked: order enqueue, order run parked", "1 failed: order enqueue, order run parked",
		"2 completed: order enqueue, order run failed",
	}
	if !slices.Equal(story, want) {
		t.Errorf("the runs are\n%s\nwant\n%s", strings.Join(story, "\n"), strings.Join(want, "\n"))
		return
	}
	if failed := runs[2].Status(); failed.Code != codes.Error || !strings.Contains(failed.Description, "the bank is closed") {
		t.Errorf("the failed run has the status %+v", failed)
	}
	if reserve := r.one(t, "step reserve"); !isChild(reserve, runs[0]) || attr(reserve, "holdfast.outcome") != "completed" {
		t.Errorf("the first step is no child of the first run: %v", reserve.Parent())
	}
	charges := r.named("step charge")
	if len(charges) != 2 || !isChild(charges[0], runs[2]) || charges[0].Status().Code != codes.Error || !isChild(charges[1], runs[3]) {
		t.Errorf("the steps that charge are %v", charges)
	}
	if child := r.one(t, "part enqueue"); !isChild(child, runs[0]) {
		t.Errorf("the enqueue of the child is no child of the run: %v", child.Parent())
	}
	if links := r.links(r.one(t, "part run")); links != "part enqueue" {
		t.Errorf("the run of the child links to %s", links)
	}
}

// TestChild: with Child, runs are in the trace of the enqueue.
func TestChild(t *testing.T) {
	t.Parallel()
	r := newTraced()
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		t := env.T
		task := holdfast.NewTask[int]("send")
		if err := task.Handle(env.Client, func(run *holdfast.Run, _ int) error { return run.Sleep(time.Minute) }); err != nil {
			t.Fatal(err)
		}
		env.Start()
		job, err := task.Enqueue(t.Context(), env.Client, 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := task.Wait(t.Context(), env.Client, job.ID); err != nil {
			t.Fatal(err)
		}
		env.Advance(time.Second)
	}, telemetry.With(telemetry.Config{Tracers: r.provider, Child: true}))
	enqueued := r.one(t, "send enqueue")
	runs := r.named("send run")
	if len(runs) != 2 || !isChild(runs[0], enqueued) || !isChild(runs[1], enqueued) || r.links(runs[1]) != "send run parked" {
		t.Errorf("the runs are %v", runs)
	}
}

// TestTraceOfManyEnqueues: each way to enqueue is one span, which all of its jobs carry, follow-ups
// too.
func TestTraceOfManyEnqueues(t *testing.T) {
	t.Parallel()
	r := newTraced()
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		t := env.T
		a, b := holdfast.NewTask[int]("a"), holdfast.NewTask[int]("b")
		results, err := env.Client.EnqueueBatch(t.Context(), []holdfast.BatchItem{a.Item(1, after.Success(b.Item(2))), a.Item(3), b.Item(4)})
		if err != nil {
			t.Fatal(err)
		}
		span := r.one(t, "enqueue")
		if n := attr(span, "messaging.batch.message_count"); n != "4" {
			t.Errorf("the span tells of %s jobs", n)
		}
		page, err := env.Client.List(t.Context(), store.Filter{}, "", 10)
		if err != nil || len(page.Jobs) != 4 || len(results) != 3 {
			t.Fatal(page.Jobs, err)
		}
		want := fmt.Sprintf("00-%s-%s-01", span.SpanContext().TraceID(), span.SpanContext().SpanID())
		for _, j := range page.Jobs {
			if j.Options.TraceParent != want {
				t.Errorf("a job of kind %s carries %q, want %q", j.Kind, j.Options.TraceParent, want)
			}
		}
		if _, err := a.Enqueue(t.Context(), env.Client, 5, holdfast.MaxAttempts(-1)); err == nil {
			t.Error("what is invalid was enqueued")
		}
	}, telemetry.With(telemetry.Config{Tracers: r.provider}))
}

// TestTraceState: what does not fit is not carried, and without a span nothing is.
func TestTraceState(t *testing.T) {
	t.Parallel()
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		t := env.T
		task := holdfast.NewTask[int]("a")
		carried := func(members int) store.Options {
			ctx := t.Context()
			if members >= 0 {
				var state trace.TraceState
				for i := range members {
					var err error
					if state, err = state.Insert(fmt.Sprintf("vendor%d", i), strings.Repeat("x", 100)); err != nil {
						t.Fatal(err)
					}
				}
				ctx = trace.ContextWithSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
					TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceState: state,
				}))
			}
			job, err := task.Enqueue(ctx, env.Client, 1)
			if err != nil {
				t.Fatal(err)
			}
			record, err := job.Get(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return record.Options
		}
		if o := carried(-1); o != (store.Options{}) {
			t.Errorf("without a span it carries %+v", o)
		}
		const parent = "00-01000000000000000000000000000000-0200000000000000-00"
		if o := carried(2); o.TraceParent != parent || len(o.TraceState) < 200 {
			t.Errorf("with a small state it carries %+v", o)
		}
		if o := carried(6); o.TraceParent != parent || o.TraceState != "" {
			t.Errorf("with a large state it carries %+v", o)
		}
	}, telemetry.With(telemetry.Config{})) // the global provider makes no spans, but passes them on
}

// TestTraceOfASchedule: a fire is a span, which its job carries.
func TestTraceOfASchedule(t *testing.T) {
	t.Parallel()
	r := newTraced()
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		t := env.T
		task := holdfast.NewTask[int]("nightly")
		if err := task.Handle(env.Client, func(*holdfast.Run, int) error { return nil }); err != nil {
			t.Fatal(err)
		}
		env.Start()
		tick := schedule.New("tick", schedule.Every(time.Hour), task.Item(1), schedule.Fires(1))
		if _, err := schedule.Sync(t.Context(), env.Client, tick); err != nil {
			t.Fatal(err)
		}
		env.Advance(90 * time.Minute)
		fire := r.one(t, "schedule fire")
		if attr(fire, "holdfast.schedule.name") != "tick" || fire.SpanKind() != trace.SpanKindProducer {
			t.Errorf("the fire is %v %v", fire.SpanKind(), fire.Attributes())
		}
		if links := r.links(r.one(t, "nightly run")); links != "schedule fire" {
			t.Errorf("the run links to %s", links)
		}
	}, telemetry.With(telemetry.Config{Tracers: r.provider}))
}

// TestPanics: a run and a step that panic have spans that say so.
func TestPanics(t *testing.T) {
	t.Parallel()
	r := newTraced()
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		t := env.T
		task := holdfast.NewTask[int]("a", holdfast.MaxAttempts(1))
		err := task.Handle(env.Client, func(run *holdfast.Run, _ int) error {
			_, err := holdfast.Step(run, "s", func(context.Context) (int, error) { panic("oh") })
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		env.Start()
		job, err := task.Enqueue(t.Context(), env.Client, 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := task.Wait(t.Context(), env.Client, job.ID); !errors.Is(err, holdfast.ErrFailed) {
			t.Fatal(err)
		}
		env.Advance(time.Second)
		for _, name := range []string{"a run", "step s"} {
			if s := r.one(t, name); s.Status().Code != codes.Error || attr(s, "holdfast.outcome") != "failed" {
				t.Errorf("%s has the status %+v", name, s.Status())
			}
		}
	}, telemetry.With(telemetry.Config{Tracers: r.provider}))
}
