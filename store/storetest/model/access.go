package model

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/audited"
	"github.com/holdfastdev/holdfast/store/storetest/model/copyof"
)

// contentOf is what is in a namespace; other: something that does not keep it from being deleted.
func (s *Store) contentOf(name string, now time.Time) (has store.NamespaceContent, other bool) {
	for _, j := range s.jobs {
		has.Jobs = has.Jobs || j.Namespace == name
	}
	for of := range s.schedules {
		has.Schedules = has.Schedules || of.namespace == name
	}
	for _, l := range s.limits {
		has.Limits = has.Limits || l.Namespace == name
	}
	for _, n := range s.nodes {
		has.Nodes = has.Nodes || n.Info.Namespace == name && n.DeadAt.IsZero()
	}
	for _, k := range s.apiKeys {
		has.Keys = has.Keys || k.Namespace == name && (k.OverAt().IsZero() || k.OverAt().After(now))
	}
	for of := range s.endpoints {
		has.Endpoints = has.Endpoints || of.Namespace == name
	}
	for of, q := range s.queues {
		other = other || of.namespace == name && !q.deleted
	}
	return has, other
}

// isInUse reports whether a namespace is listed without a row. Jobs are not looked at.
func (s *Store) isInUse(name string, now time.Time) bool {
	has, other := s.contentOf(name, now)
	has.Jobs = false
	return other || has != store.NamespaceContent{}
}

// Namespaces implements store.Namespaces.
func (s *Store) Namespaces(ctx context.Context, params store.NamespaceParams) (all []store.Namespace, err error) {
	now, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	if err := store.CheckLimit(params.Limit); err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for name := range s.namespaces {
		names[name] = true
	}
	for of := range s.queues {
		names[of.namespace] = true
	}
	for of := range s.schedules {
		names[of.namespace] = true
	}
	for _, l := range s.limits {
		names[l.Namespace] = true
	}
	for _, n := range s.nodes {
		names[n.Info.Namespace] = true
	}
	for of := range s.endpoints {
		names[of.Namespace] = true
	}
	for _, k := range s.apiKeys {
		names[k.Namespace] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		n, made := s.namespaces[name]
		n.Name = name
		fits := name > params.After && (params.Name == "" || params.Name == name)
		if fits && len(all) < params.Limit && (made || s.isInUse(name, now)) {
			all = append(all, n)
		}
	}
	return all, nil
}

// CreateNamespace implements store.Namespaces.
func (s *Store) CreateNamespace(ctx context.Context, params store.CreateNamespaceParams) (n store.Namespace, err error) {
	now, err := s.begin(ctx)
	if err != nil {
		return n, err
	}
	defer s.mu.Unlock()
	if err := params.Check(); err != nil {
		return n, err
	}
	if _, there := s.namespaces[params.Name]; there {
		return n, store.NamespaceThere(params.Name)
	}
	n = store.Namespace{Name: params.Name, Note: params.Note, CreatedAt: now.Truncate(time.Microsecond), CreatedBy: params.Actor}
	s.namespaces[params.Name] = n
	s.audit(now, audited.NamespaceMade(&params))
	return n, nil
}

// DeleteNamespace implements store.Namespaces.
func (s *Store) DeleteNamespace(ctx context.Context, params store.DeleteNamespaceParams) error {
	now, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer s.mu.Unlock()
	if err := params.Check(); err != nil {
		return err
	}
	has, _ := s.contentOf(params.Name, now)
	if err := has.Check(params.Name); err != nil {
		return err
	}
	if _, made := s.namespaces[params.Name]; !made && !s.isInUse(params.Name, now) {
		return store.NoNamespace(params.Name)
	}
	for of, q := range s.queues {
		if of.namespace == params.Name {
			q.PausedAt, q.PausedBy, q.Rest, q.deleted = time.Time{}, "", store.Resting{}, true
			q.Attempts = store.QueueAttempts{}
		}
	}
	s.audit(now, audited.NamespaceDeleted(&params, s.namespaces[params.Name].Note))
	delete(s.namespaces, params.Name)
	return nil
}

