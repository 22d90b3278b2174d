package outcome

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

var errBoom = errors.New("boom")

// TestReturned: what a handler asks for with its error; what ends the job comes first.
func TestReturned(t *testing.T) {
	now := time.Unix(100, 0)
	snooze := &usercode.SnoozeError{Delay: time.Hour}
	later := func(limit time.Duration) *store.Wait {
		w := &store.Wait{HandedOver: true, For: []byte(`{"waits_for":["its completion from outside"]}`)}
		if limit > 0 {
			w.Until = now.Add(limit)
		}
		return w
	}
	continued := &store.Outcome{State: store.Available, Continue: &store.Continue{Args: []byte("1")}}
	for name, c := range map[string]struct {
		err          error
		ended        error
		final, later *store.Outcome
	}{
		"an error": {err: errBoom},
		"fail": {
			err:   errors.Join(snooze, &usercode.FailError{Err: errBoom}),
			final: &store.Outcome{State: store.Failed, Reason: store.ReasonTerminal, Error: snooze.Error() + "\nboom", Trace: "stack"},
			later: &store.Outcome{State: store.Scheduled, Reason: store.ReasonSnoozed, Delay: time.Hour},
		},
		"cancel": {
			err:   &usercode.CancelError{Reason: "enough"},
			final: &store.Outcome{State: store.Cancelled, Reason: store.ReasonCancelled, Error: "enough"},
		},
		"a step that says so": {
			err:   &usercode.StepError{Step: "s", Message: "no", Permanent: true},
			final: &store.Outcome{State: store.Failed, Reason: store.ReasonTerminal, Error: "step s: no", Trace: "stack"},
		},
		"a step": {err: &usercode.StepError{Step: "s", Message: "no"}},
		"a full journal": {
			err:   usercode.ErrJournalFull,
			final: &store.Outcome{State: store.Failed, Reason: store.ReasonTerminal, Error: usercode.ErrJournalFull.Error(), Trace: "stack"},
		},
		"snooze": {err: snooze, later: &store.Outcome{State: store.Scheduled, Reason: store.ReasonSnoozed, Delay: time.Hour}},
		"snooze, to the past": {
			err: &usercode.SnoozeError{Delay: -1}, later: &store.Outcome{State: store.Scheduled, Reason: store.ReasonSnoozed},
		},
		"throttled": {
			err: fmt.Errorf("429: %w", &usercode.ThrottledError{Delay: -1, Curve: store.Backoff{Base: time.Second}}),
			later: &store.Outcome{
				State: store.Scheduled, Reason: store.ReasonThrottled, Error: "429: throttled",
				Rest: &store.RestParams{Curve: store.Backoff{Base: time.Second}},
			},
		},
		"throttled for ever": {
			err: &usercode.ThrottledError{Delay: 1 << 62},
			later: &store.Outcome{
				State: store.Scheduled, Reason: store.ReasonThrottled, Error: "throttled", Delay: store.MaxRest,
				Rest: &store.RestParams{For: store.MaxRest},
			},
		},
		"hand over": {err: &usercode.HandOverError{}, later: &store.Outcome{State: store.Waiting, Wait: later(0)}},
		"hand over for an hour": {
			err: &usercode.HandOverError{Limit: time.Hour}, later: &store.Outcome{State: store.Waiting, Wait: later(time.Hour)},
		},
		"continue":          {err: &usercode.ContinueError{Kind: "k", Args: []byte("1")}, later: continued},
		"continue, stopped": {err: &usercode.ContinueError{Kind: "k", Args: []byte("1")}, ended: usercode.ErrShutdown, later: continued},
		"continue, late":    {err: &usercode.ContinueError{Kind: "k"}, ended: usercode.ErrHeartbeat},
		"continue as another": {
			err: &usercode.ContinueError{Kind: "other", Args: []byte("1")},
			final: &store.Outcome{
				State: store.Failed, Reason: store.ReasonTerminal,
				Error: `the handler of kind "k" returned ContinueAsNew of kind "other", whose args it may not understand`,
			},
			later: continued,
		},
	} {
		is := usercode.Look(c.err)
		if diff := cmp.Diff(c.final, Final(&is, "k", "stack")); diff != "" {
			t.Errorf("%s ends the job: %s", name, diff)
		}
		if diff := cmp.Diff(c.later, Later(&is, c.ended, now)); diff != "" {
			t.Errorf("%s goes on later: %s", name, diff)
		}
	}
}

// TestOfRuns: outcomes that no handler asks for.
func TestOfRuns(t *testing.T) {
	if o := Released(); o.State != store.Available || o.Reason != store.ReasonReleased {
		t.Errorf("%+v", o)
	}
	if o := Contradiction("it does not fit"); o.State != store.Waiting || !o.Wait.Held || o.Reason != store.ReasonNondeterminism ||
		!strings.HasPrefix(o.Error, "it does not fit; deploy code that fits") {
		t.Errorf("%+v", o)
	}
	if o := Unreadable(errBoom); o.State != store.Retryable || o.Delay != 5*time.Second || o.Error != "boom" {
		t.Errorf("%+v", o)
	}
	lease := store.Lease{Number: 7}
	o := &store.Outcome{
		Lease: lease, State: store.Completed, Reason: "r", Error: "e", Trace: "t", Delay: 1, Result: []byte("1"), Wait: &store.Wait{},
		Continue: &store.Continue{}, HasChildren: true,
	}
	Replace(o, &store.Outcome{State: store.Failed, Reason: store.ReasonError})
	if diff := cmp.Diff(&store.Outcome{Lease: lease, State: store.Failed, Reason: store.ReasonError, HasChildren: true}, o); diff != "" {
		t.Error(diff)
	}
}
