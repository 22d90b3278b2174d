package holdfast

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/store"
)

// batchSize is how many jobs of an EnqueueMany share a transaction.
const batchSize = 1000

// defaultPriority is the priority of jobs that do not say.
const defaultPriority = 2

// NewID returns a new id for WithID.
func NewID() ID { return store.NewID() }

// BatchError lists the jobs of a batch that were refused.
type BatchError struct {
	// Errors holds the error of each refused job by its index in the batch.
	Errors map[int]error
}

func (e *BatchError) Error() string {
	first := -1
	for i := range e.Errors {
		if first < 0 || i < first {
			first = i
		}
	}
	return fmt.Sprintf("%d jobs of the batch were refused; the first, at index %d: %v", len(e.Errors), first, e.Errors[first])
}

// Unwrap returns the errors of all refused jobs.
func (e *BatchError) Unwrap() []error {
	all := make([]error, 0, len(e.Errors))
	for _, err := range e.Errors {
		all = append(all, err)
	}
	return all
}

// build makes an enqueue and checks all of it, so that what reaches the store is valid.
func (c *Client) build(kind string, args []byte, kindOpts, opts []EnqueueOption) (*store.Enqueue, error) {
	spec := enqueueSpec{enqueue: store.Enqueue{Job: store.Job{
		Namespace: c.Namespace(), Queue: "default", Kind: kind, Priority: defaultPriority, Args: args,
	}}}
	for _, list := range [][]EnqueueOption{kindOpts, opts} {
		for _, opt := range list {
			if opt == nil {
				return nil, errNoOption
			}
			if err := opt.enqueue(&spec); err != nil {
				return nil, err
			}
		}
	}
	e := &spec.enqueue
	if err := checkJSON("args", args, c.limit); err != nil {
		return nil, err
	}
	if e.KnownID = e.Job.ID != uuid.Nil; !e.KnownID {
		e.Job.ID = NewID()
	}
	if deadline := e.Job.Options.Deadline; !deadline.IsZero() {
		runAt := e.Job.RunAt
		if now := c.engine.Store.Now(); runAt.IsZero() {
			runAt = now.Add(e.Delay)
		}
		if !runAt.Before(deadline) {
			return nil, invalid("deadline", "%s is not after the run time", deadline.Format("2006-01-02T15:04:05Z07:00"))
		}
	}
	if spec.unique != nil {
		key, err := spec.unique.keyOf(&e.Job, c.engine.Store.Now(), e.Delay)
		if err != nil {
			return nil, err
		}
		e.Job.UniqueKey, e.Job.UniqueStates = key, spec.unique.states
	}
	return e, nil
}

// enqueueAll stores enqueues, batch by batch, until the database does not take one. It returns how many have an answer. The others must
// not be looked at: when the caller's context has ended the committer may still be at work on them.
func (c *Client) enqueueAll(ctx context.Context, enqueues []*store.Enqueue) (answered int, err error) {
	for start := 0; start < len(enqueues); start += batchSize {
		end := min(start+batchSize, len(enqueues))
		if err := c.engine.Enqueue(ctx, enqueues[start:end]); err != nil {
			return start, fmt.Errorf("enqueueing jobs %d to %d of %d: %w", start+1, end, len(enqueues), err)
		}
	}
	return len(enqueues), nil
}

// refusals is a *BatchError about the enqueues that were refused, or nil.
func refusals(enqueues []*store.Enqueue) error {
	var refused map[int]error
	for i, e := range enqueues {
		if e.Err != nil {
			if refused == nil {
				refused = map[int]error{}
			}
			refused[i] = e.Err
		}
	}
	if refused != nil {
		return &BatchError{Errors: refused}
	}
	return nil
}

func (c *Client) enqueueTx(ctx context.Context, tx store.Tx, enqueues []*store.Enqueue) error {
	if tx == nil {
		return invalid("transaction", "must not be nil")
	}
	if own := c.StoreName(); tx.StoreName() != own {
		return invalid("transaction", "it is for a %s database, but the client uses %s", tx.StoreName(), own)
	}
	return c.engine.Store.EnqueueTx(ctx, tx, enqueues)
}

// Item is a job to enqueue together with others of other kinds or with other options. Kind.Item
// makes one.
type Item struct {
	kind  string
	build func(c *Client) (*store.Enqueue, error)
}

// Item prepares a job for Client.EnqueueItems and Client.EnqueueItemsTx.
func (k Kind[In, Out]) Item(in In, opts ...EnqueueOption) Item {
	return Item{kind: k.name, build: func(c *Client) (*store.Enqueue, error) { return k.build(c, in, opts) }}
}

// Enqueued is the outcome of an Item.
type Enqueued struct {
	ID       ID   // of the job, even if Err is an ErrUnavailable: repeat the item with it
	Existing bool // the id existed already, or this job holds the unique key
	Replaced bool // Existing, and its args, metadata and run time were replaced
	Err      error
}

// EnqueueItems stores jobs of any kinds, a thousand per transaction and round trip. Invalid or
// refused jobs have their Err; the others are stored. The returned error says that the database did
// not accept a batch: the jobs of that batch and all later ones have it as their Err.
func (c *Client) EnqueueItems(ctx context.Context, items []Item) ([]Enqueued, error) {
	return c.items(items, func(enqueues []*store.Enqueue) (int, error) { return c.enqueueAll(ctx, enqueues) })
}

// EnqueueItemsTx does the same as EnqueueItems in the caller's transaction.
func (c *Client) EnqueueItemsTx(ctx context.Context, tx store.Tx, items []Item) ([]Enqueued, error) {
	return c.items(items, func(enqueues []*store.Enqueue) (int, error) {
		if err := c.enqueueTx(ctx, tx, enqueues); err != nil {
			return 0, err
		}
		return len(enqueues), nil
	})
}

func (c *Client) items(items []Item, commit func([]*store.Enqueue) (int, error)) ([]Enqueued, error) {
	results := make([]Enqueued, len(items))
	enqueues := make([]*store.Enqueue, 0, len(items))
	places := make([]int, 0, len(items))
	for i, item := range items {
		e, err := item.build(c)
		if err != nil {
			results[i].Err = err
			continue
		}
		results[i].ID = e.Job.ID
		enqueues, places = append(enqueues, e), append(places, i)
	}
	answered, err := commit(enqueues)
	for n, e := range enqueues[:answered] {
		r := &results[places[n]]
		r.Err = e.Err
		if e.Err == nil {
			r.ID, r.Existing, r.Replaced = e.Result.ID, e.Result.Existing, e.Result.Replaced
		}
	}
	for _, place := range places[answered:] {
		results[place].Err = err
	}
	return results, err
}
