// Package batch lets jobs belong together, and enqueues others when all of them have ended.
//
//	b, err := batch.New(ctx, hf, batch.OnSuccess(Report.Item("march")), batch.OnFailure(Alert.Item("march")))
//	_, err = b.Add(ctx, Load.Item("orders"), Load.Item("invoices"))
//	err = b.Close(ctx)
//
// Members are jobs like any other, of any kinds, which are added until the batch is closed: at once
// or later, by other processes (In), and by members themselves. When a batch is closed and all of
// its members have finished it is called back: the jobs are enqueued whose condition holds. Of a
// batch without members that is so at once.
//
//	OnEnd      all members have finished
//	OnSuccess  all members have completed
//	OnFailure  all members have finished, and not all have completed
//
// The handler of such a job finds out how the members have ended by Result.
//
// New, Add and Close have variants that write in a transaction of the caller: NewTx, AddTx,
// CloseTx.
//
// # What it promises
//
// A batch is called back once, whichever processes die meanwhile. A member that was added is
// counted, however late its transaction commits. A member that a person retries before the batch is
// called back counts by how it ends then; afterwards it does not count, and the batch is not called
// again. What ends a member does no more than what ends any other job: a node that leads counts
// members, by looking. So a batch is called back within a second or so after the last one has
// ended, while a node runs.
//
// Retention keeps members until their batch was called back, so a batch that is never closed keeps
// them for ever. It removes the batch as if it were a completed job.
//
// # How it fails
//
// By a *store.BatchClosedError for a job that is added to a batch which is closed, an ErrConflict,
// or not there, an ErrNotFound: it is not enqueued.
//
// # Imports
//
// Of ours, the root package, store and internal/access.
package batch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/internal/valid"
	"github.com/holdfastdev/holdfast/store"
)

// Batch is a batch, by its id. It may be used by many goroutines at once.
type Batch struct {
	ID     holdfast.ID
	client *holdfast.Client
}

// Option is an option of New.
type Option func(*draft) error

type draft struct {
	store.JobBatch
	client *holdfast.Client
}

// OnEnd enqueues a job when all members have finished.
func OnEnd(item holdfast.BatchItem) Option { return call(store.BatchEnded, item) }

// OnSuccess enqueues a job when all members have completed.
func OnSuccess(item holdfast.BatchItem) Option { return call(store.BatchSucceeded, item) }

// OnFailure enqueues a job when all members have finished, and not all of them have completed.
func OnFailure(item holdfast.BatchItem) Option { return call(store.BatchFailed, item) }

// call adds a job. It has no id, unique key, run time, deadline, predecessors and follow-ups of its
// own.
func call(when store.BatchEnd, item holdfast.BatchItem) Option {
	return func(d *draft) error {
		job, err := access.Job(d.client, item)
		if err != nil {
			return fmt.Errorf("batch: %w", err)
		}
		d.Calls = append(d.Calls, store.BatchJob{When: when, ID: holdfast.NewID(), Job: store.ScheduledJob{
			Kind: job.Kind, Queue: job.Queue, Priority: job.Priority, Args: job.Args, Codec: job.Codec, MaxAttempts: job.MaxAttempts,
			Options: job.Options, Tags: job.Tags, Metadata: job.Metadata, OrderingKey: job.OrderingKey, Attributes: job.Attributes,
		}})
		return nil
	}
}

// Name names a batch for people, in at most 200 bytes; empty: it has no name. It need not be
// unique.
func Name(name string) Option {
	return func(d *draft) error {
		if name != "" {
			if err := valid.Name("batch name", name); err != nil {
				return err
			}
		}
		d.Name = name
		return nil
	}
}

// ID chooses the id of a batch, so that New may be repeated: a batch with it that is there already
// is the one, whatever else the options say. Default: a new one.
func ID(id holdfast.ID) Option {
	return func(d *draft) error {
		d.ID = id
		return nil
	}
}

// New makes a batch that is open. The error is an ErrInvalid for what cannot be enqueued at its
// end, and an ErrConflict for an id of another namespace.
func New(ctx context.Context, c *holdfast.Client, opts ...Option) (*Batch, error) {
	return create(ctx, c, nil, opts)
}

// NewTx is New in a transaction of the caller.
func NewTx(ctx context.Context, c *holdfast.Client, tx store.Tx, opts ...Option) (*Batch, error) {
	if tx == nil {
		return nil, noTx()
	}
	return create(ctx, c, tx, opts)
}

func create(ctx context.Context, c *holdfast.Client, tx store.Tx, opts []Option) (*Batch, error) {
	d := &draft{JobBatch: store.JobBatch{ID: holdfast.NewID(), Namespace: c.Namespace()}, client: c}
	for _, opt := range opts {
		if opt == nil {
			return nil, fmt.Errorf("%w: batch: an option is nil", store.ErrInvalid)
		}
		if err := opt(d); err != nil {
			return nil, err
		}
	}
	e, _ := access.Engine(c)
	if err := e.CreateBatch(ctx, tx, d.JobBatch); err != nil {
		return nil, err
	}
	return &Batch{ID: d.ID, client: c}, nil
}

func noTx() error {
	return fmt.Errorf("%w: batch: the transaction must not be nil", store.ErrInvalid)
}

// In is a batch that exists, such as one to which a member adds. It reads nothing.
func In(c *holdfast.Client, id holdfast.ID) *Batch { return &Batch{ID: id, client: c} }

