package holdfast

import (
	"errors"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/internal/await"
	"github.com/holdfastdev/holdfast/internal/replay"
)

// Waitable is an argument of Select: a *Future, a *Child, a *Callback, or the result of
// Signal.Into or Run.Timer.
type Waitable interface {
	awaitable() await.Thing
	// chosen is called when Select has chosen it.
	chosen() error
}

// Future is the result of a function that Go started.
type Future[T any] struct{ future *await.Future }

// Go starts a function beside the handler, as a strand of the same run. fn gets its own run, and
// must use that one. The journal keeps the operations of each strand apart, so they replay in any
// order. When the handler returns, strands that were not awaited end. A panic of fn becomes a panic
// of the handler, when it awaits the function or returns. Functions that wait only for each other
// misuse the run.
func Go[T any](run *Run, name string, fn func(run *Run) (T, error)) (*Future[T], error) {
	if err := checkName("strand", name); err != nil {
		return nil, err
	}
	if fn == nil {
		return nil, noFunction("strand " + name)
	}
	f, err := run.strand.Go(name, func(s *replay.Strand) (any, error) { return fn(run.with(run.Context, s)) })
	if err != nil {
		return nil, err
	}
	return &Future[T]{f}, nil
}

// Wait waits for the function to return, and returns what it has returned.
func (f *Future[T]) Wait(run *Run) (T, error) {
	v, err := run.strand.Await(f.future)
	out, _ := v.(T) // nil if it failed
	return out, err
}

func (f *Future[T]) awaitable() await.Thing {
	if f == nil {
		return nil
	}
	return f.future
}

func (f *Future[T]) chosen() error { return nil }

type timer struct{ timer *await.Timer }

// Timer starts a durable timer, for Select, which may choose it once d has passed.
func (r *Run) Timer(d time.Duration) (Waitable, error) {
	t, err := r.strand.Timer(await.Limit{Within: d, Set: true})
	if err != nil {
		return nil, err
	}
	return timer{t}, nil
}

func (t timer) awaitable() await.Thing { return t.timer }

func (timer) chosen() error { return nil }

// Select waits for the first of several things, and returns its index; of those that are there
// already, that of the first among the arguments. The choice is recorded in the journal. Nothing to
// wait for, a nil argument, and what another run has made are an ErrInvalid; a signal that is
// chosen and does not decode is a *MessageError.
func Select(run *Run, among ...Waitable) (int, error) {
	if len(among) == 0 {
		return 0, invalid("select", "nothing to wait for")
	}
	all := make([]await.Thing, len(among))
	for i, a := range among {
		if a != nil {
			all[i] = a.awaitable()
		}
		if all[i] == nil {
			return 0, invalid("select", "argument %d is nil", i+1)
		}
	}
	i, err := run.strand.Select(all)
	if err != nil {
		return 0, failure(err)
	}
	if err := among[i].chosen(); err != nil {
		return i, fmt.Errorf("argument %d of Select: %w", i+1, err)
	}
	return i, nil
}

// WaitUntil waits until a condition over the memory of the run holds, such as one that its strands
// or the handlers of its updates bring about. what names the condition, in the journal and for
// people.
//
// cond is called when the wait begins, and again whenever the run has gone on, but only while each
// strand of the run is in an operation: it sees what they share as it is between their operations,
// and needs no lock. It must only read: no operation of a run, no clock, nothing outside. When it
// has returned true, the run goes on with that on every replay, from where the other strands were
// then. A strand that is in the function of a step is in an operation.
//
// After the wait, also one that timed out, the strand goes on alone until its next operation: the
// others stay in theirs, so that its code sees what the condition saw. It must not wait for one of
// them by other means, such as a channel.
//
// If a function started with Go has panicked, and that was not awaited, no condition is looked at:
// WaitUntil panics with it, as awaiting it would, and the attempt fails.
//
// With a time limit it may return ErrWaitTimeout. If all that the run waits for is that a condition
// holds, and it does not, nothing could change that any more: it is a misuse of the run.
func (r *Run) WaitUntil(what string, cond func() bool, opts ...WaitOption) error {
	limit, err := limitOf(opts)
	if err = errors.Join(checkName("condition", what), err); err != nil {
		return err
	}
	if cond == nil {
		return noFunction("condition " + what)
	}
	return waited("condition", what, r.strand.WaitUntil(what, cond, limit))
}

// WaitOption limits a wait. Of several the last one counts.
type WaitOption func(*waitLimit) error

// waitLimit is what options of a wait set.
type waitLimit struct{ await.Limit }

// WaitAtMost ends the wait with ErrWaitTimeout after d.
func WaitAtMost(d time.Duration) WaitOption {
	return func(l *waitLimit) error {
		l.Limit = await.Limit{Within: d, Set: true}
		if d < 0 {
			return invalid("wait at most", "%v is negative", d)
		}
		return nil
	}
}

// WaitUntil ends the wait with ErrWaitTimeout at t.
func WaitUntil(t time.Time) WaitOption {
	return func(l *waitLimit) error {
		l.Limit = await.Limit{Until: t, Set: true}
		return nil
	}
}

func limitOf(opts []WaitOption) (await.Limit, error) {
	var l waitLimit
	for _, opt := range opts {
		if opt == nil {
			return l.Limit, errNoOption
		}
		if err := opt(&l); err != nil {
			return l.Limit, err
		}
	}
	return l.Limit, nil
}
