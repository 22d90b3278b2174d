package workers

import (
	"context"
	"path"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/internal/outcome"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/internal/valid"
	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/server/internal/problem"
	"github.com/holdfastdev/holdfast/store"
)

// maxValue is how large a result, and the value of a checkpoint, may be: as those in Go, unless a
// program says otherwise.
const maxValue = 1 << 20

// needsRecord reports whether the outcome depends on the job as it is now.
func (said *RunOutcome) needsRecord() bool {
	return said.Do == doFail && !said.Permanent || said.Do == doCancel && said.Reason == ""
}

// outcome is what a run's end is for the store. at is where it is in the request; now is the job,
// if the outcome needs that, or nil if the run is not the job's any more.
func (s *service) outcome(ctx context.Context, at string, r *run, said *RunOutcome, now *store.Record) (o *store.Outcome, err error) {
	switch said.Do {
	case doComplete:
		o = r.outcome(store.Completed)
		o.Result, err = payload(at+"/result", said.Result)
	case doFail:
		o = s.failure(ctx, r, said, now)
	case doSnooze:
		o = r.outcome(store.Scheduled)
		o.Reason, o.Error = store.ReasonSnoozed, usercode.CutError(said.Reason)
		if said.For != nil {
			o.Delay = max(time.Duration(*said.For), 0)
		} else {
			o.RunAt = said.Until.UTC()
		}
	case doRelease:
		o = r.outcome(store.Available)
		o.Reason = store.ReasonReleased
	case doCancel:
		o = cancelled(r, said, now)
	case doPark:
		o = r.outcome(store.Waiting)
		o.Wait, err = said.wait(at, r.Job, s.engine.Store.Now())
	case doHold:
		o = r.outcome(store.Waiting)
		outcome.Replace(o, outcome.Contradiction(usercode.CutError(said.Reason)))
	}
	if err != nil {
		return nil, err
	}
	o.Repeat = said.Repeat
	return o, nil
}

// fits refuses fields that say nothing of what is done, and what cannot be.
func (said *RunOutcome) fits(at string) error {
	for _, f := range said.fields() {
		if f.set && !slices.Contains(f.of, said.Do) {
			return problem.Invalid(at+"/"+f.name, "it says nothing of what "+said.Do+" does")
		}
	}
	switch {
	case said.Do == doFail && said.Error == "":
		return problem.Invalid(at+"/error", "it is missing")
	case said.Do == doFail && said.Permanent && said.RetryAfter != nil:
		return problem.Invalid(at+"/retry_after", "the failure is permanent, and not tried again")
	case said.RetryAfter != nil && *said.RetryAfter < 0:
		return problem.Invalid(at+"/retry_after", "it is negative")
	case said.Do == doHold && said.Reason == "":
		return problem.Invalid(at+"/reason", "it is missing")
	case said.Do == doSnooze && (said.For == nil) == (said.Until == nil):
		return problem.Invalid(at+"/for", "a snooze has either for or until")
	case said.Do == doPark && said.For != nil && said.Until != nil:
		return problem.Invalid(at+"/for", "a park has either for or until, or neither")
	case said.Do == doPark && said.For == nil && said.Until == nil && len(said.Messages) == 0 && said.Count == 0 && !said.Failures:
		return problem.Invalid(at+"/messages", "nothing would wake the run: a park has for, until, messages, count or failures")
	case said.For != nil && *said.For < 0:
		return problem.Invalid(at+"/for", "it is negative")
	case said.Until != nil && (said.Until.UTC().Year() < 1970 || said.Until.UTC().Year() > 9999):
		return problem.Invalid(at+"/until", "it is not between the years 1970 and 9999")
	}
	return nil
}

// field is one of an outcome that says something of some of what outcomes do.
type field struct {
	name string
	set  bool
	of   []string
}

