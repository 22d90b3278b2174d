package oidc

import (
	"context"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/holdfastdev/holdfast/store"
)

const (
	// keysFor is how long the keys of an issuer are used before they are read again.
	keysFor = time.Hour
	// keysEvery is how often they are read at the most, whatever tokens say.
	keysEvery = 10 * time.Second
	// readTimeout bounds one look at the issuer, and maxDocument what it may say, in bytes.
	readTimeout = 10 * time.Second
	// freshWait is how long tokens whose keys are known wait for keys that are newer, from the
	// beginning of a look at the issuer on.
	freshWait   = time.Second
	maxDocument = 1 << 20
	// minRSA is how many bits an RSA key has at least (RFC 7518, 3.3).
	minRSA = 2048
)

// algorithms are those that a token may be signed with: with a key that the issuer alone has.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

// noKeysKey is under which a context has where that error goes: a verifier makes text of it.
type noKeysKey struct{}

// noKeysError is why nothing is known of a token: the issuer has not said what its keys are.
type noKeysError struct{}

func (noKeysError) Error() string { return "the keys of the identity provider cannot be read" }

func (noKeysError) Is(target error) bool { return target == store.ErrUnavailable }

var errNoKeys error = noKeysError{}

// errBadSignature is the error of a token that no key of the issuer has signed.
var errBadSignature = errors.New("no key of the issuer has signed it")

// issuerKeys are the keys of an issuer, as the KeySet of a verifier.
type issuerKeys struct {
	issuer string
	url    string // of the keys; "": the issuer's configuration says it
	client *http.Client
	now    func() time.Time
	log    *slog.Logger

	mu      sync.Mutex
	keys    []jose.JSONWebKey
	readAt  time.Time // of the keys
	triedAt time.Time // the end of the last try
	failed  error     // of the last try
	reading *reading  // nil: there is none
}

// reading is a look at the issuer that is under way.
type reading struct {
	over   chan struct{} // closed when it ends
	enough chan struct{} // closed when who has a key waits no longer
}

// VerifySignature returns what a token says if a key of the issuer has signed it. If none has, the
// issuer may have changed them, under the same name or without any (OpenID Connect Core, 10.1): it
// is asked again, if that is due.
func (k *issuerKeys) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	signed, err := jose.ParseSignedCompact(token, algorithms)
	if err != nil {
		return nil, err
	}
	if len(signed.Signatures) != 1 {
		return nil, errBadSignature
	}
	id := signed.Signatures[0].Header.KeyID
	for _, doubt := range []bool{false, true} {
		keys, err := k.known(ctx, id, doubt)
		if err != nil {
			if to, is := ctx.Value(noKeysKey{}).(*error); is {
				*to = err
			}
			return nil, err
		}
		if said, is := signedBy(signed, keys); is {
			return said, nil
		}
	}
	return nil, errBadSignature
}

// signedBy returns what is signed, and whether one of the keys has signed it.
func signedBy(signed *jose.JSONWebSignature, keys []jose.JSONWebKey) (said []byte, is bool) {
	header := signed.Signatures[0].Header
	for i := range keys {
		key := &keys[i]
		if header.KeyID != "" && key.KeyID != header.KeyID || key.Algorithm != "" && key.Algorithm != header.Algorithm {
			continue
		}
		if said, err := signed.Verify(key); err == nil {
			return said, true
		}
	}
	return nil, false
}

