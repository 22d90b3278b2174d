// Package keys has the operations of the API on API keys.
//
// A principal makes keys that may do no more than itself: in its namespaces, and with scopes that
// it has. One that has some namespaces alone sees their keys alone.
//
// # Imports
//
// Of ours, apikey, internal/cli/views, store, and server/internal/api with what that stands on.
package keys

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/apikey"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/server/internal/problem"
	"github.com/holdfastdev/holdfast/store"
)

const tag = "keys"

// Register registers the operations.
func Register(a *api.API) {
	api.Register(a, api.Op{
		ID: "key-list", Method: http.MethodGet, Path: "/keys", Tag: tag, Scope: access.KeysAdmin,
		Summary: "List API keys", About: "By id, without their secrets. Those that are revoked or have expired are listed for 90 days.",
	}, list)
	api.Register(a, api.Op{
		ID: "key-create", Method: http.MethodPost, Path: "/keys", Tag: tag, Scope: access.KeysAdmin, Status: http.StatusCreated,
		Summary: "Make an API key", About: "The answer has its secret, which cannot be shown again. It may do no more than the caller.",
	}, create)
	api.Register(a, api.Op{
		ID: "key-revoke", Method: http.MethodDelete, Path: "/keys/{key}", Tag: tag, Scope: access.KeysAdmin,
		Summary: "Revoke an API key for good", About: "Servers may let it in for 10 seconds more. Revoking it again changes nothing.",
	}, revoke)
}

type listIn struct {
	api.In
	api.Paged

	Of string `query:"in" doc:"Only the keys of this namespace alone" example:"shop"`
}

func list(ctx context.Context, c *api.Call, in *listIn) (*api.Body[api.Page[views.APIKey]], error) {
	after, err := in.After()
	if err != nil {
		return nil, err
	}
	of := in.Of
	if c.Principal.Namespaces != nil {
		if of = c.Client.Namespace(); in.Of != "" && in.Of != of {
			return nil, problem.New(problem.NotFound, "there is no namespace "+in.Of+" for this key")
		}
	}
	all, err := apikey.List(ctx, c.Client, of, after, in.Limit+1)
	if err != nil {
		return nil, err
	}
	items := make([]views.APIKey, len(all))
	for i := range all {
		items[i] = views.NewAPIKey(&all[i])
	}
	return &api.Body[api.Page[views.APIKey]]{Body: api.PageOf(items, &in.Paged, func(k *views.APIKey) string { return k.ID })}, nil
}

// NewKey is a key to make.
type NewKey struct {
	Name      string         `json:"name" minLength:"1" maxLength:"200" doc:"For people" example:"ci"`
	Role      apikey.Role    `json:"role,omitempty" doc:"Whose scopes it has" example:"viewer"`
	Scopes    []access.Scope `json:"scopes,omitempty" maxItems:"100" nullable:"false" doc:"Those that it has besides"`
	Namespace string         `json:"namespace,omitempty" doc:"The only one in which it may be used; without it, all" example:"shop"`
	ExpiresAt *time.Time     `json:"expires_at,omitempty" doc:"When it expires; without it, never"`
}

type createIn struct {
	api.In

	Body NewKey
}

func create(ctx context.Context, c *api.Call, in *createIn) (*api.Body[views.CreatedAPIKey], error) {
	n := &in.Body
	if err := n.within(c.Principal); err != nil {
		return nil, err
	}
	params := apikey.Params{Name: n.Name, Namespace: n.Namespace, Role: n.Role, Scopes: n.Scopes}
	if n.ExpiresAt != nil {
		params.ExpiresAt = *n.ExpiresAt
	}
	key, secret, err := apikey.Create(ctx, c.Client, params)
	if err != nil {
		return nil, problem.At("", err)
	}
	return &api.Body[views.CreatedAPIKey]{Body: views.CreatedAPIKey{APIKey: views.NewAPIKey(&key), Secret: secret}}, nil
}

// within refuses a key that may do more than who makes it.
func (n *NewKey) within(p *access.Principal) error {
	switch {
	case n.Namespace == "" && p.Namespaces != nil:
		return problem.Invalid("/namespace", "it is missing, and a key of all namespaces may do more than the one that makes it")
	case n.Namespace != "" && !p.Has(n.Namespace):
		return problem.New(problem.NotFound, "there is no namespace "+n.Namespace+" for this key")
	}
	if n.Role != "" && !slices.Contains(apikey.Roles, n.Role) {
		return problem.Invalid("/role", fmt.Sprintf("there is no role %.100q; there are %v", n.Role, apikey.Roles))
	}
	for i, s := range n.Scopes {
		if !slices.Contains(access.Scopes, s) {
			return problem.Invalid(fmt.Sprintf("/scopes/%d", i), fmt.Sprintf("there is no scope %.100q", s))
		}
	}
	for _, s := range slices.Concat(n.Role.Scopes(), n.Scopes) {
		if !p.May(s) {
			return problem.New(problem.Forbidden, fmt.Sprintf("the key would have the scope %s, which the one that makes it has not", s))
		}
	}
	return nil
}

type revokeIn struct {
	api.In

	Key string `path:"key" doc:"Its id, or its secret" example:"Kp3vX9aQ"`
}

func revoke(ctx context.Context, c *api.Call, in *revokeIn) (*api.Body[views.APIKey], error) {
	id := in.Key
	if parsed, err := apikey.Parse(id); err == nil {
		id = parsed
	}
	key, err := apikey.Get(ctx, c.Client, id)
	if err == nil && (key.Namespace == "" && c.Principal.Namespaces != nil || key.Namespace != "" && !c.Principal.Has(key.Namespace)) {
		err = store.NoAPIKey(id)
	}
	if err == nil {
		key, err = apikey.Revoke(ctx, c.Client, id)
	}
	if err != nil {
		return nil, problem.At("path/key", err)
	}
	return &api.Body[views.APIKey]{Body: views.NewAPIKey(&key)}, nil
}
