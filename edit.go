package holdfast

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/internal/valid"
	"github.com/holdfastdev/holdfast/store"
)

// Delete removes finished jobs before their retention is over, with all that belongs to them:
// journals, messages, attempts, checkpoints, keys (also those that KeepKey keeps), and what they
// published. It returns a result for each, in the order given: the state in which the job had
// finished, or why it is still there. ErrConflict is the error of a job that has not finished, or
// that has children which have not. Results and answers of deleted jobs are gone; a parent keeps
// the answers that its journal has. It stays recorded who deleted a job and why, as long as
// retention says.
func (c *Client) Delete(ctx context.Context, reason string, ids ...ID) ([]store.Result, error) {
	return c.engine.Delete(ctx, store.DeleteParams{Namespace: c.namespace, Jobs: ids, Reason: reason, Actor: c.actor})
}

// Edit changes a job that does not run and has not finished, with options of an enqueue: Queue,
// Priority, RunAt, Delay, MaxAttempts, Timeout, HeartbeatTimeout, Deadline, Backoff, Tags,
// Metadata, and the values of package search. Others are an ErrInvalid, and so are none. Tags and
// Metadata can be changed of any job, and replace those that it has; search attributes can be
// changed of one that runs, too, but of none that has finished, and leave those with other names.
// Either all of it happens, and the next run has all of it, or nothing.
//
// The job takes its place by its priority and run time at once. A job that waits for a signal, a
// child or a time of its own has no run time to change, and one that waits for it with an ordering
// key stays in its queue: ErrConflict, as for a job that runs or has finished. If something has
// changed, it is recorded as an action with its reason.
func (c *Client) Edit(ctx context.Context, reason string, id ID, opts ...EnqueueOption) error {
	change, unique, err := c.editOf(opts)
	if err == nil && unique != nil {
		err = invalid("edit", "a unique key cannot be changed")
	}
	if err == nil && reflect.ValueOf(change).IsZero() {
		err = invalid("edit", "no option says what to change")
	}
	if err != nil {
		return err
	}
	return c.edit(ctx, reason, id, change)
}

// EditArgs is Edit that replaces the args, too. A durable job whose journal has begun keeps its
// args, and so does one with a unique key, as the key may depend on them: an ErrConflict. With the
// Unique that the job was enqueued with among the options, its args can be changed to others with
// the same key.
// A job keeps its business key: whether an enqueue with that key differs is told by the args that
// the job was enqueued with.
func (c *Client) EditArgs(ctx context.Context, reason string, id ID, args json.RawMessage, opts ...EnqueueOption) error {
	record, err := c.Get(ctx, id)
	if err != nil {
		return err
	}
	return c.editArgs(ctx, reason, &record, args, opts)
}

// Edit is Client.EditArgs with typed args, for a job of the kind; ErrConflict if it is of another
// one. If the kind has a Unique, args with the same key can be changed without giving it.
func (k Kind[In, Out]) Edit(ctx context.Context, c *Client, reason string, id ID, in In, opts ...EnqueueOption) error {
	args, err := k.args(in)
	if err != nil {
		return err
	}
	record, err := c.Get(ctx, id)
	if err == nil {
		err = k.is(&record)
	}
	if err != nil {
		return err
	}
	var own enqueueSpec
	if err := own.apply(k.opts); err != nil {
		return err
	}
	if own.unique != nil {
		opts = slices.Concat([]EnqueueOption{*own.unique}, opts)
	}
	return c.editArgs(ctx, reason, &record, args, opts)
}

// EditTags adds tags to those of a job, in any state, and drops others. A tag that the job has is
// not added again, and one that it does not have is not missed. The errors are ErrNotFound, and
// ErrInvalid for a wrong tag, or more than 20.
func (c *Client) EditTags(ctx context.Context, reason string, id ID, add, drop []string) error {
	if err := valid.Tags(add); err != nil {
		return err
	}
	return c.edit(ctx, reason, id, store.Edit{AddTags: add, DropTags: drop})
}

