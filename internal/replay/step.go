package replay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/holdfastdev/holdfast/internal/journal"
	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// StepPolicy is how a step is tried.
type StepPolicy struct {
	Attempts int           // how often at the most; 0 and 1: once
	Backoff  store.Backoff // between them
	Timeout  time.Duration // of one attempt; 0: none but the run's
	// Heartbeat is how long an attempt may go without progress; 0: the run's limit holds.
	Heartbeat time.Duration
	// Retry reports whether an error is worth another attempt; nil: all are, but FailError.
	Retry func(error) bool
}

// Step runs f, unless the journal knows how it ended, and stores its result.
func (s *Strand) Step(name string, policy StepPolicy, f func(ctx context.Context, attempt int) ([]byte, error)) ([]byte, error) {
	return s.step(verbStep, name, func(ctx context.Context, m *replayState, path string, attempt int) ([]byte, error) {
		began := s.run.host.Now()
		data, err := s.unlocked(ctx, m, policy, attempt, f)
		if err != nil {
			return nil, err
		}
		took := s.since(began)
		if err := s.ruined(); err != nil {
			return nil, err
		}
		e := store.Entry{Kind: store.EntryStep, Path: path, Name: name, Data: data, Took: took}
		if s.undo {
			m.add(e) // a compensation that is tried again comes past it
		} else {
			m.addPending(e)
		}
		return data, m.flush()
	})
}

// unlocked calls a step's function without the state's lock.
func (s *Strand) unlocked(
	ctx context.Context, m *replayState, policy StepPolicy, attempt int, f func(context.Context, int) ([]byte, error),
) ([]byte, error) {
	m.mu.Unlock()
	defer m.mu.Lock() // also if f panics
	if policy.Timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, policy.Timeout, errStepTimeout)
		defer stop()
	}
	if policy.Heartbeat > 0 {
		var done func()
		ctx, done = s.expectBeats(ctx, policy.Heartbeat)
		defer done()
	}
	data, err := f(ctx, attempt)
	if err == nil {
		return data, nil
	}
	if late := policy.lateness(context.Cause(ctx)); late != "" {
		err = &stepTimeoutError{late, err}
	}
	return nil, policy.failed(err, attempt)
}

var errStepTimeout = errors.New("holdfast: step timed out")

// stepTimeoutError is the error of a step that has taken too long, or made no progress.
type stepTimeoutError struct {
	late string
	err  error
}

func (e *stepTimeoutError) Error() string {
	for _, bare := range []error{context.DeadlineExceeded, context.Canceled, errStepTimeout, silentStepError{}} {
		if e.err == bare { //nolint:errorlint // one of a context, which says no more
			return e.late
		}
	}
	return fmt.Sprintf("%s: %v", e.late, e.err)
}

func (e *stepTimeoutError) Unwrap() error { return e.err }

// stepFailedError marks an error as that of a step's function, and not of the run around it. It
// holds all that is asked of that error: it and RetryIf are the user's code, which is not called
// with the state's lock.
type stepFailedError struct {
	told   usercode.StepError // but for the step's name
	misuse error              // that the function was told of, or is
	stack  string             // of a panic
	delay  time.Duration
	again  bool // after the delay
}

func (e *stepFailedError) Error() string { return e.told.Message }

// failed looks at the error of a step's function.
func (p StepPolicy) failed(err error, attempt int) *stepFailedError {
	e := &stepFailedError{misuse: misuseIn(err)}
	e.told = usercode.StepError{Message: usercode.ErrorText(err), Type: fmt.Sprintf("%T", err), Attempts: attempt}
	_, e.told.TimedOut = err.(*stepTimeoutError) //nolint:errorlint // that of this very step
	if p, ok := errors.AsType[*usercode.PanicError](err); ok {
		e.stack = usercode.CutTrace(p.Stack)
	}
	if e.misuse == nil {
		e.misuse = usercode.ForHandlers(err)
	}
	if e.delay, e.again = p.next(err, attempt); !e.again {
		var fail *usercode.FailError
		e.told.Permanent = errors.As(err, &fail)
	}
	return e
}

