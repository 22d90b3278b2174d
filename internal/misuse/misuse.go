// Package misuse is how the code of a durable function uses its run as it must not.
//
// # Imports
//
// Of ours, store.
package misuse

import (
	"errors"
	"fmt"

	"github.com/holdfastdev/holdfast/store"
)

// Error tells that the code of a durable function used its run as it must not: an operation inside
// of a step, one run in two goroutines, a run whose function has returned, something that another
// run has made. It is a store.ErrInvalid.
//
// Go does not tell which goroutine calls. What is known is which operation of a strand is under
// way: a caller that begins another one is in the function of that step, or in another goroutine.
// It is always the second that is refused, whichever of the two was wrong.
//
// A misuse spoils its run: the attempt fails with it, whatever the code makes of the error, since
// what it would go on to remember may have no place in the journal of the mended code. Nothing of
// the operation that was under way is remembered but what was stored already, and no operation
// begins any more. The job is tried again as after a panic, and goes on once the code is mended.
type Error struct{ Text string }

// Error says so.
func (e *Error) Error() string { return store.ErrInvalid.Error() + ": " + e.Text }

// Unwrap returns ErrInvalid.
func (e *Error) Unwrap() error { return store.ErrInvalid }

// In finds the misuse that an error of the user's code tells of, or nil.
func In(err error) error {
	if found, ok := errors.AsType[*Error](err); ok {
		return found
	}
	return nil
}

// SpoiledError is how a run fails that was spoiled, whatever its handler returned.
type SpoiledError struct{ Text string }

// Error is its text.
func (e *SpoiledError) Error() string { return e.Text }

// Operation is an operation of a strand as the code names it, for messages.
type Operation struct {
	Verb string // such as "run.Sleep"
	Name string // such as that of a step; may be empty
}

// String is the operation as the code names it.
func (o Operation) String() string {
	if o.Name == "" {
		return o.Verb
	}
	return fmt.Sprintf("%s %q", o.Verb, o.Name)
}

// IsStep reports whether the operation is a step.
func (o Operation) IsStep() bool { return o.Verb == VerbStep || o.Verb == VerbStepTx }

// Ends reports whether the operation ends the job.
func (o Operation) Ends() bool { return o.Verb == VerbCompleteTx || o.Verb == VerbFailTx }

// Verbs that mean something.
const (
	VerbStep       = "holdfast.Step"
	VerbStepTx     = "holdfast.StepTx"
	VerbCompleteTx = "run.CompleteTx"
	VerbFailTx     = "run.FailTx"
	VerbCallAll    = "Kind.CallAll"
)
