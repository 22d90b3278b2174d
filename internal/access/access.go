// Package access is the door through which packages beside the root one reach what a client stands
// on, so that a capability of its own package needs no exported method of Client.
//
// The root package sets the variables when it is initialised, and a package that has a
// *holdfast.Client imports the root package. It cannot be named here, since the root package
// imports this one.
package access

import (
	"time"

	"github.com/holdfastdev/holdfast/internal/engine"
)

// Runner returns the runner of a *holdfast.Client's namespace.
var Runner func(client any) *engine.Runner

// Tests is what a test sets up below a client.
type Tests struct {
	// Rarely is that of engine.Config.
	Rarely time.Duration
	// Stub returns what is called instead of the function of a step, of the same type as like,
	// which is nil; or nil, if that function is to be called. tx tells that the step is a StepTx,
	// whose function is of another type.
	Stub func(kind, step string, like any, tx bool) (any, error)
}

// WithTests returns a holdfast.Option.
var WithTests func(t Tests) any
