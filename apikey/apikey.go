// Package apikey has the keys by which programs and people come in through a server: it makes
// secrets, and says whose a secret is and what it may be used for.
//
// A secret is hf_<id>_<32 random bytes>_<checksum>, in base 62. The prefix lets scanners of source
// find secrets that were published, the id finds the key, and the checksum finds typing errors
// without a database. Only the SHA-256 of a secret is stored. A key has the scopes of its role, as
// the program that asks knows them, and those that it was given besides.
//
//	key, secret, err := apikey.Create(ctx, hf, apikey.Params{Name: "ci", Role: apikey.Viewer})
//
// docs/access.md says what each scope allows.
//
// # Imports
//
// Of ours, the root package, store and internal/access.
package apikey

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// The errors of Verify beside ErrMalformed. What is told to whom comes in is best the same for all.
var (
	ErrUnknown = errors.New("there is no such API key") // or its secret is another one
	ErrRevoked = errors.New("the API key was revoked")
	ErrExpired = errors.New("the API key has expired")
)

// Params says what a key is to be.
type Params struct {
	Name      string    // for people
	Namespace string    // the only one in which it may be used; "": all
	Role      Role      // whose scopes it has; "": only Scopes
	Scopes    []Scope   // those that it has besides
	ExpiresAt time.Time // zero: never
	Actor     string    // who makes it
}

// New makes a key, and returns it with its secret, which cannot be shown again. The key is to
// be stored by CreateAPIKey. The error is store.ErrInvalid, also for an unknown role or scope.
func New(params Params) (key store.APIKey, secret string, err error) {
	if err := checkMeans(params.Role, params.Scopes); err != nil {
		return key, "", err
	}
	id, secret := newSecret()
	key = store.APIKey{
		ID: id, Hash: hashOf(secret), Name: params.Name, Namespace: params.Namespace, Role: string(params.Role),
		ExpiresAt: params.ExpiresAt, CreatedBy: params.Actor,
	}
	for _, s := range params.Scopes {
		if !slices.Contains(key.Scopes, string(s)) {
			key.Scopes = append(key.Scopes, string(s))
		}
	}
	return key, secret, key.Check()
}

// Principal is who came in with a key.
type Principal struct {
	ID, Name  string  // of the key
	Namespace string  // the only one in which it may do anything; "": all
	Scopes    []Scope // in the order of Scopes
}

// maxActor is how much of the name of a key records of what people did have, in bytes.
const maxActor = 100

// Actor is how the principal is called in records of what people did: the key, and its name as far
// as records can have it.
func (p *Principal) Actor() string {
	name := p.Name
	if len(name) > maxActor {
		name = strings.ToValidUTF8(name[:maxActor], "") + "…"
	}
	return "key " + p.ID + " (" + Quote(name) + ")"
}

// Quote is a name that its bearer may have chosen, for records of what people did: in quotes, with
// escapes, if it could be read as more than a name, such as one with "via key", or has characters
// that are not seen.
func Quote(name string) string {
	plain := func(r rune) bool { return strconv.IsPrint(r) && !strings.ContainsRune(`()"`, r) }
	if strings.Contains(name, " via ") || strings.ContainsFunc(name, func(r rune) bool { return !plain(r) }) {
		return strconv.Quote(name)
	}
	return name
}

// May reports whether the principal may do something in a namespace.
func (p *Principal) May(scope Scope, namespace string) bool {
	return (p.Namespace == "" || p.Namespace == namespace) && slices.Contains(p.Scopes, scope)
}

// Keys is where keys are found: a store.Store, or a Cache.
type Keys interface {
	APIKey(ctx context.Context, id string) (store.APIKey, error)
}

// Verify returns who comes in with a secret at a time. The errors are ErrMalformed, ErrUnknown,
// ErrRevoked and ErrExpired, and those of the database, which say nothing about the secret. What it
// compares takes as long for a wrong secret as for the right one.
func Verify(ctx context.Context, keys Keys, now time.Time, secret string) (Principal, error) {
	id, err := Parse(secret)
	if err != nil {
		return Principal{}, err
	}
	key, err := keys.APIKey(ctx, id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return Principal{}, ErrUnknown
	case err != nil:
		return Principal{}, fmt.Errorf("check API key %s: %w", id, err)
	case subtle.ConstantTimeCompare(key.Hash, hashOf(secret)) != 1:
		return Principal{}, ErrUnknown
	case !key.RevokedAt.IsZero():
		return Principal{}, ErrRevoked
	case !key.ExpiresAt.IsZero() && !now.Before(key.ExpiresAt):
		return Principal{}, ErrExpired
	}
	p := Principal{ID: key.ID, Name: key.Name, Namespace: key.Namespace}
	of := Role(key.Role).Scopes()
	for _, s := range Scopes {
		if slices.Contains(of, s) || slices.Contains(key.Scopes, string(s)) {
			p.Scopes = append(p.Scopes, s)
		}
	}
	return p, nil
}
