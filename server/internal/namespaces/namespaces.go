// Package namespaces has the operations of the API on namespaces. A principal sees those that it
// has, and nothing of others.
//
// # Imports
//
// Of ours, namespace, internal/cli/views, store, and server/internal/api with what that stands on.
package namespaces

import (
	"context"
	"net/http"

	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/namespace"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/server/internal/problem"
	"github.com/holdfastdev/holdfast/store"
)

const tag = "namespaces"

// Register registers the operations.
func Register(a *api.API) {
	api.Register(a, api.Op{
		ID: "namespace-list", Method: http.MethodGet, Path: "/namespaces", Tag: tag,
		Summary: "List the namespaces that were created, and those in use",
		About:   "By name; those that the caller has. One is in use that has a queue, a schedule, a limit, a node that lives, or an API key.",
	}, list)
	api.Register(a, api.Op{
		ID: "namespace-get", Method: http.MethodGet, Path: "/namespaces/{name}", Tag: tag, Scope: access.JobsRead,
		Summary: "Get a namespace, with how much is in it",
		About:   "How many jobs there are in each state is exact up to 10,000, and how many schedules and keys up to a thousand.",
	}, get)
	api.Register(a, api.Op{
		ID: "namespace-create", Method: http.MethodPost, Path: "/namespaces", Tag: tag, Scope: access.NamespacesAdmin, Status: http.StatusCreated,
		Summary: "Create a namespace, or say what one that is in use is for",
	}, create)
	api.RegisterFull(a, api.Op{
		ID: "namespace-delete", Method: http.MethodDelete, Path: "/namespaces/{name}", Tag: tag, Scope: access.NamespacesAdmin,
		Summary: "Delete a namespace that is empty, with its queues",
		About:   "While there are jobs (finished ones as well), schedules, limits, nodes that live or valid API keys in it, it is a conflict.",
	}, remove)
}

type listIn struct {
	api.In
	api.Paged
}

func list(ctx context.Context, c *api.Call, in *listIn) (*api.Body[api.Page[views.Namespace]], error) {
	after, err := in.After()
	if err != nil {
		return nil, err
	}
	caller := access.Of(ctx) // in all namespaces: the call is about one
	var items []views.Namespace
	for {
		all, err := namespace.List(ctx, c.Client, after, in.Limit+1)
		if err != nil {
			return nil, err
		}
		for i := range all {
			if after = all[i].Name; caller.Has(after) {
				items = append(items, views.NewNamespace(&all[i]))
			}
		}
		if len(all) <= in.Limit || len(items) > in.Limit {
			return &api.Body[api.Page[views.Namespace]]{Body: api.PageOf(items, &in.Paged, func(n *views.Namespace) string { return n.Name })}, nil
		}
	}
}

// Named is an input that names a namespace in its path.
type Named struct {
	Name string `path:"name" doc:"Its name" example:"shop"`
}

func (n *Named) check(c *api.Call) error {
	if !c.Principal.Has(n.Name) {
		return store.NoNamespace(n.Name)
	}
	return nil
}

type oneIn struct {
	api.In
	Named
}

func get(ctx context.Context, c *api.Call, in *oneIn) (*api.Body[views.NamespaceDetails], error) {
	if err := in.check(c); err != nil {
		return nil, err
	}
	d, err := namespace.Get(ctx, c.Client, in.Name)
	if err != nil {
		return nil, problem.At("path/name", err)
	}
	return &api.Body[views.NamespaceDetails]{Body: views.NewNamespaceDetails(&d)}, nil
}

// NewNamespace is a namespace to create.
type NewNamespace struct {
	Name string `json:"name" minLength:"1" doc:"Its name" example:"shop"`
	Note string `json:"note,omitempty" doc:"What it is for, up to 1000 bytes" example:"the web shop; ask Ann"`
}

type createIn struct {
	api.In

	Body NewNamespace
}

func create(ctx context.Context, c *api.Call, in *createIn) (*api.Body[views.Namespace], error) {
	if !c.Principal.Has(in.Body.Name) {
		return nil, store.NoNamespace(in.Body.Name)
	}
	n, err := namespace.Create(ctx, c.Client, in.Body.Name, in.Body.Note)
	if err != nil {
		return nil, problem.At("", err)
	}
	return &api.Body[views.Namespace]{Body: views.NewNamespace(&n)}, nil
}

func remove(ctx context.Context, c *api.Call, in *oneIn) (*struct{}, error) {
	if err := in.check(c); err != nil {
		return nil, err
	}
	return nil, problem.At("path/name", namespace.Delete(ctx, c.Client, in.Name))
}
