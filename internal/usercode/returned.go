package usercode

import (
	"errors"
	"fmt"
)

// Returned is what a function of the user's has returned as its error, looked at once: the methods
// of the error are the user's code, too, and may panic.
type Returned struct {
	Text          string
	Cancel        *CancelError
	Fail          *FailError
	Step          *StepError
	ContinueAsNew *ContinueError
	HandOver      *HandOverError
	Snooze        *SnoozeError
	Throttled     *ThrottledError
	Retry         *RetryError
	Full          bool // ErrJournalFull
}

// Look looks at an error that is not nil.
func Look(err error) (r Returned) {
	r.Text = ErrorText(err)
	p := recovered(func() {
		for _, target := range []any{&r.Cancel, &r.Fail, &r.Step, &r.ContinueAsNew, &r.HandOver, &r.Snooze, &r.Throttled, &r.Retry} {
			errors.As(err, target)
		}
		r.Full = errors.Is(err, ErrJournalFull)
	})
	if p != nil {
		r.Text = Cut(fmt.Sprintf("panic in a method of the returned error, a %T: %v; it says: %s", err, p, r.Text), MaxError)
	}
	return r
}

// ErrorText is what an error says.
func ErrorText(err error) (text string) {
	if p := recovered(func() { text = err.Error() }); p != nil {
		text = fmt.Sprintf("panic in the Error method of the returned error, a %T: %v", err, p)
	}
	return Cut(text, MaxError)
}

// Is reports whether an error is another one.
func Is(err, target error) (yes bool) {
	recovered(func() { yes = errors.Is(err, target) })
	return yes
}

// recovered calls f, and returns what it panicked with.
func recovered(f func()) (p any) {
	defer func() { p = recover() }()
	f()
	return nil
}

// ForHandlers returns the misuse of an error that only a handler may return, or nil.
func ForHandlers(err error) error {
	r := Look(err)
	switch {
	case r.ContinueAsNew != nil:
		return HandlersOnlyError("ContinueAsNew")
	case r.HandOver != nil:
		return HandlersOnlyError("HandOver")
	case r.Snooze != nil:
		return HandlersOnlyError("Snooze")
	case r.Throttled != nil:
		return HandlersOnlyError("Throttled")
	case r.Cancel != nil:
		return HandlersOnlyError("Cancel")
	}
	return nil
}

// HandlersOnlyError is the misuse of a function that is no handler and has returned what only a
// handler may.
type HandlersOnlyError string

func (e HandlersOnlyError) Error() string {
	return "it returned " + string(e) + ", which only a handler may return"
}

var errNil = errors.New("must not be nil")

// Failure returns what is stored of an error that a job is to fail with, or why it cannot be one.
func Failure(err error) (text string, refused error) {
	if err == nil {
		return "", errNil
	}
	if refused := ForHandlers(err); refused != nil {
		return "", refused
	}
	return ValidText(CutError(ErrorText(err))), nil
}