// known are the keys, among which the one with an id is, if there is one; "": any. Who needs a key
// that is not known, or has doubts about those that are, waits while the issuer is asked; who has
// one that is old waits for a moment.
func (k *issuerKeys) known(ctx context.Context, id string, doubt bool) ([]jose.JSONWebKey, error) {
	if r, has := k.look(ctx, id, doubt); r != nil {
		var enough <-chan struct{}
		if has && !doubt {
			enough = r.enough
		}
		select {
		case <-r.over:
		case <-enough:
		case <-ctx.Done():
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.has(id):
		return k.keys, nil
	case k.failed != nil:
		return nil, k.failed
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%w: %w", errNoKeys, context.Cause(ctx))
	}
	return k.keys, nil
}

// look reports whether a key is known, and asks the issuer if that is due. It returns the look that
// the caller should wait for; nil: it need not.
func (k *issuerKeys) look(ctx context.Context, id string, doubt bool) (r *reading, has bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	has = k.has(id)
	now := k.now()
	stale := k.readAt.IsZero() || now.Sub(k.readAt) >= keysFor
	if has && !stale && !doubt {
		return nil, true
	}
	if k.reading == nil && (k.triedAt.IsZero() || now.Sub(k.triedAt) >= keysEvery) {
		r := &reading{over: make(chan struct{}), enough: make(chan struct{})}
		k.reading = r
		if k.failed != nil { // it will hardly answer sooner than the last time
			close(r.enough)
		} else {
			time.AfterFunc(freshWait, func() { close(r.enough) })
		}
		go k.reread(context.WithoutCancel(ctx)) // for all who wait, also if the first one gives up
	}
	return k.reading, has
}

// reread reads the keys.
func (k *issuerKeys) reread(ctx context.Context) {
	keys, err := k.read(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	if k.triedAt, k.failed = now, err; err == nil {
		k.keys, k.readAt = keys, now
	} else {
		k.log.WarnContext(ctx, "the keys of the identity provider cannot be read; tokens are checked with those that are known",
			"issuer", k.issuer, "error", err.Error())
	}
	close(k.reading.over)
	k.reading = nil
}

func (k *issuerKeys) has(id string) bool {
	for i := range k.keys {
		if id == "" || k.keys[i].KeyID == id {
			return true
		}
	}
	return false
}

// read asks the issuer for its keys, and where they are if that is not known. Those of a form that
// is not known are passed over, as RFC 7517 (5) wants it.
func (k *issuerKeys) read(ctx context.Context) ([]jose.JSONWebKey, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	at := k.url
	if at == "" {
		var configuration struct {
			Issuer string `json:"issuer"`
			Keys   string `json:"jwks_uri"`
		}
		if err := k.get(ctx, strings.TrimSuffix(k.issuer, "/")+"/.well-known/openid-configuration", &configuration); err != nil {
			return nil, err
		}
		if configuration.Issuer != k.issuer {
			return nil, fmt.Errorf("%w: the configuration of %s is that of the issuer %.200q",
				errNoKeys, k.issuer, configuration.Issuer)
		}
		if at = configuration.Keys; checkURL(at) != nil {
			return nil, fmt.Errorf("%w: the configuration of %s has the jwks_uri %.200q, which is no https URL",
				errNoKeys, k.issuer, at)
		}
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := k.get(ctx, at, &set); err != nil {
		return nil, err
	}
	var keys []jose.JSONWebKey
	for _, raw := range set.Keys {
		if key, is := signingKey(raw); is {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%w: %s has no public keys for signatures (RSA keys need %d bits)", errNoKeys, at, minRSA)
	}
	return keys, nil
}

// signingKey reads a key, and reports whether tokens may be signed with it.
func signingKey(raw []byte) (key jose.JSONWebKey, is bool) {
	var uses struct {
		Operations []string `json:"key_ops"`
	}
	if json.Unmarshal(raw, &key) != nil || json.Unmarshal(raw, &uses) != nil || !key.IsPublic() {
		return key, false
	}
	if r, is := key.Key.(*rsa.PublicKey); is && r.N.BitLen() < minRSA {
		return key, false
	}
	return key, (key.Use == "" || key.Use == "sig") && (uses.Operations == nil || slices.Contains(uses.Operations, "verify"))
}

// get reads a JSON document.
func (k *issuerKeys) get(ctx context.Context, url string, to any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return fmt.Errorf("%w: %w", errNoKeys, err)
	}
	request.Header.Set("Accept", "application/json")
	answer, err := k.client.Do(request)
	if err != nil {
		return fmt.Errorf("%w: %w", errNoKeys, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%w: %s answers %s", errNoKeys, url, answer.Status)
	}
	data, err := io.ReadAll(io.LimitReader(answer.Body, maxDocument+1))
	switch {
	case err != nil:
		return fmt.Errorf("%w: %s: %w", errNoKeys, url, err)
	case len(data) > maxDocument:
		return fmt.Errorf("%w: %s is longer than %d bytes", errNoKeys, url, maxDocument)
	}
	if err := json.Unmarshal(data, to); err != nil {
		return fmt.Errorf("%w: %s is not what it should be: %w", errNoKeys, url, err)
	}
	return nil
}
