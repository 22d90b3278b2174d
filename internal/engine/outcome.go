package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/replay"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// about is what lines say of the run.
func (r *Run) about() logs.About { return logs.AboutJob(&r.claimed.Job) }

// conclude calls the handler and judges what it returns.
func (x *execution) conclude(ctx context.Context) *store.Outcome {
	if x.run.claimed.Job.Closing || x.run.durable.Ending() != nil {
		if err := x.run.durable.Load(); err != nil {
			return replay.Unreadable(err)
		}
	}
	result, trace, err := invoke(ctx, x)
	err = x.run.durable.Blame(err)
	if x.run.claimed.Durable && !errors.Is(context.Cause(ctx), store.ErrLeaseLost) {
		// It may have ended before its first operation, and has children and compensations all the same.
		if err := x.run.durable.Load(); err != nil {
			return replay.Unreadable(err)
		}
	}
	if err == nil {
		p, o := x.run.durable.Completed()
		switch {
		case p != nil:
			return judge(ctx, x, nil, p.Stack, p)
		case o != nil:
			return o
		}
	}
	return judge(ctx, x, result, trace, err)
}

// panicked is the outcome of a run whose end panicked.
func (x *execution) panicked(p any) *store.Outcome {
	return x.again(store.ReasonError, usercode.CutError(usercode.PanicText(p)), usercode.CutTrace(string(debug.Stack())), time.Second)
}

// outcomeAfterGoexit is the outcome of a handler whose goroutine ended without returning: it is parked, or over for this process,
// or called runtime.Goexit, as testing.T.FailNow does. Nil means that nothing can be written any more.
func (x *execution) outcomeAfterGoexit() *store.Outcome {
	if o, left := x.run.durable.Left(); left {
		return o
	}
	return x.again(store.ReasonError, "the handler ended its goroutine (runtime.Goexit)", "", -1)
}

// refuse decides jobs that are not to be run at all. A durable one that has begun ends itself.
func (n *node) refuse(h *Handler, c store.Claimed) (*store.Outcome, bool) {
	switch deadline := c.Job.Options.Deadline; {
	case h == nil:
		return &store.Outcome{State: store.Available, Reason: store.ReasonReleased}, true
	case c.Durable:
		return nil, false
	case c.CancelRequested:
		return &store.Outcome{State: store.Cancelled, Reason: store.ReasonCancelled, Error: "cancelled before it started"}, true
	case !deadline.IsZero() && !n.store.Now().Before(deadline):
		return &store.Outcome{
			State: store.Failed, Reason: store.ReasonDeadline,
			Error: "the deadline, " + deadline.Format(time.RFC3339) + ", had passed before the attempt began",
		}, true
	}
	return nil, false
}

// endOf tells why a durable run that begins is ending, if it is.
func endOf(c *store.Claimed, now time.Time) error {
	switch deadline := c.Job.Options.Deadline; {
	case !c.Durable:
	case c.CancelRequested:
		return usercode.CancelCause(c.CancelReason)
	case !deadline.IsZero() && !now.Before(deadline):
		return usercode.ErrTimeout
	}
	return nil
}

// invoke calls the handler, and makes a panic an error with its stack.
func invoke(ctx context.Context, x *execution) (result []byte, trace string, err error) {
	x.worker.label(x.handler.Kind)
	defer x.run.durable.Returned()
	defer func() {
		if p := recover(); p != nil {
			failure := usercode.PanicOf(p)
			trace, err = failure.Stack, failure
		}
	}()
	result, err = x.handler.Run(ctx, x.run)
	return result, "", err
}

