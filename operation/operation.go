package operation

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/internal/bulk"
	"github.com/holdfastdev/holdfast/store"
)

const (
	// Kind is the kind of the jobs that are operations.
	Kind = bulk.Kind
	// Queue is their queue. Each node serves it, whatever its queues are, unless it was opened with
	// Off.
	Queue = bulk.Queue
)

// Off lets the node of a client not handle operations. Those that are started wait for others then.
func Off() holdfast.Option { return access.NoOperations().(holdfast.Option) } //nolint:errcheck // always one

// Operation is what is to be done.
type Operation struct {
	// Filter selects the jobs. If it has no namespace, the client's is used; another one is an
	// ErrInvalid. Without States jobs of all states are selected; those that cannot be changed as
	// they are count as refused.
	Filter store.Filter
	Action Action
	// Note is for people, and recorded with each change.
	Note string
	// Expected is how many jobs are to be changed, as far as is known: a Found.Count.N that is not
	// More. If many more match, the operation fails rather than changing them. 0: any number.
	Expected int
	// ID, if it is not zero, is the id of the job, a holdfast.NewID, with which Start may be
	// repeated: a job that is there already is the operation, whatever else is said.
	ID holdfast.ID
}

// Found is what a filter selects now.
type Found struct {
	Count  store.Count    // up to store.CountBound
	Sample []store.Record // the newest of them, ten at the most
}

// sample is how many jobs a Look shows.
const sample = 10

// Look says what an operation would come to. Operations are left out as an operation leaves them
// out. The error is ErrInvalid for a filter that is wrong.
func Look(ctx context.Context, c *holdfast.Client, filter store.Filter) (found Found, err error) {
	if filter, err = own(c, filter); err != nil {
		return found, err
	}
	if found.Count, err = c.Count(ctx, filter); err != nil {
		return found, err
	}
	if len(filter.Kinds) == 0 && len(filter.IDs) == 0 && !found.Count.More {
		operations := filter
		operations.Kinds = []string{Kind}
		spared, err := c.Count(ctx, operations)
		if err != nil {
			return found, err
		}
		found.Count.N = max(found.Count.N-spared.N, 0)
	}
	for after := ""; len(found.Sample) < min(sample, found.Count.N); {
		page, err := c.List(ctx, filter, after, sample)
		if err != nil {
			return found, err
		}
		for i := range page.Jobs {
			if page.Jobs[i].Kind != Kind || len(filter.Kinds)+len(filter.IDs) > 0 {
				found.Sample = append(found.Sample, page.Jobs[i])
			}
		}
		if after = page.Next; after == "" {
			break
		}
	}
	found.Sample = found.Sample[:min(sample, len(found.Sample))]
	return found, nil
}

// own is the filter in the client's namespace.
func own(c *holdfast.Client, filter store.Filter) (store.Filter, error) {
	if filter.Namespace != "" && filter.Namespace != c.Namespace() {
		return filter, fmt.Errorf("%w: operation: the filter is about namespace %q, and the client's is %q; Client.In returns one of another",
			store.ErrInvalid, filter.Namespace, c.Namespace())
	}
	filter.Namespace = c.Namespace()
	return filter, nil
}

// spec checks an operation, and bounds it by the jobs that are there now.
func spec(ctx context.Context, c *holdfast.Client, op Operation) (*bulk.Spec, error) {
	filter, err := own(c, op.Filter)
	if err == nil {
		err = op.Action.of.Check()
	}
	if err == nil && op.Expected < 0 {
		err = fmt.Errorf("%w: operation: %d jobs are expected", store.ErrInvalid, op.Expected)
	}
	if err != nil {
		return nil, err
	}
	first, err := c.List(ctx, filter, "", 1) // also says what is wrong with the filter
	if err != nil {
		return nil, err
	}
	e, _ := access.Engine(c)
	until := e.Store.Now()
	for i := range first.Jobs {
		if made := timeOf(first.Jobs[i].ID); made.After(until) {
			until = made // by a clock that is ahead of the database's
		}
	}
	until = until.Truncate(time.Millisecond).Add(time.Millisecond)
	if filter.CreatedBefore.IsZero() || filter.CreatedBefore.After(until) {
		filter.CreatedBefore = until
	}
	return &bulk.Spec{Action: op.Action.of, Filter: bulk.Filter(filter), Actor: c.Actor(), Note: op.Note, Expected: op.Expected}, nil
}

// timeOf is the time in an id.
func timeOf(id store.ID) time.Time {
	var ms int64
	for _, b := range id[:6] {
		ms = ms<<8 | int64(b)
	}
	return time.UnixMilli(ms).UTC()
}

// kind makes the jobs of operations.
var kind = holdfast.NewTask[json.RawMessage](Kind,
	holdfast.Queue(Queue), holdfast.Priority(1), holdfast.OrderingKey(bulk.Turn))

// Start starts an operation, under the client's name (Client.As), and returns the id of its job. It
// begins when a node has a slot, and no operation of the namespace was started earlier. The errors
// are those of an enqueue, and ErrInvalid for an action or a filter that is wrong.
func Start(ctx context.Context, c *holdfast.Client, op Operation) (holdfast.ID, error) {
	s, err := spec(ctx, c, op)
	if err != nil {
		return holdfast.ID{}, err
	}
	args, err := json.Marshal(s)
	if err != nil {
		return holdfast.ID{}, fmt.Errorf("%w: operation: %w", store.ErrInvalid, err)
	}
	var opts []holdfast.EnqueueOption
	if op.ID != (holdfast.ID{}) {
		opts = append(opts, holdfast.JobID(op.ID))
	}
	made, err := c.EnqueueBatch(ctx, []holdfast.BatchItem{kind.Item(args, opts...)})
	if err != nil {
		return holdfast.ID{}, cmp.Or(made[0].Err, err)
	}
	return made[0].ID, nil
}
