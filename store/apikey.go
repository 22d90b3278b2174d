package store

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// APIKeys keeps the keys by which programs and people come in through a server. A store never sees
// a secret, only its hash; package apikey makes secrets and says what roles and scopes mean.
type APIKeys interface {
	// CreateAPIKey adds a key. The same again, with its ID and Hash, changes nothing. The errors
	// are ErrInvalid, and ErrConflict for an ID that another key has. It is recorded who has done
	// it.
	CreateAPIKey(ctx context.Context, key APIKey) (APIKey, error)
	// APIKey returns a key, also one that is revoked or has expired. The error is ErrNotFound.
	APIKey(ctx context.Context, id string) (APIKey, error)
	// APIKeys returns a page of keys, by ID. The error is ErrInvalid.
	APIKeys(ctx context.Context, params APIKeyParams) ([]APIKey, error)
	// RevokeAPIKey revokes a key for good, and returns it. One that is revoked stays as it is. It
	// is removed APIKeysKept later. The error is ErrNotFound. It is recorded who has done it.
	RevokeAPIKey(ctx context.Context, params RevokeAPIKeyParams) (APIKey, error)
	// UseAPIKeys notes when keys were last used; none goes back in time, and one that is not there
	// is passed over. A process calls it once in a while, for all keys that were used meanwhile.
	// The error is ErrInvalid for more than 1000.
	UseAPIKeys(ctx context.Context, uses []APIKeyUse) error
}

// APIKeysKept is how long a key is kept after it was revoked or has expired.
const APIKeysKept = 90 * 24 * time.Hour

// APIKey is a key without its secret.
type APIKey struct {
	ID         string   // a part of the secret that anybody may know
	Hash       []byte   // the SHA-256 of the secret
	Name       string   // for people
	Namespace  string   // "": all
	Role       string   // whose scopes it has, or ""
	Scopes     []string // those that it has besides
	CreatedAt  time.Time
	CreatedBy  string
	ExpiresAt  time.Time // zero: never
	LastUsedAt time.Time // about; zero: never
	RevokedAt  time.Time // zero: it is not
	RevokedBy  string
}

// OverAt is when the key was revoked or expires, whichever is earlier; zero: never.
func (k *APIKey) OverAt() time.Time {
	if k.RevokedAt.IsZero() || !k.ExpiresAt.IsZero() && k.ExpiresAt.Before(k.RevokedAt) {
		return k.ExpiresAt
	}
	return k.RevokedAt
}

// APIKeyParams asks for keys.
type APIKeyParams struct {
	Namespace string // only keys of it, not those of all; "": keys of any, and of all
	After     string // only IDs behind this one
	Limit     int    // 1 to 1000
}

// RevokeAPIKeyParams revokes a key.
type RevokeAPIKeyParams struct {
	ID    string
	Actor string
}

// APIKeyUse is that a key was used.
type APIKeyUse struct {
	ID string
	At time.Time
}

// Check returns an ErrInvalid for what cannot be a key.
func (k *APIKey) Check() error {
	switch {
	case k.ID == "" || len(k.ID) > 100 || !isText(k.ID):
		return fmt.Errorf("%w: the id of an API key, %.100q, is 1 to 100 bytes of UTF-8 without NUL", ErrInvalid, k.ID)
	case len(k.Hash) != 32:
		return fmt.Errorf("%w: the hash of API key %s has %d bytes, not 32", ErrInvalid, k.ID, len(k.Hash))
	case k.Name == "" || len(k.Name) > 200 || !isText(k.Name) || len(k.Namespace) > 200 || !isText(k.Namespace):
		return fmt.Errorf("%w: API key %s is named %.200q, of namespace %.200q: names are 1 to 200 bytes of UTF-8 without NUL", ErrInvalid,
			k.ID, k.Name, k.Namespace)
	case k.Role == "" && len(k.Scopes) == 0:
		return fmt.Errorf("%w: API key %s has neither a role nor scopes", ErrInvalid, k.ID)
	}
	for _, word := range append([]string{"r" + k.Role}, k.Scopes...) {
		if word == "" || len(word) > 100 || !isText(word) || strings.ContainsAny(word, " \t\n") {
			return fmt.Errorf("%w: API key %s has a role or a scope that cannot be one: %.100q", ErrInvalid, k.ID, word)
		}
	}
	return nil
}

// CheckAPIKeyUses returns an ErrInvalid for more uses than are taken at once.
func CheckAPIKeyUses(uses []APIKeyUse) error {
	if len(uses) > 1000 {
		return fmt.Errorf("%w: the uses of %d API keys at once; 1000 may be", ErrInvalid, len(uses))
	}
	return nil
}

// NoAPIKey is the ErrNotFound of a key that is not there.
func NoAPIKey(id string) error {
	return fmt.Errorf("%w: there is no API key %.100q; a key is named by its id, and \"holdfast key list\" shows them", ErrNotFound, id)
}

// APIKeyThere is the ErrConflict of an ID that another key has.
func APIKeyThere(id string) error {
	return fmt.Errorf("%w: there is another API key %q", ErrConflict, id)
}
