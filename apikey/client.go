package apikey

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/store"
)

// Create makes a key in the client's database, in its actor's name, and returns it with its secret,
// which cannot be shown again. The error is ErrInvalid, also for a key that would have expired.
func Create(ctx context.Context, c *holdfast.Client, params Params) (key store.APIKey, secret string, err error) {
	e, _ := access.Engine(c)
	if !params.ExpiresAt.IsZero() && !params.ExpiresAt.After(e.Store.Now()) {
		return store.APIKey{}, "", fmt.Errorf("%w: the key would have expired on %s",
			store.ErrInvalid, params.ExpiresAt.UTC().Format(time.RFC3339))
	}
	params.Actor = c.Actor()
	key, secret, err = New(params)
	if err != nil {
		return store.APIKey{}, "", err
	}
	key, err = e.Store.CreateAPIKey(ctx, key)
	return key, secret, err
}

// List returns a page of the keys of a client's database, by their ids: at most limit, up to 1000,
// behind an id. namespace is that of the keys; "": of any, and those of all namespaces. The error
// is ErrInvalid.
func List(ctx context.Context, c *holdfast.Client, namespace, after string, limit int) ([]store.APIKey, error) {
	e, _ := access.Engine(c)
	return e.Store.APIKeys(ctx, store.APIKeyParams{Namespace: namespace, After: after, Limit: limit})
}

// Get returns a key of a client's database. The error is ErrNotFound.
func Get(ctx context.Context, c *holdfast.Client, id string) (store.APIKey, error) {
	e, _ := access.Engine(c)
	return e.Store.APIKey(ctx, id)
}

// Revoke revokes a key for good, in the name of the client's actor. One that is revoked stays as it
// is. The error is ErrNotFound.
func Revoke(ctx context.Context, c *holdfast.Client, id string) (store.APIKey, error) {
	e, _ := access.Engine(c)
	return e.Store.RevokeAPIKey(ctx, store.RevokeAPIKeyParams{ID: id, Actor: c.Actor()})
}
