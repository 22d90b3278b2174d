package replay

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/misuse"
	"github.com/holdfastdev/holdfast/internal/stopwatch"
	"github.com/holdfastdev/holdfast/internal/tries"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// StepPolicy is how a step is tried.
type StepPolicy = tries.Policy

// Step runs f, unless the journal knows how it ended, and stores its result.
func (s *Strand) Step(name string, policy StepPolicy, f func(ctx context.Context, attempt int) ([]byte, error)) ([]byte, error) {
	return s.step(misuse.VerbStep, name, func(ctx context.Context, m *replayState, path string, attempt int) ([]byte, error) {
		began := stopwatch.Begin()
		data, err := s.callStep(ctx, m, policy, attempt, f)
		if err != nil {
			return nil, err
		}
		took := began.Took()
		if err := s.ruined(); err != nil {
			return nil, err
		}
		e := store.Entry{Kind: store.EntryStep, Path: path, Name: name, Data: data, Took: took}
		if s.undo {
			m.Record(e) // a compensation that is tried again comes past it
		} else {
			m.StoreLater(e)
		}
		m.flush()
		return data, nil
	})
}

// callStep calls a step's function, without the state's lock.
func (s *Strand) callStep(
	ctx context.Context, m *replayState, policy StepPolicy, attempt int, f func(context.Context, int) ([]byte, error),
) ([]byte, error) {
	s.fresh.Store(true)
	m.mu.Unlock()
	defer m.mu.Lock() // also if f panics
	if policy.Timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, policy.Timeout, tries.ErrTimeout)
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
	return nil, failed(&policy, policy.Late(context.Cause(ctx), err), attempt)
}

// failed looks at the error of a step's function.
func failed(p *StepPolicy, err error, attempt int) *tries.FailedError {
	e := p.Failed(err, attempt)
	if m := misuse.In(err); m != nil {
		e.Misuse = m
	}
	return e
}

// misusedIn returns the misuse that a step which has failed did or was told of: that is no failure
// of its own, to be tried again or remembered.
func (s *Strand) misusedIn(m *replayState, failure *tries.FailedError) error {
	err := failure.Misuse
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
	return s.spoil(m, err)
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
	path, entries, err := s.arrive(m, name, store.EntryStep, store.EntryStepFailed, store.EntryStepRetry)
	if err != nil {
		return nil, err
	}
	before, err := tries.BeforeIn(entries)
	if before.Ended || err != nil {
		return before.Result, err
	}
	if err := s.mayBegin(m); err != nil {
		return nil, err
	}
	until := before.Until
	for attempt := before.Attempt; ; attempt++ {
		if err := s.untilNext(m, until, name, attempt); err != nil {
			return nil, err
		}
		// What was decided until here is stored before the step acts on it.
		m.flush()
		m.settled()
		began := stopwatch.Begin()
		data, err := try(s.Context(), m, path, attempt)
		failure, ok := err.(*tries.FailedError) //nolint:errorlint // it is never wrapped
		if !ok {
			return data, err
		}
		if err := s.interrupted(m); err != nil {
			return nil, err
		}
		if err := s.misusedIn(m, failure); err != nil {
			return nil, err
		}
		e, again := failure.Entry(path, name, s.run.host.Now())
		e.Took = began.Took()
		m.Record(e)
		if !failure.Again {
			return nil, &failure.Told
		}
		until = again
		m.flush()
		s.run.host.Say(slog.LevelWarn, "step failed; it will be retried",
			slog.String(logs.KeyStep, name), slog.Int(logs.KeyTries, attempt), slog.String(logs.KeyError, failure.Told.Message),
			slog.Time(logs.KeyRetryAt, until))
	}
}

// untilNext waits for the next attempt of a step, if there was one before.
func (s *Strand) untilNext(m *replayState, at time.Time, name string, attempt int) error {
	if at.IsZero() {
		return nil
	}
	return s.until(m, at, func() string { return fmt.Sprintf("step %s, attempt %d", name, attempt) })
}

// interrupted tells why a step's error is not its own: the run is over here, or is ending.
func (s *Strand) interrupted(m *replayState) error {
	// An end that came from outside wakes who waits for it; no code is to take it for a failure.
	m.leaveIfEnded()
	if m.exiting {
		m.exit()
	}
	if s.undo || s.Context().Err() == nil {
		return nil
	}
	return context.Cause(s.Context())
}
