package endpoints

import (
	"context"
	"net/http"

	"github.com/holdfastdev/holdfast/endpoint"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/rules"
	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/server/internal/problem"
	"github.com/holdfastdev/holdfast/store"
)

func registerWebhooks(a *api.API) {
	op := opOf("webhooks", "/webhooks")
	api.Register(a, op(http.MethodGet, "webhook-list", "", "List webhooks", "By name, without their secrets."), listWebhooks)
	api.Register(a, op(http.MethodPost, "webhook-create", "", "Make a webhook",
		"It is told of what happens from now on. The answer has its secret, which is not shown again. While the feed of changes is off it is a conflict."),
		createWebhook)
	api.RegisterFull(a, op(http.MethodGet, "webhook-get", "/{name}", "Get a webhook", "Without its secrets."), getWebhook)
	api.RegisterFull(a, op(http.MethodPatch, "webhook-update", "/{name}", "Change a webhook",
		"What is left out stays. One that is enabled again is told of what happens from then on."), updateWebhook)
	api.Register(a, op(http.MethodPost, "webhook-rotate", "/{name}/rotate", "Give a webhook a new secret",
		"The answer has it. For a day, or as long as overlap says, requests are signed by the old one, too."), rotateWebhook)
	api.RegisterFull(a, op(http.MethodDelete, "webhook-delete", "/{name}", "Delete a webhook", "Deliveries that were not made yet fail."), removeWebhook)
	api.Register(a, op(http.MethodPost, "webhook-test", "/{name}/test", "Send a webhook a test",
		"An event webhook.test. The answer names the job that delivers it."), testWebhook)
	api.Register(a, op(http.MethodGet, "webhook-deliveries", "/{name}/deliveries", "List the deliveries to a webhook",
		"The newest first: each is a job, kept as long as other jobs, with its attempts and their errors."), deliveries)
	api.Register(a, op(http.MethodPost, "webhook-redeliver", "/{name}/deliveries/{id}/redeliver", "Deliver an event to a webhook again",
		"As it was, with the same Webhook-Id. The answer names the job that delivers it."), redeliver)
}

func listWebhooks(ctx context.Context, c *api.Call, in *listIn) (*api.Body[api.Page[views.Webhook]], error) {
	return pageOf(ctx, c, in, func(e *endpoint.Entry[endpoint.Webhook]) views.Webhook {
		hide(c, &e.Set.Target)
		return views.NewWebhook(e)
	}, func(v *views.Webhook) string { return v.Name })
}

type createWebhookIn struct {
	api.In

	Body struct {
		Name string `json:"name" minLength:"1" maxLength:"200" example:"crm"`
		Target
		Events []endpoint.Event `json:"events,omitempty" nullable:"false" doc:"Of which it is told; when jobs have finished if it is left out" example:"[\"job.failed\"]"`
		Queues []string         `json:"queues,omitempty" nullable:"false" doc:"The queues of the jobs; all if it is left out"`
		Kinds  []string         `json:"kinds,omitempty" nullable:"false" doc:"The kinds of the jobs; all if it is left out"`
		Filter string           `json:"filter,omitempty" doc:"An expression of CEL over the variable event, the JSON that it would be told: only of those of which it is true" example:"event.data.kind.startsWith('mail')"`
	}
}

func createWebhook(ctx context.Context, c *api.Call, in *createWebhookIn) (*api.Body[views.CreatedWebhook], error) {
	b := &in.Body
	if err := rules.CheckEvent(b.Filter); err != nil {
		return nil, problem.At("/filter", err)
	}
	e, secret, err := endpoint.CreateWebhook(ctx, c.Client, b.Name, endpoint.Webhook{
		Target: b.of(), Filter: endpoint.Filter{Events: b.Events, Queues: b.Queues, Kinds: b.Kinds, Where: b.Filter},
	})
	if err != nil {
		return nil, problem.At("", err)
	}
	return &api.Body[views.CreatedWebhook]{Body: views.CreatedWebhook{Webhook: views.NewWebhook(&e), Secret: secret}}, nil
}

// OfWebhook is what inputs about one webhook have.
type OfWebhook struct {
	api.In

	Name string `path:"name" example:"crm"`
}

func taggedWebhook(e *endpoint.Entry[endpoint.Webhook]) *api.Tagged[views.Webhook] {
	return &api.Tagged[views.Webhook]{ETag: versionOf(&e.Endpoint), Body: views.NewWebhook(e)}
}

func (in *OfWebhook) find(ctx context.Context, c *api.Call) (endpoint.Entry[endpoint.Webhook], error) {
	e, err := endpoint.Get[endpoint.Webhook](ctx, c.Client, in.Name)
	return e, problem.At("path/name", err)
}

func getWebhook(ctx context.Context, c *api.Call, in *OfWebhook) (*api.Tagged[views.Webhook], error) {
	e, err := in.find(ctx, c)
	if err != nil {
		return nil, err
	}
	hide(c, &e.Set.Target)
	return taggedWebhook(&e), nil
}

