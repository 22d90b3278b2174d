// Package apikeys keeps the keys by which programs and people come in through a server. It imports
// core, db and store.
package apikeys

import (
	"bytes"
	"context"
	"strings"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/audited"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// Verbs are those of store.APIKeys.
type Verbs struct{ d *core.Database }

// New returns the verbs of a database.
func New(d *core.Database) Verbs { return Verbs{d} }

// read reads the columns of a key.
func read(s db.Stmt) store.APIKey {
	return store.APIKey{
		ID: s.ReadText(), Hash: bytes.Clone(s.ReadBlob()), Name: s.ReadText(), Namespace: s.ReadText(), Role: s.ReadText(),
		Scopes: strings.Fields(s.ReadText()), CreatedAt: db.ReadTime(s), CreatedBy: s.ReadText(), ExpiresAt: db.ReadOptTime(s),
		LastUsedAt: db.ReadOptTime(s), RevokedAt: db.ReadOptTime(s), RevokedBy: s.ReadText(),
	}
}

// find returns a key; its ID is "" if there is none.
func find(t *core.Tx, id string) (k store.APIKey, err error) {
	s := t.Stmt("api_key")
	s.BindText(id)
	return k, db.Each(s, func() error {
		k = read(s)
		return nil
	})
}

// CreateAPIKey implements store.APIKeys.
func (v Verbs) CreateAPIKey(ctx context.Context, key store.APIKey) (is store.APIKey, err error) {
	if err := key.Check(); err != nil {
		return is, err
	}
	err = v.d.Write(ctx, "create API key "+key.ID, func(t *core.Tx) error {
		is, err = find(t, key.ID)
		switch {
		case err != nil:
			return err
		case is.ID != "" && bytes.Equal(is.Hash, key.Hash):
			return nil
		case is.ID != "":
			return store.APIKeyThere(key.ID)
		}
		if err := insert(t, &key); err != nil {
			return err
		}
		if err := core.AuditChange(t, 0, audited.KeyMade(&key)); err != nil {
			return err
		}
		is, err = find(t, key.ID)
		return err
	})
	if err != nil {
		return store.APIKey{}, err
	}
	return is, nil
}

func insert(t *core.Tx, k *store.APIKey) error {
	s := t.Stmt("api_key_insert")
	s.BindText(k.ID)
	s.BindBlob(k.Hash)
	for _, text := range []string{k.Name, k.Namespace, k.Role, strings.Join(k.Scopes, " ")} {
		s.BindText(text)
	}
	s.BindInt(t.Now)
	s.BindText(k.CreatedBy)
	db.BindOptTime(s, k.ExpiresAt)
	db.BindOptTime(s, k.ExpiresAt)
	return db.Exec(s)
}

// APIKey implements store.APIKeys.
func (v Verbs) APIKey(ctx context.Context, id string) (k store.APIKey, err error) {
	err = v.d.Read(ctx, "look up API key "+id, func(t *core.Tx) error {
		if k, err = find(t, id); err == nil && k.ID == "" {
			err = store.NoAPIKey(id)
		}
		return err
	})
	return k, err
}

// APIKeys implements store.APIKeys.
func (v Verbs) APIKeys(ctx context.Context, params store.APIKeyParams) (all []store.APIKey, err error) {
	if err := store.CheckLimit(params.Limit); err != nil {
		return nil, err
	}
	err = v.d.Read(ctx, "list API keys", func(t *core.Tx) error {
		all = nil
		s := t.Stmt("api_keys")
		if params.Namespace != "" {
			s = t.Stmt("api_keys_in")
			s.BindText(params.Namespace)
		}
		s.BindText(params.After)
		s.BindInt(int64(params.Limit))
		return db.Each(s, func() error {
			all = append(all, read(s))
			return nil
		})
	})
	return all, err
}

// RevokeAPIKey implements store.APIKeys.
func (v Verbs) RevokeAPIKey(ctx context.Context, params store.RevokeAPIKeyParams) (k store.APIKey, err error) {
	err = v.d.Write(ctx, "revoke API key "+params.ID, func(t *core.Tx) error {
		k, err = find(t, params.ID)
		switch {
		case err != nil:
			return err
		case k.ID == "":
			return store.NoAPIKey(params.ID)
		case !k.RevokedAt.IsZero():
			return nil
		}
		k.RevokedAt, k.RevokedBy = db.TimeOf(t.Now), params.Actor
		s := t.Stmt("api_key_revoke")
		s.BindInt(t.Now)
		s.BindText(k.RevokedBy)
		db.BindOptTime(s, k.OverAt())
		s.BindText(k.ID)
		if err := db.Exec(s); err != nil {
			return err
		}
		return core.AuditChange(t, 0, audited.KeyRevoked(&params, k.Namespace))
	})
	return k, err
}

// UseAPIKeys implements store.APIKeys.
func (v Verbs) UseAPIKeys(ctx context.Context, uses []store.APIKeyUse) error {
	if err := store.CheckAPIKeyUses(uses); err != nil || len(uses) == 0 {
		return err
	}
	return v.d.Write(ctx, "note the use of API keys", func(t *core.Tx) error {
		for _, use := range uses {
			s := t.Stmt("api_key_use")
			s.BindInt(use.At.UnixMicro())
			s.BindText(use.ID)
			if err := db.Exec(s); err != nil {
				return err
			}
		}
		return nil
	})
}

// Forget removes up to limit keys that were over long enough, and tells whether there may be more.
func Forget(ctx context.Context, d *core.Database, limit int) (removed int, more bool, err error) {
	err = d.WriteIf(ctx, "remove old jobs",
		func(t *core.Tx) (bool, error) {
			s := t.Stmt("api_keys_over")
			s.BindInt(t.Now - store.APIKeysKept.Microseconds())
			removed = 0
			more, err = db.Exists(s)
			return more && limit > 0, err
		},
		func(t *core.Tx) error {
			s := t.Stmt("api_keys_forget")
			s.BindInt(t.Now - store.APIKeysKept.Microseconds())
			s.BindInt(int64(limit))
			n, err := s.Exec()
			removed, more = int(n), int(n) == limit
			return err
		})
	return removed, more, err
}
