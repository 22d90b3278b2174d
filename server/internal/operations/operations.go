// Package operations has the operations of the API on changes of many jobs.
//
// # Imports
//
// Of ours, operation, internal/cli/views, and server/internal/api and server/internal/jobs with
// what these stand on.
package operations

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/operation"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/server/internal/problem"
	"github.com/holdfastdev/holdfast/store"
)

const tag = "operations"

// Register registers the operations.
func Register(a *api.API) {
	api.RegisterFull(a, api.Op{
		ID: "operation-start", Method: http.MethodPost, Path: "/operations", Tag: tag, Scope: access.OperationsWrite, Status: http.StatusAccepted,
		Also:    http.StatusOK,
		Summary: "Change all jobs that a filter selects",
		About: `A node does it, page by page, and goes on if it dies; the header Location says where to look. One runs at a time in a
namespace. With dry_run nothing happens (200): the answer says how many jobs there are, and some of them. With the same id
the request may be repeated.`,
	}, start)
	api.Register(a, api.Op{
		ID: "operation-list", Method: http.MethodGet, Path: "/operations", Tag: tag, Scope: access.OperationsRead, Summary: "List operations",
		About: "The newest first.",
	}, list)
	api.Register(a, api.Op{
		ID: "operation-get", Method: http.MethodGet, Path: "/operations/{id}", Tag: tag, Scope: access.OperationsRead, Summary: "Get an operation",
		About: "With how far it is, and the first 20 jobs that it could not change.",
	}, get)
	api.Register(a, api.Op{
		ID: "operation-cancel", Method: http.MethodPost, Path: "/operations/{id}/cancel", Tag: tag, Scope: access.OperationsWrite,
		Summary: "Cancel an operation",
		About:   "One that runs ends after the page of jobs that it is at. What it has changed stays changed.",
	}, cancel)
}

// OfOperation is what inputs about one operation have.
type OfOperation struct {
	api.In

	ID api.ID `path:"id"`
}

// find is the operation. A job that is none is not there.
func (in *OfOperation) find(ctx context.Context, c *api.Call) (operation.Info, error) {
	o, err := operation.Get(ctx, c.Client, store.ID(in.ID))
	return o, in.about(err)
}

func (in *OfOperation) about(err error) error {
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrConflict) {
		return problem.New(problem.NotFound, "there is no operation "+store.ID(in.ID).String()+"; /operations lists them")
	}
	return err
}

func get(ctx context.Context, c *api.Call, in *OfOperation) (*api.Body[views.Operation], error) {
	o, err := in.find(ctx, c)
	if err != nil {
		return nil, err
	}
	return &api.Body[views.Operation]{Body: views.NewOperation(&o)}, nil
}

type cancelIn struct {
	OfOperation

	Body *struct {
		Reason string `json:"reason,omitempty" doc:"For people; it is recorded"`
	}
}

func cancel(ctx context.Context, c *api.Call, in *cancelIn) (*api.Body[views.Operation], error) {
	reason := ""
	if in.Body != nil {
		reason = in.Body.Reason
	}
	if err := operation.Stop(ctx, c.Client, reason, store.ID(in.ID)); err != nil {
		return nil, in.about(err)
	}
	return get(ctx, c, &in.OfOperation)
}

type listIn struct {
	api.In
	api.Paged

	State []string `query:"state,explode" maxItems:"10" doc:"In one of these states"`
}

func list(ctx context.Context, c *api.Call, in *listIn) (*api.Body[api.Page[views.Operation]], error) {
	var states []store.State
	for _, name := range in.State {
		state, err := store.ParseState(name)
		if err != nil {
			return nil, problem.Invalid("query/state", "there is no state "+strconv.Quote(name))
		}
		states = append(states, state)
	}
	page, err := operation.List(ctx, c.Client, in.Cursor, in.Limit, states...)
	if err != nil {
		return nil, problem.At("query/cursor", err)
	}
	items := make([]views.Operation, len(page.Operations))
	for i := range page.Operations {
		items[i] = views.NewOperation(&page.Operations[i])
	}
	return &api.Body[api.Page[views.Operation]]{Body: api.NewPage(items, page.Next)}, nil
}
