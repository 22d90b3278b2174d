// Package play has what simulations are made of: dice that make the choices of a step, a clock,
// what is thrown when an invariant does not hold, and the search for the steps that are needed for
// that.
package play

import (
	"fmt"
	"runtime/debug"
)

// Violation is an invariant that does not hold. It is thrown, and caught by who replays the steps.
type Violation struct{ Invariant, Text string }

func (v Violation) String() string { return v.Invariant + ": " + v.Text }

// Brokenf says that an invariant does not hold.
func Brokenf(invariant, format string, args ...any) {
	panic(Violation{invariant, fmt.Sprintf(format, args...)})
}

// Failure is an invariant that did not hold.
type Failure struct {
	Invariant string
	Text      string
	Call      string // of the store, the last one before it
	At        int    // the step, from 0 on; that after the last one if it was only seen in the end
	Stack     string
}

// FailureOf is a violation that was thrown, or a panic of the store, which is one, too.
func FailureOf(thrown any, at int, call string) *Failure {
	if v, ok := thrown.(Violation); ok {
		return &Failure{Invariant: v.Invariant, Text: v.Text, Call: call, At: at}
	}
	return &Failure{Invariant: "Panic", Text: fmt.Sprint(thrown), Call: call, At: at, Stack: string(debug.Stack())}
}
