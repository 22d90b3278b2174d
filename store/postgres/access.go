package postgres

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// Namespaces implements store.Namespaces.
func (s *Store) Namespaces(ctx context.Context, params store.NamespaceParams) ([]store.Namespace, error) {
	all, err := s.spaces.Namespaces(ctx, params)
	return all, pg.Classify(ctx, "list namespaces", err)
}

// CreateNamespace implements store.Namespaces.
func (s *Store) CreateNamespace(ctx context.Context, params store.CreateNamespaceParams) (store.Namespace, error) {
	n, err := s.spaces.CreateNamespace(ctx, params)
	return n, pg.Classify(ctx, "create namespace "+params.Name, err)
}

// DeleteNamespace implements store.Namespaces.
func (s *Store) DeleteNamespace(ctx context.Context, params store.DeleteNamespaceParams) error {
	return pg.Classify(ctx, "delete namespace "+params.Name, s.spaces.DeleteNamespace(ctx, params))
}

// CreateAPIKey implements store.APIKeys.
func (s *Store) CreateAPIKey(ctx context.Context, key store.APIKey) (store.APIKey, error) {
	is, err := s.admits.CreateAPIKey(ctx, key)
	return is, pg.Classify(ctx, "create API key "+key.ID, err)
}

// APIKey implements store.APIKeys.
func (s *Store) APIKey(ctx context.Context, id string) (store.APIKey, error) {
	k, err := s.admits.APIKey(ctx, id)
	return k, pg.Classify(ctx, "look up API key "+id, err)
}

// APIKeys implements store.APIKeys.
func (s *Store) APIKeys(ctx context.Context, params store.APIKeyParams) ([]store.APIKey, error) {
	all, err := s.admits.APIKeys(ctx, params)
	return all, pg.Classify(ctx, "list API keys", err)
}

// RevokeAPIKey implements store.APIKeys.
func (s *Store) RevokeAPIKey(ctx context.Context, params store.RevokeAPIKeyParams) (store.APIKey, error) {
	k, err := s.admits.RevokeAPIKey(ctx, params)
	return k, pg.Classify(ctx, "revoke API key "+params.ID, err)
}

// UseAPIKeys implements store.APIKeys.
func (s *Store) UseAPIKeys(ctx context.Context, uses []store.APIKeyUse) error {
	return pg.Classify(ctx, "note the use of API keys", s.admits.UseAPIKeys(ctx, uses))
}

// Endpoints implements store.Endpoints.
func (s *Store) Endpoints(ctx context.Context, params store.EndpointParams) ([]store.Endpoint, error) {
	all, err := s.sends.Endpoints(ctx, params)
	return all, pg.Classify(ctx, "list endpoints", err)
}

// SetEndpoint implements store.Endpoints.
func (s *Store) SetEndpoint(ctx context.Context, params store.SetEndpointParams) (store.Endpoint, error) {
	e, err := s.sends.SetEndpoint(ctx, params)
	return e, pg.Classify(ctx, "set "+params.String(), err)
}

// DeleteEndpoint implements store.Endpoints.
func (s *Store) DeleteEndpoint(ctx context.Context, params store.DeleteEndpointParams) error {
	return pg.Classify(ctx, "delete "+params.String(), s.sends.DeleteEndpoint(ctx, params))
}

// ListAudit implements store.Audits.
func (s *Store) ListAudit(ctx context.Context, params store.AuditParams) ([]store.AuditEntry, error) {
	all, err := s.audits.ListAudit(ctx, params)
	return all, pg.Classify(ctx, "list what people did", err)
}
