package endpoints

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/holdfastdev/holdfast/endpoint"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/server/internal/problem"
	"github.com/holdfastdev/holdfast/store"
)

// Register registers the operations.
func Register(a *api.API) {
	registerWebhooks(a)
	op := opOf("endpoints", "/endpoints")
	api.Register(a, op(http.MethodGet, "endpoint-list", "", "List push endpoints", "By kind, without their secrets."), list)
	api.Register(a, op(http.MethodPost, "endpoint-create", "", "Make a push endpoint",
		"From now on servers send it the jobs of the kind. The answer has its secret, which is not shown again. A kind has one: else it is a conflict."),
		create)
	api.RegisterFull(a, op(http.MethodGet, "endpoint-get", "/{kind}", "Get a push endpoint", "Without its secrets."), get)
	api.RegisterFull(a, op(http.MethodPatch, "endpoint-update", "/{kind}", "Change a push endpoint",
		"What is left out stays. Servers know of it within seconds."), update)
	api.Register(a, op(http.MethodPost, "endpoint-rotate", "/{kind}/rotate", "Give a push endpoint a new secret",
		"The answer has it. For a day, or as long as overlap says, requests are signed by the old one, too."), rotate)
	api.RegisterFull(a, op(http.MethodDelete, "endpoint-delete", "/{kind}", "Delete a push endpoint",
		"Jobs of the kind wait for another handler. Those that wait for a callback are woken by it when there is one."), remove)
}

// opOf makes the operations of a resource.
func opOf(tag, path string) func(method, id, rest, summary, about string) api.Op {
	return func(method, id, rest, summary, about string) api.Op {
		op := api.Op{ID: id, Method: method, Path: path + rest, Tag: tag, Scope: access.EndpointsAdmin, Summary: summary, About: about}
		switch {
		case method == http.MethodGet:
			op.Scope = access.EndpointsRead
		case method == http.MethodPost && rest == "":
			op.Status = http.StatusCreated
		}
		return op
	}
}

// Target is where something is sent.
type Target struct {
	URL     string               `json:"url" minLength:"1" maxLength:"2000" doc:"http or https" example:"https://example.com/jobs"`
	Headers map[string]string    `json:"headers,omitempty" doc:"Those that are sent besides, such as Authorization; only their names are shown"`
	Timeout api.PositiveDuration `json:"timeout,omitzero" doc:"How long the receiver may take to answer; 30s if it is left out"`
}

func (t *Target) of() endpoint.Target {
	return endpoint.Target{URL: t.URL, Headers: t.Headers, Timeout: time.Duration(t.Timeout)}
}

// TargetChange is a change of one.
type TargetChange struct {
	URL     api.Patch[string]               `json:"url,omitzero" doc:"http or https" example:"https://example.com/jobs"`
	Headers api.Patch[map[string]string]    `json:"headers,omitzero" doc:"All that are sent besides"`
	Timeout api.Patch[api.PositiveDuration] `json:"timeout,omitzero" doc:"How long the receiver may take to answer; null: 30s"`
}

func (c *TargetChange) apply(t *endpoint.Target) {
	if c.URL.Given {
		t.URL = c.URL.Value
	}
	if c.Headers.Given {
		t.Headers = c.Headers.Value
	}
	if c.Timeout.Given {
		t.Timeout = time.Duration(c.Timeout.Value)
	}
}

// versionOf is the version of an endpoint or a webhook.
func versionOf(e *store.Endpoint) string {
	return api.ETag(e.CreatedAt.UnixMicro(), strconv.FormatInt(e.Version, 10))
}

// hide leaves of a URL what is no secret, for callers that may only read: of many receivers the
// path is all that says who may send there.
func hide(c *api.Call, t *endpoint.Target) {
	if !c.Principal.May(access.EndpointsAdmin) {
		t.URL = t.Site()
	}
}

type listIn struct {
	api.In
	api.Paged
}

func list(ctx context.Context, c *api.Call, in *listIn) (*api.Body[api.Page[views.Endpoint]], error) {
	return pageOf(ctx, c, in, func(e *endpoint.Entry[endpoint.Push]) views.Endpoint {
		hide(c, &e.Set.Target)
		return views.NewEndpoint(e)
	}, func(v *views.Endpoint) string { return v.Kind })
}

