// Package self has the operation with which a caller finds out who it is, and what it may do: so a
// page offers nothing that would be refused.
//
// # Imports
//
// Of ours, server/access, and server/internal/api with what that stands on.
package self

import (
	"context"
	"net/http"

	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/api"
)

// Config says what callers are told of the server.
type Config struct {
	// ReadOnly tells that it refuses all that changes something.
	ReadOnly bool
}

// Register registers the operation.
func Register(a *api.API, config Config) {
	api.Register(a, api.Op{
		ID: "whoami", Method: http.MethodGet, Path: "/whoami", Tag: "keys",
		Summary: "Tell who the caller is, and what it may do in a namespace",
	}, config.whoami)
}

// Caller is who makes a request.
type Caller struct {
	Name       string         `json:"name" doc:"What its changes are recorded with"`
	Namespace  string         `json:"namespace" doc:"The namespace that this is about"`
	Namespaces []string       `json:"namespaces" doc:"Those that it has; null: all"`
	Scopes     []access.Scope `json:"scopes" nullable:"false" doc:"What it may do in this namespace"`
	ReadOnly   bool           `json:"read_only" doc:"Whether the server refuses all that changes something"`
	Store      string         `json:"store" doc:"The kind of the database" example:"sqlite"`
}

func (config Config) whoami(ctx context.Context, c *api.Call, _ *api.In) (*api.Body[Caller], error) {
	p := c.Principal // which has no other namespace if it may do more in this one
	return &api.Body[Caller]{Body: Caller{
		Name: p.Name, Namespace: c.Client.Namespace(), Namespaces: access.Of(ctx).Namespaces, Scopes: append([]access.Scope{}, p.Scopes...),
		ReadOnly: config.ReadOnly, Store: c.Client.StoreName(),
	}}, nil
}
