package holdfast

import (
	"context"
	"fmt"

	"github.com/holdfastdev/holdfast/store"
)

// SendOrStart sends the signal to the job that holds the business key of item, or, if no job does,
// enqueues the job of item and sends it the signal: in one transaction, so that of many who do so
// at the same moment one starts the job, and all signals arrive at it. The item needs a Key:
//
//	sent, err := paid.SendOrStart(ctx, hf, Order.Item(in, holdfast.Key("order-42")), amount)
//
// Result.Started and Job tell which of the two it was; Differs, that the job that holds the key was
// enqueued with other args. If the job that holds the key has finished, and keeps it (KeepKey), the
// error is ErrConflict, and nothing has happened.
//
// If the answer of the database is lost, Holdfast repeats it as it does an enqueue. If that does
// not help the error is ErrUnavailable, and Job is the id that the item's job has or would have: to
// repeat it with JobID(Job) within a day is safe, whatever became of the job that the signal went
// to.
func (s Signal[T]) SendOrStart(ctx context.Context, c *Client, item BatchItem, v T, opts ...SendOption) (SendResult, error) {
	spec, err := s.along(ctx, c, item, v, opts)
	if err != nil {
		return SendResult{}, err
	}
	e := &spec.enqueue
	if err := c.passKeyed(ctx, spec, func(ctx context.Context) error { return c.engine.Enqueue(ctx, []*store.Enqueue{e}) }); err != nil {
		return SendResult{Job: e.Job.ID}, fmt.Errorf("sending signal %s to job %s of kind %q: %w", s.name, e.Job.ID, item.kind, err)
	}
	return s.sentAlong(e)
}

// SendOrStartTx does the same in the caller's own transaction: it happens if and when that commits.
// Until then other signals to the same key wait.
func (s Signal[T]) SendOrStartTx(ctx context.Context, c *Client, tx store.Tx, item BatchItem, v T, opts ...SendOption) (SendResult, error) {
	spec, err := s.along(ctx, c, item, v, opts)
	if err != nil {
		return SendResult{}, err
	}
	e := &spec.enqueue
	err = c.passKeyed(c.inTx(ctx), spec, func(ctx context.Context) error { return c.enqueueTx(ctx, tx, []*store.Enqueue{e}) })
	if err != nil {
		return SendResult{}, fmt.Errorf("sending signal %s to a job of kind %q: %w", s.name, item.kind, err)
	}
	return s.sentAlong(e)
}

// along makes the enqueue of an item, with the signal.
func (s Signal[T]) along(ctx context.Context, c *Client, item BatchItem, v T, opts []SendOption) (*enqueueSpec, error) {
	if item.build == nil {
		return nil, invalid("item", "make it with Kind.Item")
	}
	spec, err := item.build(c)
	if err != nil {
		return nil, err
	}
	if spec.enqueue.Send, err = s.build(c, spec.enqueue.Job.ID, v, opts); err != nil {
		return nil, err
	}
	c.carry(ctx, spec.enqueue.Send)
	return spec, nil
}

// passKeyed is passOne for an enqueue that needs a business key.
func (c *Client) passKeyed(ctx context.Context, spec *enqueueSpec, write func(context.Context) error) error {
	return c.passOne(ctx, spec, func(ctx context.Context) error {
		if spec.enqueue.Job.Options.Key == "" {
			return invalid("item", "it needs the option Key, by which the job is found")
		}
		return write(ctx)
	})
}

// sentAlong is the result of an enqueue with a signal.
func (s Signal[T]) sentAlong(e *store.Enqueue) (SendResult, error) {
	if e.Err != nil {
		return SendResult{}, fmt.Errorf("sending signal %s to a job of kind %q: %w", s.name, e.Job.Kind, e.Err)
	}
	result := SendResult{
		Job: e.Result.ID, Started: !isExisting(e), Differs: e.Result.Differs,
		Message: e.Send.Result.Seq, Duplicate: e.Send.Result.Duplicate,
	}
	if e.Send.Key == "" && !e.KnownID {
		result.Duplicate = false // it is an earlier try of this very call
	}
	return result, nil
}