// pageOf is a page of endpoints or webhooks.
func pageOf[T endpoint.Push | endpoint.Webhook, V any](
	ctx context.Context, c *api.Call, in *listIn, view func(*endpoint.Entry[T]) V, name func(*V) string,
) (*api.Body[api.Page[V]], error) {
	after, err := in.After()
	if err != nil {
		return nil, err
	}
	all, err := endpoint.List[T](ctx, c.Client, after, min(in.Limit+1, 1000))
	if err != nil {
		return nil, err
	}
	items := make([]V, len(all))
	for i := range all {
		items[i] = view(&all[i])
	}
	return &api.Body[api.Page[V]]{Body: api.PageOf(items, &in.Paged, name)}, nil
}

type createIn struct {
	api.In

	Body struct {
		Kind string `json:"kind" minLength:"1" maxLength:"200" doc:"Whose jobs are sent" example:"invoice"`
		Target
		Callback api.PositiveDuration `json:"callback,omitzero" doc:"Within which time a job that was answered 202 is called back; 24h if it is left out"`
	}
}

func create(ctx context.Context, c *api.Call, in *createIn) (*api.Body[views.CreatedEndpoint], error) {
	e, secret, err := endpoint.CreatePush(ctx, c.Client, in.Body.Kind,
		endpoint.Push{Target: in.Body.of(), Callback: time.Duration(in.Body.Callback)})
	if err != nil {
		return nil, problem.At("", err)
	}
	return &api.Body[views.CreatedEndpoint]{Body: views.CreatedEndpoint{Endpoint: views.NewEndpoint(&e), Secret: secret}}, nil
}

// OfKind is what inputs about one endpoint have.
type OfKind struct {
	api.In

	Kind string `path:"kind" example:"invoice"`
}

func tagged(e *endpoint.Entry[endpoint.Push]) *api.Tagged[views.Endpoint] {
	return &api.Tagged[views.Endpoint]{ETag: versionOf(&e.Endpoint), Body: views.NewEndpoint(e)}
}

func get(ctx context.Context, c *api.Call, in *OfKind) (*api.Tagged[views.Endpoint], error) {
	e, err := endpoint.Get[endpoint.Push](ctx, c.Client, in.Kind)
	if err != nil {
		return nil, problem.At("path/kind", err)
	}
	hide(c, &e.Set.Target)
	return tagged(&e), nil
}

type updateIn struct {
	OfKind
	api.IfMatch

	Body struct {
		TargetChange
		Callback api.Patch[api.PositiveDuration] `json:"callback,omitzero" doc:"Within which time a job that was answered 202 is called back; null: 24h"`
	}
}

func update(ctx context.Context, c *api.Call, in *updateIn) (*api.Tagged[views.Endpoint], error) {
	e, err := endpoint.Update(ctx, c.Client, in.Kind, func(e *endpoint.Entry[endpoint.Push]) error {
		if err := in.Matches(versionOf(&e.Endpoint)); err != nil {
			return err
		}
		in.Body.apply(&e.Set.Target)
		if in.Body.Callback.Given {
			e.Set.Callback = time.Duration(in.Body.Callback.Value)
		}
		return nil
	})
	if err != nil {
		return nil, problem.At("", err)
	}
	return tagged(&e), nil
}

// Overlap is how long an old secret is used, too.
type Overlap struct {
	Overlap *api.Duration `json:"overlap,omitempty" doc:"For how long requests are signed by the old secret, too; 24h if it is left out" example:"24h"`
}

func (o *Overlap) duration() time.Duration {
	if o == nil || o.Overlap == nil {
		return endpoint.DefaultOverlap
	}
	return time.Duration(*o.Overlap)
}

type rotateIn struct {
	OfKind

	Body *Overlap
}

func rotate(ctx context.Context, c *api.Call, in *rotateIn) (*api.Body[views.CreatedEndpoint], error) {
	e, secret, err := endpoint.Rotate[endpoint.Push](ctx, c.Client, in.Kind, in.Body.duration())
	if err != nil {
		return nil, problem.At("path/kind", err)
	}
	return &api.Body[views.CreatedEndpoint]{Body: views.CreatedEndpoint{Endpoint: views.NewEndpoint(&e), Secret: secret}}, nil
}

func remove(ctx context.Context, c *api.Call, in *OfKind) (*struct{}, error) {
	return nil, problem.At("path/kind", endpoint.Delete[endpoint.Push](ctx, c.Client, in.Kind))
}
