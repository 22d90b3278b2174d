// Package attributes has the operations of the API on search attributes.
//
// # Imports
//
// Of ours, search, internal/cli/views, and server/internal/api with what that stands on.
package attributes

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/search"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/server/internal/problem"
	"github.com/holdfastdev/holdfast/store"
)

const tag = "attributes"

// Register registers the operations.
func Register(a *api.API) {
	api.Register(a, api.Op{
		ID: "attribute-list", Method: http.MethodGet, Path: "/attributes", Tag: tag, Scope: access.JobsRead,
		Summary: "List the search attributes of the namespace", About: "All of them, by name; there are 100 at most.",
	}, list)
	api.Register(a, api.Op{
		ID: "attribute-declare", Method: http.MethodPost, Path: "/attributes", Tag: tag, Scope: access.JobsWrite,
		Summary: "Declare search attributes",
		About:   "All or none. Those that are declared with the same type stay: a program may do it whenever it starts.",
	}, declare)
	api.RegisterFull(a, api.Op{
		ID: "attribute-delete", Method: http.MethodDelete, Path: "/attributes/{attribute}", Tag: tag, Scope: access.NamespacesAdmin,
		Summary: "Delete a search attribute, with all values that jobs have for it",
		About: `From the beginning no job is found by it. If many jobs have values it may be broken off (timed_out): the same request
goes on.`, Timeout: time.Minute,
	}, remove)
}

// AttributeList are search attributes.
type AttributeList struct {
	Items []views.Attribute `json:"items" nullable:"false"`
}

func list(ctx context.Context, c *api.Call, _ *api.In) (*api.Body[AttributeList], error) {
	return listed(ctx, c, func(*store.DeclaredAttribute) bool { return true })
}

func listed(ctx context.Context, c *api.Call, shown func(*store.DeclaredAttribute) bool) (*api.Body[AttributeList], error) {
	all, err := search.List(ctx, c.Client)
	if err != nil {
		return nil, err
	}
	v := AttributeList{Items: []views.Attribute{}}
	for i := range all {
		if shown(&all[i]) {
			v.Items = append(v.Items, views.NewAttribute(c.Client.Namespace(), &all[i]))
		}
	}
	return &api.Body[AttributeList]{Body: v}, nil
}

// NewAttribute is an attribute to declare.
type NewAttribute struct {
	Key   string `json:"name" minLength:"1" doc:"Letters and digits of ASCII, underscores, dots and hyphens, at most 100" example:"customer"`
	Value string `json:"type" enum:"keyword,int,float,bool,time" doc:"Of its values"`
}

// Name is that of the attribute.
func (n NewAttribute) Name() string { return n.Key }

// Type is that of its values.
func (n NewAttribute) Type() store.AttributeType {
	t, err := store.ParseAttributeType(n.Value)
	if err != nil {
		panic(err) // the document lets no other one pass
	}
	return t
}

type declareIn struct {
	api.In

	Body struct {
		Attributes []NewAttribute `json:"attributes" minItems:"1" maxItems:"100" nullable:"false"`
	}
}

func declare(ctx context.Context, c *api.Call, in *declareIn) (*api.Body[AttributeList], error) {
	all := make([]search.Attribute, len(in.Body.Attributes))
	names := make([]string, len(all))
	for i, n := range in.Body.Attributes {
		if err := store.CheckAttributeName(n.Key); err != nil {
			return nil, problem.At(fmt.Sprintf("/attributes/%d/name", i), err)
		}
		all[i], names[i] = n, n.Key
	}
	if err := search.Declare(ctx, c.Client, all...); err != nil {
		return nil, problem.At("/attributes", err)
	}
	return listed(ctx, c, func(a *store.DeclaredAttribute) bool { return slices.Contains(names, a.Name) })
}

type removeIn struct {
	api.In

	Attribute string `path:"attribute" doc:"Its name"`
}

func remove(ctx context.Context, c *api.Call, in *removeIn) (*struct{}, error) {
	return nil, problem.At("path/attribute", search.Delete(ctx, c.Client, in.Attribute))
}
