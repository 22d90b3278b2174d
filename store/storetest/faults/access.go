package faults

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
)

// Namespaces implements store.Namespaces.
func (s *Store) Namespaces(ctx context.Context, params store.NamespaceParams) ([]store.Namespace, error) {
	return answer(ctx, s, "Namespaces", func() ([]store.Namespace, error) { return s.inner.Namespaces(ctx, params) })
}

// CreateNamespace implements store.Namespaces.
func (s *Store) CreateNamespace(ctx context.Context, params store.CreateNamespaceParams) (store.Namespace, error) {
	return answer(ctx, s, "CreateNamespace", func() (store.Namespace, error) { return s.inner.CreateNamespace(ctx, params) })
}

// DeleteNamespace implements store.Namespaces.
func (s *Store) DeleteNamespace(ctx context.Context, params store.DeleteNamespaceParams) error {
	return s.do(ctx, "DeleteNamespace", func(bool) error { return s.inner.DeleteNamespace(ctx, params) })
}

// CreateAPIKey implements store.APIKeys.
func (s *Store) CreateAPIKey(ctx context.Context, key store.APIKey) (store.APIKey, error) {
	return answer(ctx, s, "CreateAPIKey", func() (store.APIKey, error) { return s.inner.CreateAPIKey(ctx, key) })
}

// APIKey implements store.APIKeys.
func (s *Store) APIKey(ctx context.Context, id string) (store.APIKey, error) {
	return answer(ctx, s, "APIKey", func() (store.APIKey, error) { return s.inner.APIKey(ctx, id) })
}

// APIKeys implements store.APIKeys.
func (s *Store) APIKeys(ctx context.Context, params store.APIKeyParams) ([]store.APIKey, error) {
	return answer(ctx, s, "APIKeys", func() ([]store.APIKey, error) { return s.inner.APIKeys(ctx, params) })
}

// RevokeAPIKey implements store.APIKeys.
func (s *Store) RevokeAPIKey(ctx context.Context, params store.RevokeAPIKeyParams) (store.APIKey, error) {
	return answer(ctx, s, "RevokeAPIKey", func() (store.APIKey, error) { return s.inner.RevokeAPIKey(ctx, params) })
}

// UseAPIKeys implements store.APIKeys.
func (s *Store) UseAPIKeys(ctx context.Context, uses []store.APIKeyUse) error {
	return s.do(ctx, "UseAPIKeys", func(bool) error { return s.inner.UseAPIKeys(ctx, uses) })
}

// Endpoints implements store.Endpoints.
func (s *Store) Endpoints(ctx context.Context, params store.EndpointParams) ([]store.Endpoint, error) {
	return answer(ctx, s, "Endpoints", func() ([]store.Endpoint, error) { return s.inner.Endpoints(ctx, params) })
}

// SetEndpoint implements store.Endpoints.
func (s *Store) SetEndpoint(ctx context.Context, params store.SetEndpointParams) (store.Endpoint, error) {
	return answer(ctx, s, "SetEndpoint", func() (store.Endpoint, error) { return s.inner.SetEndpoint(ctx, params) })
}

// DeleteEndpoint implements store.Endpoints.
func (s *Store) DeleteEndpoint(ctx context.Context, params store.DeleteEndpointParams) error {
	return s.do(ctx, "DeleteEndpoint", func(bool) error { return s.inner.DeleteEndpoint(ctx, params) })
}

// ListAudit implements store.Audits.
func (s *Store) ListAudit(ctx context.Context, params store.AuditParams) ([]store.AuditEntry, error) {
	return answer(ctx, s, "ListAudit", func() ([]store.AuditEntry, error) { return s.inner.ListAudit(ctx, params) })
}
