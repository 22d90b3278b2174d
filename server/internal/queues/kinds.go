package queues

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/describe"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/server/internal/problem"
	"github.com/holdfastdev/holdfast/store"
)

func registerKinds(a *api.API) {
	op := api.Op{
		ID: "kind-list", Method: http.MethodGet, Path: "/kinds", Tag: "kinds", Scope: access.QueuesRead, Summary: "List kinds of jobs",
		About: `By name: those that live nodes serve, those of jobs that are available and that no live node claims, and those that code has
described. Kinds of other jobs are not known.`,
	}
	api.Register(a, op, listKinds)
	op.ID, op.Path, op.Summary = "kind-get", "/kinds/{kind}", "Get a kind of jobs"
	op.About = "Which live nodes serve it, in which queues jobs of it wait in vain, and what code tells of it, with the JSON Schemas of its args and its result."
	api.Register(a, op, getKind)
	op.ID, op.Method, op.Scope, op.Summary = "kind-forget", http.MethodDelete, access.QueuesWrite, "Forget what code has told of a kind of jobs"
	op.About = "The next node to start tells again what its code describes. Jobs are not touched."
	api.RegisterFull(a, op, forget)
}

// Descriptor is what code tells of a queue or a kind.
type Descriptor struct {
	Owner       views.Text      `json:"owner"`
	Link        views.Text      `json:"link"`
	Description views.Text      `json:"description"`
	Deprecated  views.Text      `json:"deprecated" doc:"Why it is not to be used any more, and what to use"`
	Args        json.RawMessage `json:"args" doc:"The JSON Schema of the args"`
	Result      json.RawMessage `json:"result" doc:"The JSON Schema of the result"`
	Example     api.Payload     `json:"example" doc:"Args, as an example"`
	Signals     []string        `json:"signals" nullable:"false"`
	Updates     []string        `json:"updates" nullable:"false"`
	At          views.Timestamp `json:"at" doc:"Since when it is so"`
	Build       *views.Build    `json:"build" doc:"Of the program that has told it"`
}

func viewDescriptor(c *api.Call, d *describe.Described) *Descriptor {
	if d == nil {
		return nil
	}
	v := views.NewDescriptor(d)
	return &Descriptor{
		Owner: v.Owner, Link: v.Link, Description: v.Description, Deprecated: v.Deprecated, Args: d.Info.Args, Result: d.Info.Result,
		Example: c.Visible(d.Info.Example), Signals: v.Signals, Updates: v.Updates, At: v.At, Build: v.Build,
	}
}

func listKinds(ctx context.Context, c *api.Call, in *queueListIn) (*api.Body[api.Page[views.Kind]], error) {
	described, err := describedKinds(ctx, c.Client)
	if err != nil {
		return nil, err
	}
	kinds, err := known(ctx, c, described)
	if err != nil {
		return nil, err
	}
	page, err := api.PageByName(kinds, &in.Paged, func(k *views.Kind) string { return k.Name })
	return &api.Body[api.Page[views.Kind]]{Body: page}, err
}

// known are the kinds that nodes serve, of jobs that wait in vain, and others.
func known(ctx context.Context, c *api.Call, others []string) ([]views.Kind, error) {
	nodes, err := c.Client.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	unserved, err := c.Client.Unserved(ctx)
	if err != nil {
		return nil, err
	}
	return views.KindsOf(c.Client.Namespace(), nodes, unserved, others, c.Now()), nil
}

// describedAtOnce is how many descriptors are read at once.
const describedAtOnce = 1000

// describedKinds are the kinds of which code has told.
func describedKinds(ctx context.Context, client *holdfast.Client) (names []string, err error) {
	for after := ""; ; {
		page, err := describe.List(ctx, client, store.SubjectKind, after, describedAtOnce)
		if err != nil {
			return nil, err
		}
		for i := range page {
			after = page[i].Name
			names = append(names, after)
		}
		if len(page) < describedAtOnce {
			return names, nil
		}
	}
}

// OfKind is what inputs about one kind have.
type OfKind struct {
	api.In

	Kind string `path:"kind" example:"send-mail"`
}

// WholeKind is a kind, and what is told of it.
type WholeKind struct {
	views.Kind

	Descriptor *Descriptor `json:"descriptor" doc:"What code tells of it; null: nothing"`
}

func getKind(ctx context.Context, c *api.Call, in *OfKind) (*api.Body[WholeKind], error) {
	told, err := toldOf(ctx, c, store.SubjectKind, in.Kind)
	if err != nil {
		return nil, err
	}
	kinds, err := known(ctx, c, nil)
	if err != nil {
		return nil, err
	}
	v, isKnown := views.WholeKindOf(in.Kind, kinds, told)
	if !isKnown {
		return nil, problem.New(problem.NotFound, fmt.Sprintf(
			"kind %q is not known: no live node serves it, no job of it waits in vain, and no code tells of it", in.Kind))
	}
	return &api.Body[WholeKind]{Body: WholeKind{Kind: v.Kind, Descriptor: viewDescriptor(c, told)}}, nil
}

func forget(ctx context.Context, c *api.Call, in *OfKind) (*struct{}, error) {
	forgotten, err := describe.Forget(ctx, c.Client, store.SubjectKind, in.Kind)
	if err == nil && !forgotten {
		err = problem.New(problem.NotFound, fmt.Sprintf("no code has told of the kind %q", in.Kind))
	}
	return nil, problem.At("path/kind", err)
}