func (c *Client) editArgs(ctx context.Context, reason string, record *store.Record, args []byte, opts []EnqueueOption) error {
	if err := checkJSON("args", args, c.limit); err != nil {
		return err
	}
	change, unique, err := c.editOf(opts)
	if err != nil {
		return err
	}
	change.Args = args
	if unique != nil {
		next := record.Job
		next.Args = args
		if change.Queue != nil {
			next.Queue = *change.Queue
		}
		if change.UniqueKey, err = unique.keyOf(&next, record.CreatedAt, 0); err != nil {
			return err
		}
	}
	return c.edit(ctx, reason, record.ID, change)
}

func (c *Client) edit(ctx context.Context, reason string, id ID, change store.Edit) error {
	_, err := c.engine.Edit(ctx, store.EditParams{Namespace: c.namespace, Job: id, Edit: change, Reason: reason, Actor: c.actor})
	if err != nil {
		return store.About(id, "editing", err)
	}
	return nil
}

// What no option sets: it tells which were given, as some may set nothing.
var (
	noDeadline = time.Unix(0, 1)
	noTags     = []string{"no option"}
)

// editOf is the change that options describe.
func (c *Client) editOf(opts []EnqueueOption) (e store.Edit, unique *Unique, err error) {
	spec := &enqueueSpec{enqueue: store.Enqueue{Delay: -1, Job: store.Job{Tags: noTags, Options: store.Options{Deadline: noDeadline}}}}
	if err := spec.apply(opts); err != nil {
		return e, nil, err
	}
	job, now := &spec.enqueue.Job, c.engine.Store.Now()
	if err := uneditable(spec); err != nil {
		return e, nil, err
	}
	if job.Queue != "" {
		e.Queue = &job.Queue
	}
	if job.Priority != 0 {
		e.Priority = &job.Priority
	}
	switch d := spec.enqueue.Delay; {
	case d > 0 || d == 0 && job.RunAt.IsZero():
		e.RunAt = new(now.Add(d))
	case d == 0:
		e.RunAt = &job.RunAt
	}
	if job.MaxAttempts != 0 {
		e.MaxAttempts = &job.MaxAttempts
	}
	o := &job.Options
	if o.Timeout != 0 {
		e.Timeout = &o.Timeout
	}
	if o.Heartbeat != 0 {
		e.Heartbeat = &o.Heartbeat
	}
	if o.Backoff != (store.Backoff{}) {
		e.Backoff = &o.Backoff
	}
	if !o.Deadline.Equal(noDeadline) {
		e.Deadline = &o.Deadline
		if !o.Deadline.IsZero() && !o.Deadline.After(now) {
			return e, nil, invalid("deadline", "%s has passed", o.Deadline.Format(time.RFC3339))
		}
	}
	if len(job.Tags) == 0 || &job.Tags[0] != &noTags[0] {
		e.Tags = &job.Tags
	}
	e.Metadata, e.Attributes = job.Metadata, job.Attributes
	return e, spec.unique, c.checkAttributes(c.namespace, e.Attributes, true)
}

// uneditable says which of the options cannot change a job, an ErrInvalid.
func uneditable(spec *enqueueSpec) error {
	job := &spec.enqueue.Job
	switch {
	case len(spec.around) > 0:
		return invalid("edit", "it does not pass through enqueue middleware")
	case job.OrderingKey != "", job.Options.KeepTurn:
		return invalid("edit", "an ordering key cannot be changed")
	case job.Options.Key != "", job.Options.KeepKey != 0:
		return invalid("edit", "a business key cannot be changed")
	case job.Options.Limit != "", job.Options.FairKey != "", spec.fairOf != nil:
		return invalid("edit", "the limit per key, its key, and the fair key cannot be changed")
	case len(spec.wanted) > 0:
		return invalid("edit", "follow-ups are given when the job is enqueued; after.Failed and others let jobs follow one that is there")
	case len(spec.enqueue.After) > 0:
		return invalid("edit", "what a job comes after is added by after.Add")
	case job.ID != ID{}, job.Batch != ID{}:
		return invalid("edit", "an id, and a batch, cannot be changed")
	}
	return nil
}
