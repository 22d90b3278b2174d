package engine

import (
	"context"
	"runtime/debug"
	"time"

	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/outcome"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// about returns what log lines say of the run.
func (r *Run) about() logs.About { return logs.AboutJob(&r.claimed.Job) }

// panicked is the outcome of a run if this package panicked at its end.
func (x *execution) panicked(p any) *store.Outcome {
	return x.run.Again(store.ReasonError, usercode.CutError(usercode.PanicText(p)), usercode.CutTrace(string(debug.Stack())), time.Second)
}

// mayNotRun decides jobs that must not run. A durable one that has started runs all the same, to
// end itself.
func (n *node) mayNotRun(h *Handler, c store.Claimed) (*store.Outcome, bool) {
	switch {
	case h == nil:
		return outcome.Released(), true
	case c.Durable:
		return n.lacksKey(&c)
	case c.CancelRequested:
		return &store.Outcome{State: store.Cancelled, Reason: store.ReasonCancelled, Error: "cancelled before it started"}, true
	case !c.Job.Options.Deadline.IsZero() && usercode.IsLate(&c.Job, n.store.Now()):
		return &store.Outcome{
			State: store.Failed, Reason: store.ReasonDeadline,
			Error: "the deadline, " + c.Job.Options.Deadline.Format(time.RFC3339) + ", had passed before the attempt began",
		}, true
	}
	return n.lacksKey(&c)
}

// Call calls the handler.
func (r *Run) Call(ctx context.Context) ([]byte, error) {
	x := r.execution
	x.worker.label(x.handler.Kind)
	return x.handler.Run(ctx, r)
}

// policyOf is how a job is attempted here, with what is set of its queue now.
func (n *node) policyOf(job *store.Job) store.Policy {
	return n.policies[job.Kind].In(n.tuning.Of(job.Queue))
}

// Again makes the outcome of a failed attempt: the job is retried after the delay, or after its
// backoff if delay is negative, or fails if no attempt is left.
func (r *Run) Again(reason store.Reason, text, trace string, delay time.Duration) *store.Outcome {
	job, h := &r.claimed.Job, r.execution.handler
	o := &store.Outcome{State: store.Retryable, Reason: reason, Error: text, Trace: trace}
	policy := r.node.policyOf(job)
	if job.Attempt >= policy.Attempts(job) {
		o.State = store.Failed
		if reason == store.ReasonError {
			o.Reason = store.ReasonAttemptsExhausted
		}
		return o
	}
	if delay < 0 {
		delay = h.backoff(job, policy, r.node.lines)
	}
	o.Delay = delay
	return o
}
