package remote

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
)

// KeepFacts implements store.Facts.
func (s *Store) KeepFacts(ctx context.Context, facts []store.Fact) error {
	return s.tell(ctx, "KeepFacts", with(facts))
}

// Facts implements store.Facts.
func (s *Store) Facts(ctx context.Context, params store.FactParams) ([]store.Fact, error) {
	return ask[[]store.Fact](ctx, s, "Facts", with(params))
}

// MergeFacts implements store.Facts.
func (s *Store) MergeFacts(ctx context.Context, gone []store.FactKey, merged []store.Fact) error {
	return s.tell(ctx, "MergeFacts", with2(gone, merged))
}

// Measure implements store.Facts.
func (s *Store) Measure(ctx context.Context) (store.Measured, error) {
	return ask[store.Measured](ctx, s, "Measure", nothing)
}

// SetFeed implements store.Feed.
func (s *Store) SetFeed(ctx context.Context, on bool, actor string) (store.FeedStatus, error) {
	return ask[store.FeedStatus](ctx, s, "SetFeed", with2(on, actor))
}

// FeedStatus implements store.Feed.
func (s *Store) FeedStatus(ctx context.Context) (store.FeedStatus, error) {
	return ask[store.FeedStatus](ctx, s, "FeedStatus", nothing)
}

// OrderFeed implements store.Feed.
func (s *Store) OrderFeed(ctx context.Context) error {
	return s.tell(ctx, "OrderFeed", nothing)
}

// ReadFeed implements store.Feed.
func (s *Store) ReadFeed(ctx context.Context, params store.FeedParams) (store.FeedPage, error) {
	return ask[store.FeedPage](ctx, s, "ReadFeed", with(params))
}

// Namespaces implements store.Namespaces.
func (s *Store) Namespaces(ctx context.Context, params store.NamespaceParams) ([]store.Namespace, error) {
	return ask[[]store.Namespace](ctx, s, "Namespaces", with(params))
}

// CreateNamespace implements store.Namespaces.
func (s *Store) CreateNamespace(ctx context.Context, params store.CreateNamespaceParams) (store.Namespace, error) {
	return ask[store.Namespace](ctx, s, "CreateNamespace", with(params))
}

// DeleteNamespace implements store.Namespaces.
func (s *Store) DeleteNamespace(ctx context.Context, params store.DeleteNamespaceParams) error {
	return s.tell(ctx, "DeleteNamespace", with(params))
}

// CreateAPIKey implements store.APIKeys.
func (s *Store) CreateAPIKey(ctx context.Context, key store.APIKey) (store.APIKey, error) {
	return ask[store.APIKey](ctx, s, "CreateAPIKey", with(key))
}

// APIKey implements store.APIKeys.
func (s *Store) APIKey(ctx context.Context, id string) (store.APIKey, error) {
	return ask[store.APIKey](ctx, s, "APIKey", with(id))
}

// APIKeys implements store.APIKeys.
func (s *Store) APIKeys(ctx context.Context, params store.APIKeyParams) ([]store.APIKey, error) {
	return ask[[]store.APIKey](ctx, s, "APIKeys", with(params))
}

// RevokeAPIKey implements store.APIKeys.
func (s *Store) RevokeAPIKey(ctx context.Context, params store.RevokeAPIKeyParams) (store.APIKey, error) {
	return ask[store.APIKey](ctx, s, "RevokeAPIKey", with(params))
}

// UseAPIKeys implements store.APIKeys.
func (s *Store) UseAPIKeys(ctx context.Context, uses []store.APIKeyUse) error {
	return s.tell(ctx, "UseAPIKeys", with(uses))
}

// Endpoints implements store.Endpoints.
func (s *Store) Endpoints(ctx context.Context, params store.EndpointParams) ([]store.Endpoint, error) {
	return ask[[]store.Endpoint](ctx, s, "Endpoints", with(params))
}

// SetEndpoint implements store.Endpoints.
func (s *Store) SetEndpoint(ctx context.Context, params store.SetEndpointParams) (store.Endpoint, error) {
	return ask[store.Endpoint](ctx, s, "SetEndpoint", with(params))
}

// DeleteEndpoint implements store.Endpoints.
func (s *Store) DeleteEndpoint(ctx context.Context, params store.DeleteEndpointParams) error {
	return s.tell(ctx, "DeleteEndpoint", with(params))
}

// ListAudit implements store.Audits.
func (s *Store) ListAudit(ctx context.Context, params store.AuditParams) ([]store.AuditEntry, error) {
	return ask[[]store.AuditEntry](ctx, s, "ListAudit", with(params))
}
