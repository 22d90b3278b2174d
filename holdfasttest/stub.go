package holdfasttest

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/holdfastdev/holdfast"
)

// stubs are what a test has put in place of the functions of steps.
type stubs struct {
	mu    sync.Mutex
	of    map[place]*stub
	asked map[place]bool // the steps that handlers have asked for
}

// place is a step of a kind. Of a stub the kind may be "", for any.
type place struct{ kind, step string }

func (p place) String() string {
	if p.kind == "" {
		return fmt.Sprintf("step %q", p.step)
	}
	return fmt.Sprintf("step %q of kind %q", p.step, p.kind)
}

type stub struct {
	fn    any
	asked bool // a handler has asked for such a step
}

// Stub replaces the function of the steps of this name, in the handlers of all kinds: fn is called
// instead. Everything else is as with the step's own function: its result or failure goes into the
// journal, it is retried as the step's options say, and a replay does not call it again. T must be
// the type of the step's result. A StepTx can be replaced like a Step; neither its function nor its
// database is used.
//
// A stub replaces an earlier one of the same step. If no step of the name was asked for by the end
// of the test, the test fails.
func Stub[T any](env *Env, step string, fn func(ctx context.Context) (T, error)) {
	env.T.Helper()
	env.world.stubs.put(env.T, place{"", step}, fn)
}

// StubOf is Stub for the steps of one kind. It takes precedence over Stub.
func StubOf[In, Out, T any](env *Env, kind ofKind[In, Out], step string, fn func(ctx context.Context) (T, error)) {
	env.T.Helper()
	env.world.stubs.put(env.T, place{kind.Name(), step}, fn)
}

// StubDo is Stub for steps without a result, whose T is struct{}.
func StubDo(env *Env, step string, fn func(ctx context.Context) error) {
	env.T.Helper()
	if fn == nil {
		Stub[struct{}](env, step, nil)
	}
	Stub(env, step, func(ctx context.Context) (struct{}, error) { return struct{}{}, fn(ctx) })
}

func (s *stubs) put(t *testing.T, at place, fn any) {
	t.Helper()
	if at.step == "" || reflect.ValueOf(fn).IsNil() {
		t.Fatalf("holdfasttest: Stub: it takes the name of a step and a function, and one of them is missing (%s)", at)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = map[place]*stub{}
	}
	if s.of[at] == nil {
		s.of[at] = &stub{}
	}
	s.of[at].fn = fn
}

// find returns the lookup of stubs for a client; see access.Tests.
func (s *stubs) find(t *testing.T) func(kind, step string, like any, tx bool) (any, error) {
	return func(kind, step string, like any, tx bool) (any, error) {
		instead := s.ask(place{kind, step})
		var mistake error
		switch {
		case instead == nil && tx:
			mistake = fmt.Errorf("%w: %s is a StepTx, and there is no database in memory that its function could write to; "+
				"replace it with holdfasttest.Stub", holdfast.ErrInvalid, place{kind, step})
		case instead != nil && reflect.TypeOf(instead) != reflect.TypeOf(like):
			mistake = fmt.Errorf("%w: the stub of %s is a %T, but the result of the step makes it a %T",
				holdfast.ErrInvalid, place{kind, step}, instead, like)
		default:
			return instead, nil
		}
		t.Errorf("holdfasttest: %v", mistake)
		return nil, holdfast.Fail(mistake)
	}
}

// ask notes that a handler has asked for a step, and returns what was put in its place, or nil.
func (s *stubs) ask(at place) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked == nil {
		s.asked = map[place]bool{}
	}
	s.asked[at] = true
	var found any
	for _, p := range []place{at, {"", at.step}} {
		one := s.of[p]
		if one == nil {
			continue
		}
		one.asked = true
		if found == nil {
			found = one.fn
		}
	}
	return found
}

// check fails a test that has replaced steps for which no handler has asked.
func (s *stubs) check(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.Skipped() || t.Failed() && len(s.asked) == 0 {
		return // it ended before
	}
	for _, at := range slices.SortedFunc(maps.Keys(s.of), places) {
		if s.of[at].asked {
			continue
		}
		var asked []string
		for _, p := range slices.SortedFunc(maps.Keys(s.asked), places) {
			asked = append(asked, p.String())
		}
		if len(asked) == 0 {
			asked = []string{"none"}
		}
		t.Errorf("holdfasttest: no handler has asked for %s, which the test replaces; the steps asked for are: %s", at, strings.Join(asked, ", "))
	}
}

func places(a, b place) int { return strings.Compare(a.kind+"\x00"+a.step, b.kind+"\x00"+b.step) }
