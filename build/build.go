// Package build says by which program jobs are run.
//
// Each node tells how its program was built: the version of its main module as Go has put it into
// the program, such as v1.2.3, or with the commit if it was built between versions; and the version
// of Holdfast in it. What is known of a job (holdfast.Client.Get, "holdfast job get") tells both of
// the run that runs, or has finished it (store.Record.Build), and of each attempt that did not
// (store.Attempt.Build). It is kept for a year from the end of the node, and as long as any job may
// be that has ended on it, but no longer than ten years; runs write nothing for it.
//
// A program that Go's version says little of, as it was built in a container without its
// repository, says itself what it is, with the option As.
//
// # Imports
//
// The root package, internal/access, internal/builds and store.
package build

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/internal/builds"
	"github.com/holdfastdev/holdfast/store"
)

// MostBytes is how long the name of a build may be.
const MostBytes = 200

// As lets the nodes of a client tell that this is their build, such as "shop 2026-11-27 4f1c2d9",
// instead of what Go has put into the program. It is UTF-8 of at most MostBytes bytes, without
// control characters; "" is what Go says. Open returns ErrInvalid for any other.
func As(name string) holdfast.Option {
	if len(name) > MostBytes || !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		err := fmt.Errorf("%w: build %.60q: a build is at most %d bytes of UTF-8 without control characters",
			store.ErrInvalid, name, MostBytes)
		return access.Fails(err).(holdfast.Option) //nolint:errcheck // always one
	}
	return access.Build(name).(holdfast.Option) //nolint:errcheck // always one
}

// Current is what the nodes of this process tell if As does not say otherwise.
func Current() store.Build { return store.Build{Program: builds.Program(), Engine: builds.Engine()} }
