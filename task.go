package holdfast

import "context"

// Task is a Kind whose jobs have no result. All else is that of Kind.
type Task[In any] struct{ Kind[In, struct{}] }

// NewTask names a kind of job without a result, as NewKind does.
func NewTask[In any](name string, opts ...EnqueueOption) Task[In] {
	return Task[In]{NewKind[In, struct{}](name, opts...)}
}

// Handle registers the kind's handler, as Kind.Handle does.
func (t Task[In]) Handle(c *Client, handler func(run *Run, in In) error, opts ...HandleOption) error {
	if handler == nil {
		return t.Kind.Handle(c, nil, opts...)
	}
	return t.Kind.Handle(c, func(run *Run, in In) (struct{}, error) { return struct{}{}, handler(run, in) }, opts...)
}

// Call starts a child and waits for its end, as Kind.Call does.
func (t Task[In]) Call(run *Run, in In, opts ...EnqueueOption) error {
	_, err := t.Kind.Call(run, in, opts...)
	return err
}

// Wait returns when the job has finished: nil if it completed, a *JobError if it failed or was
// cancelled. See Job.Wait.
func (Task[In]) Wait(ctx context.Context, c *Client, id ID) error { return c.Wait(ctx, id) }

// Do is a Step without a result.
func Do(run *Run, name string, fn func(ctx context.Context) error, opts ...StepOption) error {
	if fn == nil {
		return noFunction("step " + name)
	}
	_, err := Step(run, name, func(ctx context.Context) (struct{}, error) { return struct{}{}, fn(ctx) }, opts...)
	return err
}