// Member is an option of an enqueue: the job belongs to a batch. It is no option of children, of
// follow-ups, of schedules, or of edits. The error of the enqueue is a *store.BatchClosedError if
// the batch takes no members.
func Member(id holdfast.ID) holdfast.EnqueueOption {
	return access.Member(id).(holdfast.EnqueueOption) //nolint:errcheck // always one
}

// Add enqueues members, as Client.EnqueueBatch does. One that is there already, or whose key
// another job has, adds nothing.
func (b *Batch) Add(ctx context.Context, items ...holdfast.BatchItem) ([]holdfast.EnqueueResult, error) {
	return b.client.EnqueueBatch(ctx, b.members(items))
}

// AddTx is Add in a transaction of the caller. The batch is not called back before that has ended.
func (b *Batch) AddTx(ctx context.Context, tx store.Tx, items ...holdfast.BatchItem) ([]holdfast.EnqueueResult, error) {
	return b.client.EnqueueBatchTx(ctx, tx, b.members(items))
}

func (b *Batch) members(items []holdfast.BatchItem) []holdfast.BatchItem {
	members := make([]holdfast.BatchItem, len(items))
	for i, item := range items {
		members[i] = access.InBatch(item, b.ID).(holdfast.BatchItem) //nolint:errcheck // always one
	}
	return members
}

// Close closes the batch: it takes no further members, and is called back when those that it has
// have finished. A batch that is closed stays so. The error is an ErrNotFound.
func (b *Batch) Close(ctx context.Context) error {
	e, _ := access.Engine(b.client)
	return e.CloseBatch(ctx, nil, b.client.Namespace(), b.ID)
}

// CloseTx is Close in a transaction of the caller.
func (b *Batch) CloseTx(ctx context.Context, tx store.Tx) error {
	if tx == nil {
		return noTx()
	}
	e, _ := access.Engine(b.client)
	return e.CloseBatch(ctx, tx, b.client.Namespace(), b.ID)
}

// Get returns a batch of the client's namespace. Its Counts are those of members that were counted,
// which begins when it is closed. The error is an ErrNotFound.
func Get(ctx context.Context, c *holdfast.Client, id holdfast.ID) (store.JobBatch, error) {
	if id == (holdfast.ID{}) {
		return store.JobBatch{}, store.NoBatch(id)
	}
	found, err := List(ctx, c, store.BatchFilter{ID: id, Limit: 1})
	if err == nil && len(found) == 0 {
		err = store.NoBatch(id)
	}
	if err != nil {
		return store.JobBatch{}, err
	}
	return found[0], nil
}

// List returns a page of batches of the client's namespace, the newest ids first.
func List(ctx context.Context, c *holdfast.Client, filter store.BatchFilter) ([]store.JobBatch, error) {
	if filter.Limit < 1 {
		return nil, fmt.Errorf("%w: batches: the limit must be at least 1", store.ErrInvalid)
	}
	e, _ := access.Engine(c)
	filter.Namespace = c.Namespace()
	return e.Store.Batches(ctx, filter)
}

// Wait returns the batch when it was called back: all members have ended, and the jobs for its end
// are enqueued. It looks each 50 milliseconds at first, and then each second.
func (b *Batch) Wait(ctx context.Context) (store.JobBatch, error) {
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		found, err := Get(ctx, b.client, b.ID)
		if err == nil && !found.DoneAt.IsZero() {
			return found, nil
		}
		if err != nil && !store.IsRetryable(err) {
			return store.JobBatch{}, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return store.JobBatch{}, context.Cause(ctx)
		}
	}
}

// cancelAtOnce is how many members one call of Client.Cancel gets.
const cancelAtOnce = 500

// Cancel closes the batch and cancels its members that have not finished: those that run are asked
// to stop. It returns how many that were. The batch is called back when all of them have ended, and
// counts those as cancelled that are.
func (b *Batch) Cancel(ctx context.Context, reason string) (asked int, err error) {
	if err := b.Close(ctx); err != nil {
		return 0, err
	}
	open := []store.State{store.Scheduled, store.Available, store.Retryable, store.Waiting, store.Running}
	for after := ""; ; {
		page, err := b.client.List(ctx, store.Filter{Batch: b.ID, States: open}, after, cancelAtOnce)
		if err != nil {
			return asked, err
		}
		ids := make([]holdfast.ID, len(page.Jobs))
		for i := range page.Jobs {
			ids[i] = page.Jobs[i].ID
		}
		if len(ids) > 0 {
			results, err := b.client.Cancel(ctx, reason, ids...)
			if err != nil {
				return asked, err
			}
			for _, r := range results {
				switch {
				case r.Err == nil:
					asked++
				case !errors.Is(r.Err, store.ErrConflict) && !errors.Is(r.Err, store.ErrNotFound): // it has ended
					return asked, r.Err
				}
			}
		}
		if after = page.Next; after == "" {
			return asked, nil
		}
	}
}

// Of is the batch to which the job of a run belongs, for a handler that adds to it; nil if it
// belongs to none. c is a client of the job's namespace.
func Of(c *holdfast.Client, run *holdfast.Run) *Batch {
	id := access.BatchOf(run)
	if id == (holdfast.ID{}) {
		return nil
	}
	return In(c, id)
}

// Result tells the handler of a job that was enqueued at the end of a batch which batch that was,
// and how its members have ended. ok is false for other jobs.
func Result(run *holdfast.Run) (result store.BatchResult, ok bool) {
	result = access.Called(run)
	return result, result.ID != holdfast.ID{}
}
