// Package env is what conformance tests are written with: a fresh store with a virtual clock,
// builders of jobs and outcomes, short words for what tests do all the time, and expectations.
package env

import (
	"context"
	"encoding/binary"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/holdfastdev/holdfast/store"
)

// Namespace is the one that tests use unless they are about namespaces.
const Namespace = "default"

// OtherSpace is a namespace beside the usual one.
const OtherSpace = "other"

// Env is what one test works with: a store, its clock, and short words for what tests do all the
// time. Its methods fail the test on an error that the test did not ask for.
type Env struct {
	*testing.T
	Ctx   context.Context
	Store store.Store
	Clock *Clock
	IDs   *IDs
	seqs  *atomic.Int64                 // of claims; never reused
	space string                        // the namespace
	Open  Factory                       // for tests that need a second store
	told  *atomic.Pointer[[]store.Wake] // by the last of the verbs that answer with wake-ups
}

// New opens a fresh store for a test.
func New(t *testing.T, open Factory) *Env {
	t.Helper()
	clock := NewClock()
	e := On(t, open(t, clock), clock)
	e.Open = open
	return e
}

// On is the environment of a test whose store is open.
func On(t *testing.T, s store.Store, clock *Clock) *Env {
	return &Env{
		T: t, Ctx: t.Context(), Store: s, Clock: clock, IDs: NewIDs(clock), seqs: new(atomic.Int64), space: Namespace,
		told: new(atomic.Pointer[[]store.Wake]),
	}
}

// Competes says that a test lets goroutines compete. It has to be in a group that says so by its
// name, as no other one runs under the race detector everywhere.
func (e *Env) Competes() {
	e.Helper()
	if !strings.Contains(e.Name(), "/"+Race) {
		e.Errorf("goroutines compete in %s: the name of its group has to begin with %s", e.Name(), Race)
	}
}

// InOtherSpace returns the same in the other namespace: new jobs are of that, and so are those that
// are claimed.
func (e *Env) InOtherSpace() *Env {
	there := *e
	there.space = OtherSpace
	return &there
}

// IDs makes UUIDv7 from a virtual clock and a counter: they sort by the order in which they were
// made, and two runs of a test make the same ones.
type IDs struct {
	clock *Clock
	made  atomic.Uint64
}

// NewIDs begins to count.
func NewIDs(clock *Clock) *IDs { return &IDs{clock: clock} }

// Next makes an id.
func (s *IDs) Next() store.ID {
	n := s.made.Add(1)
	var id store.ID
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(s.clock.Now().UnixMilli()))
	copy(id[:6], ms[2:])
	binary.BigEndian.PutUint64(id[8:], n)
	id[6] = 0x70
	id[8] = 0x80 | id[8]&0x3f
	return id
}