type updateWebhookIn struct {
	OfWebhook
	api.IfMatch

	Body struct {
		TargetChange
		Events  api.Patch[[]endpoint.Event] `json:"events,omitzero" doc:"Of which it is told; null: when jobs have finished" example:"[\"job.failed\"]"`
		Queues  api.Patch[[]string]         `json:"queues,omitzero" doc:"The queues of the jobs; null: all"`
		Kinds   api.Patch[[]string]         `json:"kinds,omitzero" doc:"The kinds of the jobs; null: all"`
		Filter  api.Patch[string]           `json:"filter,omitzero" doc:"An expression over the variable event; null: none" example:"event.data.kind.startsWith('mail')"`
		Enabled *bool                       `json:"enabled,omitempty" doc:"Whether it is told of anything"`
	}
}

func updateWebhook(ctx context.Context, c *api.Call, in *updateWebhookIn) (*api.Tagged[views.Webhook], error) {
	b := &in.Body
	if err := rules.CheckEvent(b.Filter.Value); err != nil {
		return nil, problem.At("/filter", err)
	}
	e, err := endpoint.Update(ctx, c.Client, in.Name, func(e *endpoint.Entry[endpoint.Webhook]) error {
		if err := in.Matches(versionOf(&e.Endpoint)); err != nil {
			return err
		}
		b.apply(&e.Set.Target)
		f := &e.Set.Filter
		if b.Events.Given {
			f.Events = b.Events.Value
		}
		if b.Queues.Given {
			f.Queues = b.Queues.Value
		}
		if b.Kinds.Given {
			f.Kinds = b.Kinds.Value
		}
		if b.Filter.Given {
			f.Where = b.Filter.Value
		}
		switch {
		case b.Enabled == nil:
		case *b.Enabled:
			return endpoint.Enable(ctx, c.Client, &e.Set)
		case e.Set.Disabled == "":
			e.Set.Disabled = "by " + c.Client.Actor()
		}
		return nil
	})
	if err != nil {
		return nil, problem.At("", err)
	}
	return taggedWebhook(&e), nil
}

type rotateWebhookIn struct {
	OfWebhook

	Body *Overlap
}

func rotateWebhook(ctx context.Context, c *api.Call, in *rotateWebhookIn) (*api.Body[views.CreatedWebhook], error) {
	e, secret, err := endpoint.Rotate[endpoint.Webhook](ctx, c.Client, in.Name, in.Body.duration())
	if err != nil {
		return nil, problem.At("path/name", err)
	}
	return &api.Body[views.CreatedWebhook]{Body: views.CreatedWebhook{Webhook: views.NewWebhook(&e), Secret: secret}}, nil
}

func removeWebhook(ctx context.Context, c *api.Call, in *OfWebhook) (*struct{}, error) {
	return nil, problem.At("path/name", endpoint.Delete[endpoint.Webhook](ctx, c.Client, in.Name))
}

func testWebhook(ctx context.Context, c *api.Call, in *OfWebhook) (*api.Body[views.SentDelivery], error) {
	e, err := in.find(ctx, c)
	if err != nil {
		return nil, err
	}
	id, err := endpoint.SendTest(ctx, c.Client, &e)
	if err != nil {
		return nil, err
	}
	return &api.Body[views.SentDelivery]{Body: views.SentDelivery{ID: id.String()}}, nil
}

type deliveriesIn struct {
	OfWebhook

	State  string `query:"state" enum:"available,running,retryable,completed,failed,cancelled" doc:"Only those in this state"`
	Cursor string `query:"cursor" doc:"next_cursor of the page before"`
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
}

func deliveries(ctx context.Context, c *api.Call, in *deliveriesIn) (*api.Body[api.Page[views.Delivery]], error) {
	e, err := in.find(ctx, c)
	if err != nil {
		return nil, err
	}
	var states []store.State
	if in.State != "" {
		s, err := store.ParseState(in.State)
		if err != nil {
			return nil, problem.At("query/state", err)
		}
		states = append(states, s)
	}
	page, err := endpoint.ListDeliveries(ctx, c.Client, &e, states, in.Cursor, in.Limit)
	if err != nil {
		return nil, problem.At("query/cursor", err)
	}
	items := make([]views.Delivery, len(page.Jobs))
	for i := range page.Jobs {
		items[i] = views.NewDelivery(&page.Jobs[i])
	}
	return &api.Body[api.Page[views.Delivery]]{Body: api.NewPage(items, page.Next)}, nil
}

type redeliverIn struct {
	OfWebhook

	ID api.ID `path:"id"`
}

func redeliver(ctx context.Context, c *api.Call, in *redeliverIn) (*api.Body[views.SentDelivery], error) {
	e, err := in.find(ctx, c)
	if err != nil {
		return nil, err
	}
	id, err := endpoint.Redeliver(ctx, c.Client, &e, store.ID(in.ID))
	if err != nil {
		return nil, problem.At("path/id", err)
	}
	return &api.Body[views.SentDelivery]{Body: views.SentDelivery{ID: id.String()}}, nil
}
