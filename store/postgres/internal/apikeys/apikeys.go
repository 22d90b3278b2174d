// Package apikeys keeps the keys by which programs and people come in through a server. It imports
// local, pg and store.
package apikeys

import (
	"bytes"
	"context"
	"strings"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/audited"
	"github.com/holdfastdev/holdfast/store/postgres/internal/local"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// Store is what is done with keys.
type Store struct{ *local.Store }

// into collects keys.
func into(all *[]store.APIKey) func(pg.Row) error {
	return func(r pg.Row) error {
		var k store.APIKey
		var scopes string
		var created int64
		var expires, used, revoked *int64
		err := r.Scan(&k.ID, &k.Hash, &k.Name, &k.Namespace, &k.Role, &scopes, &created, &k.CreatedBy, &expires, &used, &revoked, &k.RevokedBy)
		k.Scopes, k.CreatedAt = strings.Fields(scopes), pg.TimeOf(created)
		k.ExpiresAt, k.LastUsedAt, k.RevokedAt = pg.OptTime(expires), pg.OptTime(used), pg.OptTime(revoked)
		k.Hash = bytes.Clone(k.Hash)
		*all = append(*all, k)
		return err
	}
}

// then runs a statement, and returns what the key is after it, in one transaction.
func (s *Store) then(ctx context.Context, id, statement string, args ...any) (store.APIKey, error) {
	var all []store.APIKey
	err := pg.RetryOnConflict(ctx, func() error {
		all = nil
		return s.Send(ctx, pg.Statement{Name: statement, Args: args}, pg.Statement{Name: "api_key", Args: []any{id}, Each: into(&all)})
	})
	switch {
	case err != nil:
		return store.APIKey{}, err
	case len(all) == 0:
		return store.APIKey{}, store.NoAPIKey(id)
	}
	return all[0], nil
}

// CreateAPIKey is that of store.APIKeys, without the class of its error.
func (s *Store) CreateAPIKey(ctx context.Context, key store.APIKey) (store.APIKey, error) {
	if err := key.Check(); err != nil {
		return store.APIKey{}, err
	}
	is, err := s.then(ctx, key.ID, "api_key_insert", key.ID, key.Hash, key.Name, key.Namespace, key.Role, strings.Join(key.Scopes, " "),
		s.Micros(), pg.CleanText(key.CreatedBy), pg.OptMicros(key.ExpiresAt), audited.KeyMade(&key).After)
	if err == nil && !bytes.Equal(is.Hash, key.Hash) {
		return store.APIKey{}, store.APIKeyThere(key.ID)
	}
	return is, err
}

// APIKey is that of store.APIKeys, without the class of its error.
func (s *Store) APIKey(ctx context.Context, id string) (store.APIKey, error) {
	if !pg.IsText(id) {
		return store.APIKey{}, store.NoAPIKey(id)
	}
	var all []store.APIKey
	err := s.Read(ctx, pg.Statement{Name: "api_key", Args: []any{id}, Each: into(&all)})
	switch {
	case err != nil:
		return store.APIKey{}, err
	case len(all) == 0:
		return store.APIKey{}, store.NoAPIKey(id)
	}
	return all[0], nil
}

// APIKeys is that of store.APIKeys, without the class of its error.
func (s *Store) APIKeys(ctx context.Context, params store.APIKeyParams) (all []store.APIKey, err error) {
	if err := store.CheckLimit(params.Limit); err != nil {
		return nil, err
	}
	st := pg.Statement{Name: "api_keys", Args: []any{params.After, int32(params.Limit)}, Each: into(&all)}
	if params.Namespace != "" {
		st.Name, st.Args = "api_keys_in", append([]any{params.Namespace}, st.Args...)
	}
	return all, s.Read(ctx, st)
}

// RevokeAPIKey is that of store.APIKeys, without the class of its error.
func (s *Store) RevokeAPIKey(ctx context.Context, params store.RevokeAPIKeyParams) (store.APIKey, error) {
	if !pg.IsText(params.ID) {
		return store.APIKey{}, store.NoAPIKey(params.ID)
	}
	return s.then(ctx, params.ID, "api_key_revoke", params.ID, s.Micros(), pg.CleanText(params.Actor))
}

// UseAPIKeys is that of store.APIKeys, without the class of its error.
func (s *Store) UseAPIKeys(ctx context.Context, uses []store.APIKeyUse) error {
	if err := store.CheckAPIKeyUses(uses); err != nil || len(uses) == 0 {
		return err
	}
	var ids []string
	var times []int64
	for _, use := range uses {
		if pg.IsText(use.ID) {
			ids, times = append(ids, use.ID), append(times, use.At.UnixMicro())
		}
	}
	return pg.RetryOnConflict(ctx, func() error {
		return s.Send(ctx, pg.Statement{Name: "api_keys_use", Args: []any{ids, times}})
	})
}

// Forget is the statement that removes up to limit keys that were over long enough.
func Forget(now int64, limit int) pg.Statement {
	return pg.Statement{Name: "api_keys_forget", Args: []any{now - store.APIKeysKept.Microseconds(), int32(limit)}}
}
