// Package queues has the operations of the API on queues and on kinds of jobs.
//
// # Imports
//
// Of ours, the root package and those beside it that queues are told and set with, store,
// internal/cli/views, and server/internal/api with what that stands on.
package queues

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/after"
	"github.com/holdfastdev/holdfast/describe"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/limit"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/server/internal/problem"
	"github.com/holdfastdev/holdfast/store"
)

const tag = "queues"

// Register registers the operations.
func Register(a *api.API) {
	get := api.Op{
		ID: "queue-list", Method: http.MethodGet, Path: "/queues", Tag: tag, Scope: access.QueuesRead, Summary: "List queues",
		About: "By name, with the number of unfinished jobs in each state; counting stops at 10000.",
	}
	api.Register(a, get, list)
	get.ID, get.Path, get.Summary = "queue-get", "/queues/{queue}", "Get a queue"
	get.About = `What is set of it, its limit, what code tells of it, which live nodes serve it, and which kinds of its jobs no live node
claims. The ETag is that of what queue-set sets.`
	api.RegisterFull(a, get, getQueue)
	get.ID, get.Path, get.Summary = "queue-stuck", "/queues/{queue}/stuck", "List the ordering keys that a failed job holds up"
	get.About = "A page may have no keys although there are more: go on while there is a next_cursor."
	api.Register(a, get, stuck)
	registerChange(a)
	registerKinds(a)
}

type queueListIn struct {
	api.In
	api.Paged
}

func list(ctx context.Context, c *api.Call, in *queueListIn) (*api.Body[api.Page[views.Queue]], error) {
	all, err := c.Client.Queues(ctx)
	if err != nil {
		return nil, err
	}
	items := make([]views.Queue, len(all))
	for i := range all {
		items[i] = views.NewQueue(&all[i])
	}
	page, err := api.PageByName(items, &in.Paged, func(q *views.Queue) string { return q.Name })
	return &api.Body[api.Page[views.Queue]]{Body: page}, err
}

// OfQueue is what inputs about one queue have.
type OfQueue struct {
	api.In

	Queue string `path:"queue" example:"mail"`
}

// WholeQueue is a queue, what is set and told of it, and who serves it.
type WholeQueue struct {
	views.WholeQueue

	Descriptor *Descriptor `json:"descriptor" doc:"What code tells of it; null: nothing"`
}

func getQueue(ctx context.Context, c *api.Call, in *OfQueue) (*api.Tagged[WholeQueue], error) {
	told, err := toldOf(ctx, c, store.SubjectQueue, in.Queue)
	if err != nil {
		return nil, err
	}
	q, err := find(ctx, c.Client, in.Queue)
	if errors.Is(err, store.ErrNotFound) && told != nil {
		q, err = store.Queue{Namespace: c.Client.Namespace(), Name: in.Queue}, nil // it has had no job yet
	}
	if err != nil {
		return nil, err
	}
	var of *store.Limit
	switch l, err := limit.Get(ctx, c.Client, limit.QueueName(q.Name)); {
	case err == nil:
		of = &l
	case !errors.Is(err, store.ErrNotFound):
		return nil, err
	}
	nodes, err := c.Client.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	unserved, err := c.Client.Unserved(ctx)
	if err != nil {
		return nil, err
	}
	v := WholeQueue{WholeQueue: views.NewWholeQueue(&q, of, nodes, unserved, c.Now()), Descriptor: viewDescriptor(c, told)}
	return &api.Tagged[WholeQueue]{ETag: versionOf(&q), Body: v}, nil
}

// versionOf is the version of what is set of a queue.
func versionOf(q *store.Queue) string { return api.ETag(q.Attempts.Encode()) }

// find returns a queue.
func find(ctx context.Context, client *holdfast.Client, name string) (store.Queue, error) {
	all, err := client.Queues(ctx)
	if err != nil {
		return store.Queue{}, err
	}
	for i := range all {
		if all[i].Name == name {
			return all[i], nil
		}
	}
	return store.Queue{}, problem.Of(fmt.Errorf("%w: there is no queue %q in namespace %q", store.ErrNotFound, name, client.Namespace()))
}

// toldOf is what code tells of a queue or a kind; nil: nothing.
func toldOf(ctx context.Context, c *api.Call, subject store.Subject, name string) (*describe.Described, error) {
	told, err := describe.Get(ctx, c.Client, subject, name)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, nil //nolint:nilnil // nothing is told
	case err != nil:
		return nil, err
	}
	return &told, nil
}

type queueStuckIn struct {
	OfQueue

	Cursor string `query:"cursor" doc:"next_cursor of the page before"`
}

func stuck(ctx context.Context, c *api.Call, in *queueStuckIn) (*api.Body[api.Page[views.StuckKey]], error) {
	if _, err := find(ctx, c.Client, in.Queue); err != nil {
		return nil, err
	}
	page := api.Paged{Cursor: in.Cursor}
	from, err := page.After()
	if err != nil {
		return nil, err
	}
	found, err := after.Stuck(ctx, c.Client, store.StuckKeysParams{Queue: in.Queue, After: from})
	if err != nil {
		return nil, err
	}
	items := make([]views.StuckKey, len(found.Keys))
	for i := range found.Keys {
		items[i] = views.NewStuckKey(c.Client.Namespace(), in.Queue, &found.Keys[i])
	}
	next := ""
	if found.Next != "" {
		next = api.Cursor(found.Next)
	}
	return &api.Body[api.Page[views.StuckKey]]{Body: api.NewPage(items, next)}, nil
}
