package engine

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/holdfastdev/holdfast/internal/logs/logstest"
	"github.com/holdfastdev/holdfast/internal/replay"
	"github.com/holdfastdev/holdfast/internal/usercode"
	"github.com/holdfastdev/holdfast/store"
)

// nilError panics in Error if it is nil, as many do.
type nilError struct{ text string }

func (e *nilError) Error() string { return e.text }

// badError panics in the method named.
type badError string

func (e badError) Error() string {
	if e == "Error" {
		panic("bad Error")
	}
	return "bad"
}

func (e badError) Is(error) bool { return e.panics("Is") }

func (e badError) As(any) bool { return e.panics("As") }

func (e badError) Unwrap() error {
	e.panics("Unwrap")
	return nil
}

func (e badError) panics(in badError) bool {
	if e == in {
		panic("bad " + string(in))
	}
	return false
}

// TestErrorsWhoseMethodsPanic: the attempt fails with a message about the user's error, and what
// the error says about the job's end still applies.
func TestErrorsWhoseMethodsPanic(t *testing.T) {
	const method = "panic in the Error method of the returned error, a "
	for name, test := range map[string]struct {
		err    error
		reason store.Reason
		said   string
	}{
		"a nil pointer":      {(*nilError)(nil), store.ReasonAttemptsExhausted, method + "*engine.nilError: "},
		"Error":              {badError("Error"), store.ReasonAttemptsExhausted, method + "engine.badError: bad Error"},
		"Is":                 {badError("Is"), store.ReasonAttemptsExhausted, "bad Is"},
		"As":                 {badError("As"), store.ReasonAttemptsExhausted, "bad As"},
		"Unwrap":             {badError("Unwrap"), store.ReasonAttemptsExhausted, "bad Unwrap"},
		"Fail around Error":  {&usercode.FailError{Err: badError("Error")}, store.ReasonTerminal, "bad Error"},
		"Fail around a nil":  {&usercode.FailError{Err: (*nilError)(nil)}, store.ReasonTerminal, "nil pointer"},
		"a spoiled run's":    {errors.New("fine"), store.ReasonAttemptsExhausted, "run.Now was called during"},
		"a spoiled run's Is": {badError("Is"), store.ReasonAttemptsExhausted, "run.Now was called during"},
	} {
		t.Run(name, func(t *testing.T) {
			var log logstest.Book
			inBed(t, Config{Logger: log.Logger(t, slog.LevelInfo)}, func(b *bed) {
				b.handle("k", func(_ context.Context, r Attempt) ([]byte, error) {
					if strings.HasPrefix(name, "a spoiled") {
						_, _ = r.Main().Step("s", replay.StepPolicy{}, func(context.Context, int) ([]byte, error) {
							_, err := r.Main().Now()
							return nil, err
						})
					}
					return nil, test.err
				}).MaxAttempts = 1
				b.run()
				ended := b.wait(b.enqueue(b.job("k")))
				b.expect(ended, store.Failed, test.reason)
				if !strings.Contains(ended.Error, test.said) {
					t.Errorf("it says %q", ended.Error)
				}
				synctest.Wait()
				if h := b.runner().Health(); len(h.Troubles) > 0 {
					t.Errorf("they are told as Holdfast's: %+v", h.Troubles)
				}
				log.Only(t, "ERROR", "job failed", nil)
			})
		})
	}
}

// TestWhatOnlyHandlersReturn: it is misuse in a step and in a compensation.
func TestWhatOnlyHandlersReturn(t *testing.T) {
	for what, err := range map[string]error{
		"ContinueAsNew": &usercode.ContinueError{Args: []byte(`1`)}, "Snooze": &usercode.SnoozeError{Delay: 1},
		"Cancel": &usercode.CancelError{Reason: "enough"},
	} {
		t.Run(what, func(t *testing.T) {
			inBed(t, Config{}, func(b *bed) {
				b.handle("step", func(_ context.Context, r Attempt) ([]byte, error) {
					return r.Main().Step("s", replay.StepPolicy{Attempts: 5}, func(context.Context, int) ([]byte, error) { return nil, err })
				}).MaxAttempts = 1
				b.run()
				ended := b.wait(b.enqueue(b.job("step")))
				b.expect(ended, store.Failed, store.ReasonAttemptsExhausted)
				if !strings.HasPrefix(ended.Error, store.ErrInvalid.Error()) ||
					!strings.Contains(ended.Error, "its function returned "+what+", which only a handler may return") {
					t.Errorf("it says %q", ended.Error)
				}
			})
		})
	}
}