func (said *RunOutcome) fields() []field {
	parks := []string{doPark}
	return []field{
		{"result", said.Result != nil, []string{doComplete}},
		{"error", said.Error != "", []string{doFail}},
		{"kind", said.Kind != "", []string{doFail}},
		{"permanent", said.Permanent, []string{doFail}},
		{"retry_after", said.RetryAfter != nil, []string{doFail}},
		{"stack", said.Stack != "", []string{doFail}},
		{"for", said.For != nil, []string{doSnooze, doPark}},
		{"until", said.Until != nil, []string{doSnooze, doPark}},
		{"reason", said.Reason != "", []string{doSnooze, doCancel, doHold}},
		{"messages", len(said.Messages) > 0, parks},
		{"count", said.Count != 0, parks},
		{"failures", said.Failures, parks},
		{"seen", said.Seen != 0, parks},
		{"waits_for", len(said.WaitsFor) > 0, parks},
		{"journal", said.Journal != nil, []string{doComplete, doFail, doSnooze, doRelease, doCancel, doPark}},
	}
}

// payload is JSON that a worker has sent; null is none.
func payload(at string, raw api.Payload) ([]byte, error) {
	if raw == nil || string(raw) == "null" {
		return nil, nil
	}
	if err := valid.JSON(path.Base(at), raw, maxValue); err != nil {
		return nil, problem.At(at, err)
	}
	return raw, nil
}

// failure is the outcome of a run that has failed. The policy is that of Go handlers that say
// nothing of their own: what the enqueue says, then what people have set of the queue, then the
// defaults.
func (s *service) failure(ctx context.Context, r *run, said *RunOutcome, now *store.Record) *store.Outcome {
	text := said.Error
	if said.Kind != "" {
		text = said.Kind + ": " + text
	}
	o := r.outcome(store.Retryable)
	o.Reason, o.Error, o.Trace = store.ReasonError, usercode.CutError(text), usercode.CutTrace(said.Stack)
	if said.Permanent {
		o.State, o.Reason = store.Failed, store.ReasonTerminal
	} else {
		switch policy := (store.Policy{}).In(s.settings.of(ctx, r.Namespace, r.Queue)); {
		case now == nil: // the store says so, or what a repeated one has led to
		case now.CancelRequested && !r.Durable: // the store makes it cancelled, whatever attempts are left
		case r.Attempt >= policy.Attempts(&now.Job):
			o.State, o.Reason = store.Failed, store.ReasonAttemptsExhausted
		default:
			o.Delay = policy.Delay(&now.Job, r.Attempt)
		}
		if said.RetryAfter != nil && o.State == store.Retryable {
			o.Delay = time.Duration(*said.RetryAfter)
		}
	}
	if o.State == store.Failed {
		o.Fingerprint = usercode.Fingerprint(r.Kind, o.Reason, o.Error)
	}
	return o
}

// cancelled is the outcome of a run that is cancelled: with the words of who has asked for it, if
// the run has none.
func cancelled(r *run, said *RunOutcome, now *store.Record) *store.Outcome {
	o := r.outcome(store.Cancelled)
	o.Reason, o.Error, o.CancelSeen = store.ReasonCancelled, usercode.CutError(said.Reason), true
	if said.Reason != "" || now == nil || !now.CancelRequested || r.Durable {
		return o
	}
	// The store cancels what would go on, with the words of the request.
	o.State, o.Reason, o.Error = store.Available, store.ReasonReleased, ""
	return o
}

// checkpoint is what a run says of its progress.
func (p *RunProgress) checkpoint(r *run) (*store.CheckpointWrite, error) {
	value, err := payload("/value", p.Value)
	if err != nil {
		return nil, err
	}
	return &store.CheckpointWrite{Lease: r.Lease, Namespace: r.Namespace, Checkpoint: store.Checkpoint{
		Percent: p.Percent, Message: usercode.Cut(p.Message, usercode.MaxMessage), Value: value,
	}}, nil
}
