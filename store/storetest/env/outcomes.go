package env

import (
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// EndStates are the states in which a run may end.
var EndStates = []store.State{store.Completed, store.Failed, store.Cancelled, store.Retryable, store.Scheduled, store.Available}

// Outcome returns what ends the given run in the given state, with the flags that an engine would
// set.
func Outcome(c store.Claimed, state store.State, change ...func(*store.Outcome)) *store.Outcome {
	o := c.Outcome(state)
	o.StartedAt = c.ClaimedAt
	switch state {
	case store.Completed:
		o.Result, o.Codec = []byte(`"done"`), c.Job.Codec
	case store.Retryable:
		o.Reason, o.Error, o.Delay = store.ReasonError, "it broke", time.Minute
	case store.Failed:
		o.Reason, o.Error, o.Fingerprint = store.ReasonTerminal, "it is broken", -5
	case store.Scheduled:
		o.Reason, o.Delay = store.ReasonSnoozed, time.Minute
	case store.Available:
		o.Reason = store.ReasonReleased
	case store.Cancelled:
		o.Reason, o.Error = store.ReasonCancelled, "the handler gave up"
	case store.Waiting:
		o.Wait = &store.Wait{}
	case store.Running: // no run ends so; for tests that try it
	}
	for _, f := range change {
		f(o)
	}
	return o
}

// Repeated returns the outcome as it is sent again.
func Repeated(o *store.Outcome) *store.Outcome {
	again := *o
	again.Repeat, again.Final, again.Due, again.Err = true, 0, time.Time{}, nil
	return &again
}

// WithChildren says in an outcome that there are children.
func WithChildren(o *store.Outcome) { o.HasChildren = true }

// AsNew is the change that makes a release a continuation (ContinueAsNew).
func AsNew(args string) func(*store.Outcome) {
	return func(o *store.Outcome) {
		o.Durable = true
		o.Continue = &store.Continue{Args: []byte(args), Data: []byte(`{"n":1}`)}
	}
}
