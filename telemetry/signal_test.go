package telemetry_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/holdfasttest"
	"github.com/holdfastdev/holdfast/telemetry"
)

// linked are the names of the spans to which the runs of a kind link, without those of runs.
func (r traced) linked(kind string) (all []string) {
	for _, run := range r.named(kind + " run") {
		var names []string
		for name := range strings.SplitSeq(r.links(run), ", ") {
			if name != "" && !strings.HasPrefix(name, kind+" run") {
				names = append(names, name)
			}
		}
		all = append(all, strings.Join(names, ", "))
	}
	return all
}

// in calls f within a span.
func (r traced) in(ctx context.Context, name string, f func(ctx context.Context) error) error {
	ctx, span := r.provider.Tracer("test").Start(ctx, name)
	defer span.End()
	return f(ctx)
}

// TestTraceOfSignals: the run that receives a signal, or the answer of a callback, links to the
// span in which it was sent; a run that only replays it does not.
func TestTraceOfSignals(t *testing.T) {
	t.Parallel()
	r := newTraced()
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		t := env.T
		approved, more := holdfast.NewSignal[int]("approved"), holdfast.NewSignal[int]("more")
		task := holdfast.NewTask[int]("order")
		tokens := make(chan string, 1)
		err := task.Handle(env.Client, func(run *holdfast.Run, _ int) error {
			if _, err := approved.Wait(run); err != nil {
				return err
			}
			c, err := run.Callback("paid")
			if err != nil {
				return err
			}
			select {
			case tokens <- c.Token:
			default:
			}
			if err := c.Wait(run, nil); err != nil {
				return err
			}
			var n int
			if _, err := holdfast.Select(run, more.Into(&n)); err != nil {
				return err
			}
			return run.Sleep(time.Minute)
		})
		if err != nil {
			t.Fatal(err)
		}
		env.Start()
		job, err := task.Enqueue(t.Context(), env.Client, 1)
		if err != nil {
			t.Fatal(err)
		}
		sent := func(name string, send func(ctx context.Context) error) {
			t.Helper()
			env.Advance(time.Second)
			if err := r.in(t.Context(), name, send); err != nil {
				t.Fatal(name, err)
			}
			env.Advance(time.Second)
		}
		sent("approval", func(ctx context.Context) error {
			_, err := approved.Send(ctx, env.Client, job.ID, 1)
			return err
		})
		token := <-tokens
		sent("heartbeat", func(ctx context.Context) error { return env.Client.HeartbeatCallback(ctx, token) })
		sent("payment", func(ctx context.Context) error { return env.Client.CompleteCallback(ctx, token, 1) })
		sent("addition", func(ctx context.Context) error {
			_, err := more.Send(ctx, env.Client, job.ID, 1)
			return err
		})
		if err := task.Wait(t.Context(), env.Client, job.ID); err != nil {
			t.Fatal(err)
		}
		env.Advance(time.Second)
	}, telemetry.With(telemetry.Config{Tracers: r.provider}))
	want := []string{
		"order enqueue", "order enqueue, approval", "order enqueue, payment", // the heartbeat woke none
		"order enqueue, addition", "order enqueue",
	}
	if got := r.linked("order"); !slices.Equal(got, want) {
		t.Errorf("the runs link to\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestTraceOfManySignals: a run links to a span once, however many of its signals it receives, and
// to at most 100.
func TestTraceOfManySignals(t *testing.T) {
	t.Parallel()
	r := newTraced()
	var kept []sdktrace.Link
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		t := env.T
		tick := holdfast.NewSignal[int]("tick")
		task := holdfast.NewTask[int]("count")
		err := task.Handle(env.Client, func(run *holdfast.Run, n int) error {
			for range n {
				if _, err := tick.Wait(run); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		job, err := task.Enqueue(t.Context(), env.Client, 240)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 120 {
			err := r.in(t.Context(), fmt.Sprint("tick ", i), func(ctx context.Context) error {
				for range 2 {
					if _, err := tick.Send(ctx, env.Client, job.ID, 1); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		env.Start()
		if err := task.Wait(t.Context(), env.Client, job.ID); err != nil {
			t.Fatal(err)
		}
		env.Advance(time.Second)
		kept = r.one(t, "count run").Links()
	}, telemetry.With(telemetry.Config{Tracers: r.provider}))
	if len(kept) != 101 {
		t.Errorf("the run has %d links, want that to its enqueue and 100 more", len(kept))
	}
}

// TestTraceOfASignalAlong: the signal of SendOrStart carries the span of its caller, and a signal
// of a run that of its step; without a span, a signal carries none.
func TestTraceOfASignalAlong(t *testing.T) {
	t.Parallel()
	r := newTraced()
	holdfasttest.Run(t, func(env *holdfasttest.Env) {
		t := env.T
		paid := holdfast.NewSignal[int]("paid")
		task, sender := holdfast.NewTask[int]("order"), holdfast.NewTask[holdfast.ID]("sender")
		var sent holdfast.SendResult
		err := r.in(t.Context(), "request", func(ctx context.Context) (err error) {
			sent, err = paid.SendOrStart(ctx, env.Client, task.Item(1, holdfast.Key("k")), 1)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := paid.Send(t.Context(), env.Client, sent.Job, 2); err != nil {
			t.Fatal(err)
		}
		err = sender.Handle(env.Client, func(run *holdfast.Run, to holdfast.ID) error { return paid.SendFrom(run, to, 3) })
		if err != nil {
			t.Fatal(err)
		}
		env.Start()
		job, err := sender.Enqueue(t.Context(), env.Client, sent.Job)
		if err != nil {
			t.Fatal(err)
		}
		if err := sender.Wait(t.Context(), env.Client, job.ID); err != nil {
			t.Fatal(err)
		}
		env.Advance(time.Second)
		var carried []string
		for _, m := range messagesOf(t, env.Client, sent.Job) {
			carried = append(carried, m.TraceParent)
		}
		parent := func(name string) string {
			c := r.one(t, name).SpanContext()
			return fmt.Sprintf("00-%s-%s-01", c.TraceID(), c.SpanID())
		}
		if want := []string{parent("request"), "", parent("step signal paid")}; !slices.Equal(carried, want) {
			t.Errorf("the messages carry %q, want %q", carried, want)
		}
	}, telemetry.With(telemetry.Config{Tracers: r.provider}))
}

func messagesOf(t *testing.T, c *holdfast.Client, job holdfast.ID) []holdfast.JournalMessage {
	t.Helper()
	messages, err := c.JournalMessages(t.Context(), job, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	return messages
}
