package holdfast

import (
	"context"
	"fmt"

	"github.com/holdfastdev/holdfast/internal/bulk"
	"github.com/holdfastdev/holdfast/store"
)

// handleOperations gives the node the handler of operations (package operation), unless an option
// of Open says not to.
func (c *Client) handleOperations() error {
	runner := c.engine.Runner(c.namespace)
	if c.noOperations || runner.Handler(bulk.Kind) != nil {
		return nil
	}
	return runner.Handle(bulk.Handler(func(actor string) (bulk.Jobs, error) {
		of, err := c.As(actor)
		return bulkJobs{of}, err
	}))
}

// bulkJobs are the jobs of a client's namespace, for operations.
type bulkJobs struct{ client *Client }

func (b bulkJobs) List(ctx context.Context, filter store.Filter, after string, limit int) (store.Page, error) {
	return b.client.List(ctx, filter, after, limit)
}

func (b bulkJobs) Count(ctx context.Context, filter store.Filter) (store.Count, error) {
	return b.client.Count(ctx, filter)
}

func (b bulkJobs) Get(ctx context.Context, id ID) (store.Record, error) {
	return b.client.Get(ctx, id)
}

func (b bulkJobs) Edit(ctx context.Context, reason string, id ID, e store.Edit) error {
	return b.client.edit(ctx, reason, id, e)
}

func (b bulkJobs) Change(ctx context.Context, verb bulk.Verb, reason string, states []store.State, ids []ID) ([]store.Result, error) {
	if verb == bulk.Delete {
		return b.client.engine.Delete(ctx, store.DeleteParams{
			Namespace: b.client.namespace, Jobs: ids, Reason: reason, Actor: b.client.actor, States: store.SetOf(states...),
		})
	}
	change, ok := map[bulk.Verb]func(context.Context, string, ...ID) ([]store.Result, error){
		bulk.Cancel: b.client.Cancel, bulk.Terminate: b.client.Terminate, bulk.Retry: b.client.Retry,
		bulk.Pause: b.client.Pause, bulk.Resume: b.client.Resume,
	}[verb]
	if !ok {
		return nil, fmt.Errorf("%w: no operation does %q", ErrInvalid, verb)
	}
	return change(ctx, reason, ids...)
}