// CreateAPIKey implements store.APIKeys.
func (s *Store) CreateAPIKey(ctx context.Context, key store.APIKey) (store.APIKey, error) {
	now, err := s.begin(ctx)
	if err != nil {
		return store.APIKey{}, err
	}
	defer s.mu.Unlock()
	if err := key.Check(); err != nil {
		return store.APIKey{}, err
	}
	if is, there := s.apiKeys[key.ID]; there {
		if !bytes.Equal(is.Hash, key.Hash) {
			return store.APIKey{}, store.APIKeyThere(key.ID)
		}
		return copyof.Key(is), nil
	}
	is := copyof.Key(key)
	if is.Scopes == nil {
		is.Scopes = []string{}
	}
	if !is.ExpiresAt.IsZero() {
		is.ExpiresAt = is.ExpiresAt.UTC().Truncate(time.Microsecond)
	}
	is.CreatedAt, is.LastUsedAt, is.RevokedAt, is.RevokedBy = now.Truncate(time.Microsecond), time.Time{}, time.Time{}, ""
	s.apiKeys[key.ID] = is
	s.audit(now, audited.KeyMade(&is))
	return copyof.Key(is), nil
}

// APIKey implements store.APIKeys.
func (s *Store) APIKey(ctx context.Context, id string) (store.APIKey, error) {
	if _, err := s.begin(ctx); err != nil {
		return store.APIKey{}, err
	}
	defer s.mu.Unlock()
	k, there := s.apiKeys[id]
	if !there {
		return k, store.NoAPIKey(id)
	}
	return copyof.Key(k), nil
}

// APIKeys implements store.APIKeys.
func (s *Store) APIKeys(ctx context.Context, params store.APIKeyParams) (all []store.APIKey, err error) {
	if _, err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	if err := store.CheckLimit(params.Limit); err != nil {
		return nil, err
	}
	for _, k := range s.apiKeys {
		if k.ID > params.After && (params.Namespace == "" || k.Namespace == params.Namespace) {
			all = append(all, copyof.Key(k))
		}
	}
	slices.SortFunc(all, func(a, b store.APIKey) int { return strings.Compare(a.ID, b.ID) })
	return all[:min(len(all), params.Limit)], nil
}

// RevokeAPIKey implements store.APIKeys.
func (s *Store) RevokeAPIKey(ctx context.Context, params store.RevokeAPIKeyParams) (store.APIKey, error) {
	now, err := s.begin(ctx)
	if err != nil {
		return store.APIKey{}, err
	}
	defer s.mu.Unlock()
	k, there := s.apiKeys[params.ID]
	if !there {
		return k, store.NoAPIKey(params.ID)
	}
	if k.RevokedAt.IsZero() {
		k.RevokedAt, k.RevokedBy = now.Truncate(time.Microsecond), params.Actor
		s.apiKeys[k.ID] = k
		s.audit(now, audited.KeyRevoked(&params, k.Namespace))
	}
	return copyof.Key(k), nil
}

// UseAPIKeys implements store.APIKeys.
func (s *Store) UseAPIKeys(ctx context.Context, uses []store.APIKeyUse) error {
	if _, err := s.begin(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if err := store.CheckAPIKeyUses(uses); err != nil {
		return err
	}
	for _, use := range uses {
		if k, there := s.apiKeys[use.ID]; there && use.At.After(k.LastUsedAt) {
			k.LastUsedAt = use.At.UTC().Truncate(time.Microsecond)
			s.apiKeys[k.ID] = k
		}
	}
	return nil
}

// forgetAPIKeys removes keys that were over long enough.
func (s *Store) forgetAPIKeys(now time.Time) {
	maps.DeleteFunc(s.apiKeys, func(_ string, k store.APIKey) bool {
		return !k.OverAt().IsZero() && now.Sub(k.OverAt()) >= store.APIKeysKept
	})
}