// judge makes an outcome of what a handler returned. Nil means that nothing can be written any more.
func judge(ctx context.Context, x *execution, result []byte, trace string, err error) *store.Outcome {
	if err == nil {
		// A handler that has finished wins over a cancel, a timeout or a shutdown that came late.
		return &store.Outcome{State: store.Completed, Result: result}
	}
	cause := context.Cause(ctx)
	told := cause
	if told == nil {
		told = x.run.durable.Ending() // it was told as it began, and its context goes on while it replays
	}
	r := usercode.Look(err)
	trace = usercode.CutTrace(trace)
	if errors.Is(told, usercode.ErrCancelled) || errors.Is(told, usercode.ErrTimeout) {
		x.run.durable.CatchUp()
	}
	switch {
	case errors.Is(cause, store.ErrLeaseLost):
		return nil // the run's own: what an error says of leases may be another's
	case r.Cancel != nil:
		return &store.Outcome{State: store.Cancelled, Reason: store.ReasonCancelled, Error: usercode.CutError(r.Cancel.Reason)}
	case r.ContinueAsNew != nil && r.ContinueAsNew.Kind != x.handler.Kind:
		return &store.Outcome{State: store.Failed, Reason: store.ReasonTerminal, Error: usercode.CutError(fmt.Sprintf(
			"the handler of kind %q returned ContinueAsNew of kind %q, whose args it may not understand", x.handler.Kind, r.ContinueAsNew.Kind))}
	case r.Fail != nil, r.Step != nil && r.Step.Permanent, r.Full:
		return &store.Outcome{State: store.Failed, Reason: store.ReasonTerminal, Error: r.Text, Trace: trace}
	case errors.Is(told, usercode.ErrCancelled):
		if o := x.behind(r.Text, trace); o != nil {
			return o
		}
		return &store.Outcome{State: store.Cancelled, Reason: store.ReasonCancelled, Error: usercode.CutError(replay.CancelledBy(told, err))}
	case r.ContinueAsNew != nil && cause == nil:
		return &store.Outcome{State: store.Available, Continue: &store.Continue{Args: r.ContinueAsNew.Args, Codec: r.ContinueAsNew.Codec}}
	case r.Snooze != nil:
		return &store.Outcome{State: store.Scheduled, Reason: store.ReasonSnoozed, Delay: max(r.Snooze.Delay, 0)}
	case errors.Is(cause, usercode.ErrShutdown):
		return &store.Outcome{State: store.Available, Reason: store.ReasonReleased, Error: r.Text}
	case r.Retry != nil:
		return x.again(store.ReasonError, r.Text, trace, max(r.Retry.Delay, 0))
	case errors.Is(told, usercode.ErrTimeout):
		return x.timedOut(r.Text, trace)
	}
	return x.again(store.ReasonError, r.Text, trace, -1)
}

// again lets the job be tried once more after the delay, or after its backoff if that is negative; or fails it when no attempt is left.
func (x *execution) again(reason store.Reason, text, trace string, delay time.Duration) *store.Outcome {
	job := &x.run.claimed.Job
	o := &store.Outcome{State: store.Retryable, Reason: reason, Error: text, Trace: trace}
	if job.Attempt >= x.handler.maxAttempts(job) {
		o.State = store.Failed
		if reason == store.ReasonError {
			o.Reason = store.ReasonAttemptsExhausted
		}
		return o
	}
	if delay < 0 {
		n := x.run.node
		delay = x.handler.backoff(job, n.policies[x.handler.Kind], n.lines)
	}
	o.Delay = delay
	return o
}

// behind is the outcome of a run that ends and has failed before it came to what it did: the next one
// knows what it has to undo. Nil means that it has come to that, or that no attempt is left.
func (x *execution) behind(text, trace string) *store.Outcome {
	o := x.again(store.ReasonError, text, trace, -1)
	if o.State.Finished() || !x.run.durable.IsBehind() {
		return nil
	}
	return o
}

func (x *execution) timedOut(text, trace string) *store.Outcome {
	if o := x.behind(text, trace); o != nil {
		return o
	}
	job := x.run.claimed.Job
	if deadline := job.Options.Deadline; !deadline.IsZero() && !x.run.node.store.Now().Before(deadline) {
		return &store.Outcome{State: store.Failed, Reason: store.ReasonDeadline, Error: text, Trace: trace}
	}
	return x.again(store.ReasonTimeout, text, trace, -1)
}

// decided is the outcome of a run that has failed or was cancelled, and whose strands do not end. If there is something to undo, which
// may be what they are doing, the end is decided again by another run.
func (x *execution) decided(text, trace string) *store.Outcome {
	if o := x.run.durable.Decided(); o != nil {
		return o
	}
	return x.again(store.ReasonError, text, trace, -1)
}
