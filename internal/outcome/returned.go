package outcome

import (
	"errors"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/internal/blocked"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// Final is the outcome of a handler, of a kind, whose error ends the job, whatever else it says;
// nil: it does not.
func Final(is *usercode.Returned, kind, trace string) *store.Outcome {
	switch {
	case is.Cancel != nil:
		return &store.Outcome{State: store.Cancelled, Reason: store.ReasonCancelled, Error: usercode.CutError(is.Cancel.Reason)}
	case is.ContinueAsNew != nil && is.ContinueAsNew.Kind != kind:
		return &store.Outcome{State: store.Failed, Reason: store.ReasonTerminal, Error: usercode.CutError(fmt.Sprintf(
			"the handler of kind %q returned ContinueAsNew of kind %q, whose args it may not understand", kind, is.ContinueAsNew.Kind))}
	case is.Fail != nil, is.Step != nil && is.Step.Permanent, is.Full:
		return &store.Outcome{State: store.Failed, Reason: store.ReasonTerminal, Error: is.Text, Trace: trace}
	}
	return nil
}

// Later is the outcome of a handler whose error lets the job go on later, without a failure; nil:
// it does not. ended is why its context has ended: one that took too long does not continue as new.
func Later(is *usercode.Returned, ended error, now time.Time) *store.Outcome {
	switch {
	case is.ContinueAsNew != nil && (ended == nil || errors.Is(ended, usercode.ErrShutdown)):
		return &store.Outcome{State: store.Available, Continue: &store.Continue{Args: is.ContinueAsNew.Args, Codec: is.ContinueAsNew.Codec}}
	case is.HandOver != nil:
		return handedOver(is.HandOver.Limit, now)
	case is.Snooze != nil:
		return &store.Outcome{State: store.Scheduled, Reason: store.ReasonSnoozed, Delay: max(is.Snooze.Delay, 0)}
	case is.Throttled != nil:
		delay := min(max(is.Throttled.Delay, 0), store.MaxRest)
		return &store.Outcome{
			State: store.Scheduled, Reason: store.ReasonThrottled, Error: is.Text, Delay: delay,
			Rest: &store.RestParams{For: delay, Curve: is.Throttled.Curve},
		}
	}
	return nil
}

// handedOver is the outcome of a run whose job is finished from outside, or goes on here after the
// limit, if that is positive.
func handedOver(limit time.Duration, now time.Time) *store.Outcome {
	w := blocked.Wait([]blocked.On{{What: "its completion from outside"}})
	w.HandedOver = true
	if limit > 0 {
		w.Until = now.Add(limit)
	}
	return &store.Outcome{State: store.Waiting, Wait: w}
}