// misusedIn returns the misuse that a step which has failed did or was told of: that is no failure
// of its own, to be tried again or remembered.
func (s *Strand) misusedIn(m *replayState, failure *stepFailedError) error {
	err := failure.misuse
	switch {
	case s.misused:
		return s.fault.err
	case err == nil:
		return nil
	}
	if only, ok := err.(usercode.HandlersOnlyError); ok { //nolint:errorlint // it is never wrapped
		err = s.misuse("%s: its function returned %[2]s, which only a handler may return; return a value from the "+
			"function, and %[2]s from the handler", s.doing, string(only))
	}
	s.spoil(m, err)
	return err
}

// stepBefore is what the journal has of a step: how it ended, or its next attempt, and when that is
// due.
func stepBefore(entries []*store.Entry) (result []byte, ended bool, attempt int, until time.Time, err error) {
	attempt = 1
	for _, e := range entries {
		switch e.Kind {
		case store.EntryStep:
			result, err = journal.Unpack(e.Data, e.Codec)
			return result, true, attempt, until, err
		case store.EntryStepFailed:
			return nil, true, attempt, until, journal.FailureOf(e)
		default:
			var r journal.Retry
			if err := journal.Decode(e, &r); err != nil {
				return nil, false, attempt, until, err
			}
			attempt, until = r.Failure.Attempts+1, r.Until
		}
	}
	return nil, false, attempt, until, nil
}

// step is a step of either sort: try runs it and stores its result.
func (s *Strand) step(
	verb, name string, try func(ctx context.Context, m *replayState, path string, attempt int) ([]byte, error),
) ([]byte, error) {
	m, err := s.begin(verb, name)
	if err != nil {
		return nil, err
	}
	defer s.end(m)
	path, entries := s.enter(m, name, store.EntryStep, store.EntryStepFailed, store.EntryStepRetry)
	result, ended, attempt, until, err := stepBefore(entries)
	if ended || err != nil {
		return result, err
	}
	if err := s.mayBegin(m); err != nil {
		return nil, err
	}
	for ; ; attempt++ {
		if err := s.until(m, until, func() string { return fmt.Sprintf("step %s, attempt %d", name, attempt) }); err != nil {
			return nil, err
		}
		// What was decided until here is stored before the step acts on it.
		if err := m.flush(); err != nil {
			return nil, err
		}
		began := s.run.host.Now()
		data, err := try(s.Context(), m, path, attempt)
		failure, ok := err.(*stepFailedError) //nolint:errorlint // it is never wrapped
		if !ok {
			return data, err
		}
		if err := s.interrupted(m); err != nil {
			return nil, err
		}
		if err := s.misusedIn(m, failure); err != nil {
			return nil, err
		}
		told := &failure.told
		told.Step = name
		took := s.since(began)
		if !failure.again {
			m.add(store.Entry{Kind: store.EntryStepFailed, Path: path, Name: name, Data: journal.Encode(told), Took: took})
			return nil, told
		}
		until = s.run.host.Now().Add(failure.delay)
		m.add(store.Entry{
			Kind: store.EntryStepRetry, Path: path, Name: name, Took: took, Data: journal.Encode(journal.Retry{Failure: *told, Until: until}),
		})
		if err := m.flush(); err != nil {
			return nil, err
		}
		s.run.host.Say(slog.LevelWarn, "step failed; it will be retried",
			slog.String(logs.KeyStep, name), slog.Int(logs.KeyTries, attempt), slog.String(logs.KeyError, told.Message),
			slog.Time(logs.KeyRetryAt, until))
	}
}

// since is how long ago a time of the store's clock is.
func (s *Strand) since(t time.Time) time.Duration { return max(0, s.run.host.Now().Sub(t)) }

// next is how long to wait before another attempt, if there is one.
func (p StepPolicy) next(err error, attempt int) (delay time.Duration, again bool) {
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

// interrupted tells why a step's error is not its own: the run is over here, or is ending.
func (s *Strand) interrupted(m *replayState) error {
	if s.run.life.Ended() != nil {
		// The run's end came from outside, and wakes who waits for it; no code is to take it for a
		// failure.
		m.leave(&store.Outcome{State: store.Available, Reason: store.ReasonReleased})
	}
	if m.exiting {
		m.exit()
	}
	if s.undo || s.Context().Err() == nil {
		return nil
	}
	return context.Cause(s.Context())
}
