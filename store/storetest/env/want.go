package env

import (
	"bytes"
	"errors"
	"slices"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfastdev/holdfast/store"
)

// Equal compares two values of the contract: times by the instant, JSON documents by what they say.
func (e *Env) Equal(what string, got, want any, opts ...cmp.Option) {
	e.Helper()
	if diff := Difference(want, got, opts...); diff != "" {
		e.Fatalf("%s differs (-want +got):\n%s", what, diff)
	}
}

// NoError checks that something has succeeded.
func (e *Env) NoError(what string, err error) {
	e.Helper()
	if err != nil {
		e.Fatalf("%s: %v", what, err)
	}
}

// WantErr checks an error's class, and that it says things once.
func (e *Env) WantErr(what string, err, class error) {
	e.Helper()
	if !errors.Is(err, class) {
		e.Fatalf("%s: error is %v, want %v", what, err, class)
	}
	if wrong := misspoken(err); wrong != "" {
		e.Errorf("%s: %s: %q", what, wrong, err)
	}
}

// WantIDs checks a list of ids, order included.
func (e *Env) WantIDs(what string, got []store.ID, want ...store.ID) {
	e.Helper()
	e.Equal(what, got, want)
}

// WantSameIDs checks a list of ids whose order is not promised.
func (e *Env) WantSameIDs(what string, got []store.ID, want ...store.ID) {
	e.Helper()
	byID := func(a, b store.ID) int { return bytes.Compare(a[:], b[:]) }
	e.Equal(what, slices.SortedFunc(slices.Values(got), byID), slices.SortedFunc(slices.Values(want), byID))
}

// ErrOf is the error of a verb whose answer does not matter.
func ErrOf[T any](_ T, err error) error { return err }
