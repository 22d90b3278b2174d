package env

import (
	"context"
	"errors"

	"github.com/holdfastdev/holdfast/store"
)

func (p persistent) Namespaces(ctx context.Context, params store.NamespaceParams) ([]store.Namespace, error) {
	return persistFor(func() ([]store.Namespace, error) { return p.Store.Namespaces(ctx, params) })
}

// CreateNamespace takes a namespace for its own that an earlier try has made.
func (p persistent) CreateNamespace(ctx context.Context, params store.CreateNamespaceParams) (n store.Namespace, err error) {
	err = persist(func(again bool) error {
		if n, err = p.Store.CreateNamespace(ctx, params); !again || !errors.Is(err, store.ErrConflict) {
			return err
		}
		all, err := p.Store.Namespaces(ctx, store.NamespaceParams{Name: params.Name, Limit: 1})
		if err == nil && len(all) == 1 {
			n = all[0]
		}
		return err
	})
	return n, err
}

func (p persistent) DeleteNamespace(ctx context.Context, params store.DeleteNamespaceParams) error {
	return persist(func(again bool) error {
		err := p.Store.DeleteNamespace(ctx, params)
		if again && errors.Is(err, store.ErrNotFound) {
			return nil
		}
		return err
	})
}

func (p persistent) CreateAPIKey(ctx context.Context, key store.APIKey) (store.APIKey, error) {
	return persistFor(func() (store.APIKey, error) { return p.Store.CreateAPIKey(ctx, key) })
}

func (p persistent) APIKey(ctx context.Context, id string) (store.APIKey, error) {
	return persistFor(func() (store.APIKey, error) { return p.Store.APIKey(ctx, id) })
}

func (p persistent) APIKeys(ctx context.Context, params store.APIKeyParams) ([]store.APIKey, error) {
	return persistFor(func() ([]store.APIKey, error) { return p.Store.APIKeys(ctx, params) })
}

func (p persistent) RevokeAPIKey(ctx context.Context, params store.RevokeAPIKeyParams) (store.APIKey, error) {
	return persistFor(func() (store.APIKey, error) { return p.Store.RevokeAPIKey(ctx, params) })
}

func (p persistent) UseAPIKeys(ctx context.Context, uses []store.APIKeyUse) error {
	return persist(func(bool) error { return p.Store.UseAPIKeys(ctx, uses) })
}

func (p persistent) Endpoints(ctx context.Context, params store.EndpointParams) ([]store.Endpoint, error) {
	return persistFor(func() ([]store.Endpoint, error) { return p.Store.Endpoints(ctx, params) })
}

func (p persistent) SetEndpoint(ctx context.Context, params store.SetEndpointParams) (store.Endpoint, error) {
	return persistFor(func() (store.Endpoint, error) { return p.Store.SetEndpoint(ctx, params) })
}

func (p persistent) DeleteEndpoint(ctx context.Context, params store.DeleteEndpointParams) error {
	return persist(func(again bool) error {
		err := p.Store.DeleteEndpoint(ctx, params)
		if again && errors.Is(err, store.ErrNotFound) {
			return nil
		}
		return err
	})
}

func (p persistent) ListAudit(ctx context.Context, params store.AuditParams) ([]store.AuditEntry, error) {
	return persistFor(func() ([]store.AuditEntry, error) { return p.Store.ListAudit(ctx, params) })
}
