package holdfast

import (
	"context"
	"fmt"

	"github.com/holdfastdev/holdfast/internal/await"
	"github.com/holdfastdev/holdfast/store"
)

// OnParentClose says what happens to a child when its parent finishes first. Default:
// store.CancelChild.
func OnParentClose(p store.ClosePolicy) EnqueueOption {
	return enqueueOption(func(s *enqueueSpec) error {
		s.enqueue.Job.OnParentClose = p
		return nil
	})
}

// Child is a job that a run has started.
type Child[Out any] struct {
	ID    ID
	child *await.Child
}

// Start enqueues a job as a child of the run, in the transaction that journals it: the child is
// started once, even if the run is repeated. Options are those of Enqueue, except Unique, Key and
// JobID, which are an ErrInvalid. That a child could not be started, because its args, its options
// or a middleware refuse it, is not remembered: return the error, so that the attempt fails. If the
// handler goes on, its next operation returns an ErrInvalid, and the attempt fails with that.
func (k Kind[In, Out]) Start(run *Run, in In, opts ...EnqueueOption) (*Child[Out], error) {
	c, err := run.strand.StartChild(k.name, func() (*store.Enqueue, error) { return k.child(run, in, opts) })
	if err != nil {
		return nil, err
	}
	return &Child[Out]{ID: c.ID, child: c}, nil
}

func (k Kind[In, Out]) child(run *Run, in In, opts []EnqueueOption) (*store.Enqueue, error) {
	spec, err := k.build(run.client, in, opts)
	if err != nil {
		return nil, err
	}
	return run.client.asChild(run, spec)
}

// asChild makes an enqueue one of a child, which the journal of its parent writes.
func (c *Client) asChild(ctx context.Context, spec *enqueueSpec) (*store.Enqueue, error) {
	e := &spec.enqueue
	kind := e.Job.Kind
	switch {
	case spec.unique != nil:
		return nil, invalid("child", "kind %q: a child cannot have a unique key; remove the option Unique", kind)
	case e.Job.Options.Key != "":
		return nil, invalid("child", "kind %q: a child cannot have a business key; remove the option Key", kind)
	case len(spec.wanted) > 0:
		return nil, invalid("child", "kind %q: a child cannot have follow-ups; the run that waits for it can start them", kind)
	case len(e.After) > 0:
		return nil, invalid("child", "kind %q: a child cannot come after other jobs; wait for them, or start it later", kind)
	case e.KnownID:
		return nil, invalid("child", "kind %q: the journal gives a child its id; remove the option JobID", kind)
	}
	e.Job.Answers = true
	// The journal writes it, after the middleware.
	if err := c.passOne(ctx, spec, func(context.Context) error { return nil }); err != nil {
		return nil, fmt.Errorf("child of kind %q: %w", kind, err)
	}
	return e, nil
}

// childOfItem is asChild of an item, for a run of a worker that is no Go program.
func (c *Client) childOfItem(ctx context.Context, item BatchItem) (*store.Enqueue, error) {
	if item.build == nil {
		return nil, invalid("child", "it is missing; Kind.Item makes one")
	}
	spec, err := item.build(c)
	if err != nil {
		return nil, err
	}
	return c.asChild(ctx, spec)
}

// Wait waits until the child has finished, and returns its result, or a *JobError if it failed or
// was cancelled.
func (c *Child[Out]) Wait(run *Run) (Out, error) {
	msg, err := run.strand.AwaitChild(c.child)
	if err != nil {
		var none Out
		return none, err
	}
	return childResult[Out](msg)
}

func (c *Child[Out]) awaitable() await.Thing {
	if c == nil {
		return nil
	}
	return c.child
}

func (c *Child[Out]) chosen() error { return nil }

func childResult[Out any](msg *store.Message) (Out, error) {
	if msg.State != store.Completed {
		var none Out
		return none, &JobError{ID: msg.From, State: msg.State, Reason: msg.Reason, Message: msg.Error}
	}
	return decodeMessage[Out]("child "+msg.From.String(), msg)
}

// Call starts a child and waits for its result. The errors are those of Start and of Child.Wait.
func (k Kind[In, Out]) Call(run *Run, in In, opts ...EnqueueOption) (Out, error) {
	c, err := k.Start(run, in, opts...)
	if err != nil {
		var none Out
		return none, err
	}
	return c.Wait(run)
}

// FanOut says how CallAll runs many children. The zero value runs all at once and waits for all.
// Children that are unfinished when the wait ends are cancelled when the parent finishes, or
// treated as their OnParentClose says.
type FanOut struct {
	AtOnce       int  // how many run at the same time; 0 or less: all
	FirstSuccess bool // end the wait when one has completed
	FirstFailure bool // end the wait when one did not complete
}

// ChildResult is the outcome of one child of many.
type ChildResult[Out any] struct {
	ID    ID // zero: it was not started
	Value Out
	Err   error // nil, a *JobError, or ErrNotWaitedFor
}

// CallAll starts a child for each of the args and waits for them. The results are in the order of
// the args. The parent is parked while it waits, and is woken a few times in total, not for each
// child. That children fail is no error of CallAll, but of their results. The options are those of
// Start, and the same for all.
func (k Kind[In, Out]) CallAll(run *Run, ins []In, how FanOut, opts ...EnqueueOption) ([]ChildResult[Out], error) {
	out := await.FanOut{AtOnce: how.AtOnce, Failures: how.FirstFailure}
	if how.FirstSuccess || how.FirstFailure {
		out.Enough = func(completed, failed int) bool {
			return how.FirstSuccess && completed > 0 || how.FirstFailure && failed > 0
		}
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
	results := make([]ChildResult[Out], len(ins))
	for i := range results {
		r := &results[i]
		r.Err = ErrNotWaitedFor
		if children[i] != nil {
			r.ID = children[i].ID
		}
		if answers[i] != nil {
			r.Value, r.Err = childResult[Out](answers[i])
		}
	}
	return results, nil
}
