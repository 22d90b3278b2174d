// Package audit has the operation of the API on what people did.
//
// A principal that has some namespaces alone sees what was done in one of them. What was done to
// the whole database is seen by those that have all.
//
// # Imports
//
// Of ours, audit, internal/cli/views, store, and server/internal/api with what that stands on.
package audit

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/audit"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/server/internal/problem"
	"github.com/holdfastdev/holdfast/store"
)

// Register registers the operation.
func Register(a *api.API) {
	api.Register(a, api.Op{
		ID: "audit-list", Method: http.MethodGet, Path: "/audit", Tag: "audit", Scope: access.AuditRead,
		Summary: "List what people did", About: "Newest first: who changed what, when, and what it was before and after. " +
			"Entries have no secrets and no payloads.",
	}, list)
}

type listIn struct {
	api.In
	api.Paged

	Of     string    `query:"in" doc:"Only what was done in this namespace" example:"shop"`
	Actor  string    `query:"actor" doc:"Only what this one did" example:"key Kp3vX9aQ (ci)"`
	Action string    `query:"action" doc:"Only this, such as create, update, delete, pause or cancel" example:"update"`
	Kind   string    `query:"kind" doc:"Only what was done to targets of this kind, such as limit, schedule or key" example:"limit"`
	Name   string    `query:"name" doc:"Only what was done to the target of this name; it goes with kind" example:"partner"`
	Job    api.ID    `query:"job" doc:"Only what was done to this job"`
	Since  time.Time `query:"since" doc:"Only what was done then or later"`
	Until  time.Time `query:"until" doc:"Only what was done before that"`
}

func list(ctx context.Context, c *api.Call, in *listIn) (*api.Body[api.Page[views.AuditEntry]], error) {
	after, err := in.After()
	if err != nil {
		return nil, err
	}
	if in.Kind != "" && !slices.Contains(audit.Kinds(), in.Kind) {
		return nil, problem.Invalid("query/kind", fmt.Sprintf("there is no kind %.100q; there are %s", in.Kind, strings.Join(audit.Kinds(), ", ")))
	}
	f := audit.Filter{
		Namespace: in.Of, Actor: in.Actor, Action: in.Action, Target: audit.Target{Kind: in.Kind, Name: in.Name}, Job: store.ID(in.Job),
		Since: in.Since, Until: in.Until,
	}
	if c.Principal.Namespaces != nil {
		if f.Namespace = c.Client.Namespace(); in.Of != "" && in.Of != f.Namespace {
			return nil, problem.New(problem.NotFound, "there is no namespace "+in.Of+" for this key")
		}
	}
	all, err := audit.List(ctx, c.Client, f, after, in.Limit+1)
	if err != nil {
		return nil, problem.At("query", err)
	}
	next := ""
	if len(all) > in.Limit {
		all = all[:in.Limit]
		next = api.Cursor(audit.Cursor(&all[in.Limit-1]))
	}
	items := make([]views.AuditEntry, len(all))
	for i := range all {
		items[i] = views.NewAuditEntry(&all[i])
	}
	return &api.Body[api.Page[views.AuditEntry]]{Body: api.NewPage(items, next)}, nil
}
