package usercode

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"

	"github.com/holdfastdev/holdfast/store"
)

// PanicError is a panic of a user's function: a handler, a strand, a compensation.
type PanicError struct {
	value any
	Stack string
}

// PanicOf is called with what was recovered, where it was. The panic of a strand stays that of the
// strand where it is awaited.
func PanicOf(p any) *PanicError {
	if e, ok := p.(*PanicError); ok {
		return e
	}
	return &PanicError{p, string(debug.Stack())}
}

func (e *PanicError) Error() string { return PanicText(e.value) }

// LogValue is what the log has of the panic. That is the user's code: a logger asks for it when it
// writes the line.
func (e *PanicError) LogValue() slog.Value { return slog.StringValue(CutError(e.Error())) }

// PanicText is how a panic is told as an error.
func PanicText(value any) string { return fmt.Sprintf(panicPrefix+"%v", value) }

const panicPrefix = "panic: "

// IsPanic reports whether an outcome tells of a panic, and not of an error or of a handler that is
// stuck.
func IsPanic(o *store.Outcome) bool { return o.Trace != "" && strings.HasPrefix(o.Error, panicPrefix) }
