package oidc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const (
	// keysFor is how long the keys of an issuer are used before they are read again.
	keysFor = time.Hour
	// keysEvery is how often they are read at the most, whatever tokens say.
	keysEvery = 10 * time.Second
	// readTimeout bounds one look at the issuer, and maxDocument what it may say, in bytes.
	readTimeout = 10 * time.Second
	maxDocument = 1 << 20
)

// algorithms are those that a token may be signed with: with a key that the issuer alone has.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

// noKeysKey is under which a context has where that error goes: a verifier makes text of it.
type noKeysKey struct{}

// errNoKeys is why nothing is known of a token: the issuer has not said what its keys are.
var errNoKeys = errors.New("the keys of the identity provider cannot be read")

// errBadSignature is the error of a token that no key of the issuer has signed.
var errBadSignature = errors.New("no key of the issuer has signed it")

// issuerKeys are the keys of an issuer, as the KeySet of a verifier.
type issuerKeys struct {
	issuer string
	url    string // of the keys; "": the issuer's configuration says it
	client *http.Client
	now    func() time.Time

	mu      sync.Mutex // held while they are read: who needs them waits
	keys    []jose.JSONWebKey
	readAt  time.Time // of the keys
	triedAt time.Time
	failed  error // of the last try
}

// VerifySignature returns what a token says if a key of the issuer has signed it.
func (k *issuerKeys) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	signed, err := jose.ParseSignedCompact(token, algorithms)
	if err != nil {
		return nil, err
	}
	if len(signed.Signatures) != 1 {
		return nil, errBadSignature
	}
	id := signed.Signatures[0].Header.KeyID
	keys, err := k.known(ctx, id)
	if err != nil {
		if to, is := ctx.Value(noKeysKey{}).(*error); is {
			*to = err
		}
		return nil, err
	}
	for i := range keys {
		if id != "" && keys[i].KeyID != id {
			continue
		}
		if said, err := signed.Verify(&keys[i]); err == nil {
			return said, nil
		}
	}
	return nil, errBadSignature
}

// known are the keys, among which the one with an id is, if there is one; "": any.
func (k *issuerKeys) known(ctx context.Context, id string) ([]jose.JSONWebKey, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	stale := k.readAt.IsZero() || now.Sub(k.readAt) >= keysFor
	if (stale || !k.has(id)) && (k.triedAt.IsZero() || now.Sub(k.triedAt) >= keysEvery) {
		k.triedAt = now
		if keys, err := k.read(ctx); err != nil {
			k.failed = err
		} else {
			k.keys, k.readAt, k.failed = keys, now, nil
		}
	}
	if k.failed != nil && !k.has(id) {
		return nil, k.failed
	}
	return k.keys, nil
}

func (k *issuerKeys) has(id string) bool {
	for i := range k.keys {
		if id == "" || k.keys[i].KeyID == id {
			return true
		}
	}
	return false
}

// read reads the keys, and where they are if that is not known. A caller that gives up does not
// take the keys away from those who wait for them.
func (k *issuerKeys) read(ctx context.Context) ([]jose.JSONWebKey, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
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
	var set jose.JSONWebKeySet
	if err := k.get(ctx, at, &set); err != nil {
		return nil, err
	}
	var keys []jose.JSONWebKey
	for _, key := range set.Keys {
		if key.IsPublic() && (key.Use == "" || key.Use == "sig") {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%w: %s has no public keys for signatures", errNoKeys, at)
	}
	return keys, nil
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
