package engine

import (
	"errors"
	"fmt"
)

// returned is what a function of the user's has returned as its error, looked at once: the methods of the error are the user's code,
// too, and may panic.
type returned struct {
	text   string
	cancel *CancelError
	fail   *FailError
	step   *StepError
	again  *ContinueError
	snooze *SnoozeError
	retry  *RetryError
	full   bool // ErrJournalFull
}

func lookAt(err error) (r returned) {
	r.text = errorText(err)
	if p := recovered(func() {
		for _, target := range []any{&r.cancel, &r.fail, &r.step, &r.again, &r.snooze, &r.retry} {
			errors.As(err, target)
		}
		r.full = errors.Is(err, ErrJournalFull)
	}); p != nil {
		r.text = cut(fmt.Sprintf("panic in a method of the returned error, a %T: %v; it says: %s", err, p, r.text), maxError)
	}
	return r
}

// errorText is what an error says.
func errorText(err error) (text string) {
	if p := recovered(func() { text = err.Error() }); p != nil {
		text = fmt.Sprintf("panic in the Error method of the returned error, a %T: %v", err, p)
	}
	return cut(text, maxError)
}

// is reports whether an error is another one.
func is(err, target error) (yes bool) {
	recovered(func() { yes = errors.Is(err, target) })
	return yes
}

// recovered calls f, and returns what it panicked with.
func recovered(f func()) (p any) {
	defer func() { p = recover() }()
	f()
	return nil
}

// forHandlers returns the misuse of an error that only a handler may return, or nil.
func forHandlers(err error) error {
	r := lookAt(err)
	switch {
	case r.again != nil:
		return handlersOnlyError("ContinueAsNew")
	case r.snooze != nil:
		return handlersOnlyError("Snooze")
	case r.cancel != nil:
		return handlersOnlyError("Cancel")
	}
	return nil
}

// handlersOnlyError is the misuse of a function that is no handler and has returned what only a handler may.
type handlersOnlyError string

func (e handlersOnlyError) Error() string {
	return "it returned " + string(e) + ", which only a handler may return"
}
