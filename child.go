package holdfast

import (
	"errors"
	"fmt"

	"github.com/holdfastdev/holdfast/internal/replay"
	"github.com/holdfastdev/holdfast/store"
)

// ClosePolicy says what happens to a child when its parent finishes first.
type ClosePolicy = store.ClosePolicy

// The policies of OnParentClose.
const (
	CancelChild    = store.CancelChild
	AbandonChild   = store.AbandonChild
	TerminateChild = store.TerminateChild
)

// OnParentClose says what happens to a child when its parent finishes first. Default: CancelChild.
func OnParentClose(p ClosePolicy) EnqueueOption {
	return enqueueOption(func(s *enqueueSpec) error {
		s.enqueue.Job.OnParentClose = p
		return nil
	})
}

// Child is a job that a run has started.
type Child[Out any] struct {
	ID    ID
	child *replay.Child
}

// Start enqueues a job as a child of the run, in the transaction that journals it: the child is
// started once, even if the run is repeated. Options are those of Enqueue, except Unique and
// WithID.
func (k Kind[In, Out]) Start(run *Run, in In, opts ...EnqueueOption) (*Child[Out], error) {
	c, err := run.strand.StartChild(k.name, func() (*store.Enqueue, error) { return k.child(run, in, opts) })
	if err != nil {
		return nil, err
	}
	return &Child[Out]{ID: c.ID, child: c}, nil
}

func (k Kind[In, Out]) child(run *Run, in In, opts []EnqueueOption) (*store.Enqueue, error) {
	e, err := k.build(run.client, in, opts)
	if err != nil {
		return nil, err
	}
	switch {
	case e.Job.UniqueKey != nil:
		return nil, invalid("child", "kind %q: a child cannot have a unique key; remove the option Unique", k.name)
	case e.KnownID:
		return nil, invalid("child", "kind %q: the journal gives a child its id; remove the option WithID", k.name)
	}
	e.Job.Answers = true
	return e, nil
}

// Await waits until the child has finished, and returns its result, or a *JobError if it failed or
// was cancelled.
func (c *Child[Out]) Await(run *Run) (Out, error) {
	msg, err := run.strand.AwaitChild(c.child)
	if err != nil {
		var none Out
		return none, err
	}
	return childResult[Out](msg)
}

func (c *Child[Out]) awaitable() replay.Awaitable {
	if c == nil {
		return nil
	}
	return c.child
}

func (c *Child[Out]) chosen() error { return nil }

func childResult[Out any](msg *store.Message) (Out, error) {
	if msg.State != Completed {
		var none Out
		return none, &JobError{ID: msg.From, State: msg.State, Reason: msg.Reason, Message: msg.Error}
	}
	return decodeMessage[Out]("child "+msg.From.String(), msg)
}

// Call starts a child and waits for its result.
func (k Kind[In, Out]) Call(run *Run, in In, opts ...EnqueueOption) (Out, error) {
	c, err := k.Start(run, in, opts...)
	if err != nil {
		var none Out
		return none, err
	}
	return c.Await(run)
}

// FanOut says how CallAll runs many children. The zero value runs all at once and waits for all.
type FanOut struct {
	AtOnce int    // how many run at the same time; 0: all
	Until  Finish // when the wait ends
}

// Finish says when a wait for many children ends.
type Finish int

// When a wait for many children ends. Children that are unfinished then are cancelled when the
// parent finishes, or treated as their OnParentClose says.
const (
	All          Finish = iota // when all have finished
	Any                        // when one has completed, or all have finished
	FirstFailure               // when one did not complete, or all have finished
)

// ErrNotAwaited is the error of a child that CallAll did not wait for.
var ErrNotAwaited = errors.New("holdfast: the child was not waited for")

// Result is the outcome of one child of many.
type Result[Out any] struct {
	ID    ID // zero: it was not started
	Value Out
	Err   error // nil, a *JobError, or ErrNotAwaited
}

// CallAll starts a child for each of the args and waits for them. The results are in the order of
// the args. The parent is parked while it waits, and is woken a few times in total, not for each
// child.
func (k Kind[In, Out]) CallAll(run *Run, ins []In, how FanOut, opts ...EnqueueOption) ([]Result[Out], error) {
	out := replay.FanOut{AtOnce: how.AtOnce, Failures: how.Until == FirstFailure}
	switch how.Until {
	case All:
	case Any:
		out.Enough = func(completed, _ int) bool { return completed > 0 }
	case FirstFailure:
		out.Enough = func(_, failed int) bool { return failed > 0 }
	}
	children, answers, err := run.strand.StartChildren(k.name, len(ins), func(i int) (*store.Enqueue, error) {
		e, err := k.child(run, ins[i], opts)
		if err != nil {
			return nil, fmt.Errorf("args %d of %d: %w", i+1, len(ins), err)
		}
		return e, nil
	}, out)
	if err != nil {
		return nil, err
	}
	results := make([]Result[Out], len(ins))
	for i := range results {
		r := &results[i]
		r.Err = ErrNotAwaited
		if children[i] != nil {
			r.ID = children[i].ID
		}
		if answers[i] != nil {
			r.Value, r.Err = childResult[Out](answers[i])
		}
	}
	return results, nil
}
