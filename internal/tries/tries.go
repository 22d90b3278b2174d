// Package tries is how a step is tried, and what it means that a try has failed.
//
// # Imports
//
// Of ours, store, internal/heartbeat, journal and usercode.
package tries

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/internal/journal"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// Policy is how a step is tried.
type Policy struct {
	Attempts int           // how often at the most; 0 and 1: once
	Backoff  store.Backoff // between them
	Timeout  time.Duration // of one attempt; 0: none but the run's
	// Heartbeat is how long an attempt may go without progress; 0: the run's limit holds.
	Heartbeat time.Duration
	// Retry reports whether an error is worth another attempt; nil: all are, but FailError.
	Retry func(error) bool
}

// ErrTimeout is the cause with which the context of a step ends that takes too long.
var ErrTimeout = errors.New("holdfast: step timed out")

// SilentError is the cause with which the context of a step ends that makes no progress. It is an
// ErrHeartbeat, but not the run's.
type SilentError struct{}

// Error is the text of ErrHeartbeat.
func (SilentError) Error() string { return usercode.ErrHeartbeat.Error() }

// Unwrap returns ErrHeartbeat.
func (SilentError) Unwrap() error { return usercode.ErrHeartbeat }

// lateError is the error of a step that has taken too long, or made no progress.
type lateError struct {
	late string
	err  error
}

func (e *lateError) Error() string {
	// Those of a context say no more.
	if slices.Contains([]error{context.DeadlineExceeded, context.Canceled, ErrTimeout, SilentError{}}, e.err) {
		return e.late
	}
	return fmt.Sprintf("%s: %v", e.late, e.err)
}

func (e *lateError) Unwrap() error { return e.err }

// Late returns the error of a step, and first that the step has taken too long, or made no
// progress, if that is the cause with which its context has ended.
func (p *Policy) Late(cause, err error) error {
	var silent SilentError
	switch {
	case errors.Is(cause, ErrTimeout):
		return &lateError{fmt.Sprintf("timed out after %v", p.Timeout), err}
	case errors.As(cause, &silent):
		return &lateError{fmt.Sprintf("no heartbeat for %v", p.Heartbeat), err}
	}
	return err
}

// FailedError marks an error as that of a step's function, and not of the run around it. It holds
// all that is asked of that error: it and Policy.Retry are the user's code, which is not called
// with the lock of a run's state.
type FailedError struct {
	Told   usercode.StepError // its Step is set by Entry
	Misuse error              // that the function was told of, or is
	Stack  string             // of a panic
	Delay  time.Duration
	Again  bool // after the delay
}

// Error is that of the function.
func (e *FailedError) Error() string { return e.Told.Message }

// Failed looks at the error of a step's function.
func (p *Policy) Failed(err error, attempt int) *FailedError {
	e := &FailedError{Misuse: usercode.ForHandlers(err)}
	e.Told = usercode.StepError{Message: usercode.ErrorText(err), Type: fmt.Sprintf("%T", err), Attempts: attempt}
	_, e.Told.TimedOut = err.(*lateError) //nolint:errorlint // that of this very step
	if p, ok := errors.AsType[*usercode.PanicError](err); ok {
		e.Stack = usercode.CutTrace(p.Stack)
	}
	e.Delay, e.Again = p.next(err, attempt)
	if !e.Again {
		var fail *usercode.FailError
		e.Told.Permanent = errors.As(err, &fail)
	}
	return e
}

// next is how long to wait before another attempt, if there is one.
func (p *Policy) next(err error, attempt int) (delay time.Duration, again bool) {
	var fail *usercode.FailError
	var retry *usercode.RetryError
	switch {
	case attempt >= p.Attempts, errors.As(err, &fail):
		return 0, false
	case errors.As(err, &retry):
		return max(retry.Delay, 0), true
	case p.Retry != nil && !p.Retry(err):
		return 0, false
	}
	return p.Backoff.Delay(attempt), true
}

// Entry is what the journal remembers of the try of a step, or of a compensation, that has failed,
// and when the next one is due, if there is one.
func (e *FailedError) Entry(path, name string, now time.Time) (entry store.Entry, again time.Time) {
	e.Told.Step = name
	entry = store.Entry{Kind: store.EntryStepFailed, Path: path, Name: name, Data: journal.Encode(&e.Told)}
	if e.Again {
		again = now.Add(e.Delay)
		entry.Kind, entry.Data = store.EntryStepRetry, journal.Encode(journal.Retry{Failure: e.Told, Until: again})
	}
	return entry, again
}

// Before is what the journal has of a step, or of a compensation.
type Before struct {
	Ended   bool
	Result  []byte    // of a step that has succeeded
	Attempt int       // of one that has not ended: the next
	Until   time.Time // when that is due; zero: now
}

// BeforeIn reads the entries of a step or a compensation. The error is that of one which failed.
func BeforeIn(entries []*store.Entry) (Before, error) {
	b := Before{Attempt: 1}
	for _, e := range entries {
		var err error
		switch e.Kind {
		case store.EntryStep, store.EntryCompensated:
			b.Ended = true
			b.Result, err = journal.Unpack(e.Data, e.Codec)
			return b, err
		case store.EntryStepFailed:
			b.Ended = true
			return b, journal.FailureOf(e)
		default:
			var r journal.Retry
			if err := journal.Decode(e, &r); err != nil {
				return b, err
			}
			b.Attempt, b.Until = r.Failure.Attempts+1, r.Until
		}
	}
	return b, nil
}
