package oidc_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/holdfastdev/holdfast/apikey"
	"github.com/holdfastdev/holdfast/server/oidc"
)

// provider is an identity provider on a loopback address, with a clock of its own.
type provider struct {
	t      *testing.T
	server *httptest.Server
	now    time.Time

	mu     sync.Mutex
	keys   []jose.JSONWebKey
	issuer string // what it says of itself
	broken bool
	hangs  chan struct{} // until it is closed
	more   []any         // further keys, of forms that are not known
	sends  string        // where it sends who reads its keys
	looks  int           // at its keys
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	p := &provider{t: t, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.answer(w, map[string]string{"issuer": p.issuer, "jwks_uri": p.server.URL + "/keys"})
	})
	mux.HandleFunc("GET /moved", func(w http.ResponseWriter, _ *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.answer(w, map[string]any{"keys": p.keys})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		hangs := p.hangs
		p.mu.Unlock()
		if hangs != nil {
			<-hangs
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.looks++
		if p.sends != "" {
			http.Redirect(w, r, p.sends, http.StatusFound)
			return
		}
		all := p.more
		for _, k := range p.keys {
			all = append(all, k)
		}
		p.answer(w, map[string]any{"keys": all})
	})
	p.server = httptest.NewServer(mux)
	p.issuer = p.server.URL
	t.Cleanup(func() {
		p.server.CloseClientConnections()
		p.server.Close()
	})
	return p
}

func (p *provider) answer(w http.ResponseWriter, what any) {
	if p.broken {
		http.Error(w, "broken", http.StatusBadGateway)
		return
	}
	if err := json.NewEncoder(w).Encode(what); err != nil {
		p.t.Error(err)
	}
}

// config is that of a verifier which knows the provider.
func (p *provider) config() oidc.Config {
	return oidc.Config{
		Issuer: p.server.URL, Audience: "holdfast", HTTP: p.server.Client(), Now: func() time.Time { return p.now },
		Roles: []oidc.Rule{
			{Group: "ops", Role: apikey.Admin},
			{Group: "shop", Role: apikey.Operator, Namespace: "shop"},
			{Group: "support", Role: apikey.Viewer},
			{Group: "support", Role: apikey.Admin, Namespace: "desk"},
		},
	}
}

// key is one that the provider signs with.
type key struct {
	id      string
	private crypto.PrivateKey
	alg     jose.SignatureAlgorithm
}

func newKey(t *testing.T, id string) key {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key{id, private, jose.ES256}
}

func rsaKey(t *testing.T, bits int) *rsa.PrivateKey {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		t.Fatal(err)
	}
	return private
}

// publishes replaces the keys that the provider publishes.
func (p *provider) publishes(keys ...key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keys = nil
	for _, k := range keys {
		public := k.private.(crypto.Signer).Public() //nolint:errcheck,forcetypeassert // all that tests make are
		p.keys = append(p.keys, jose.JSONWebKey{Key: public, KeyID: k.id, Algorithm: string(k.alg), Use: "sig"})
	}
}

func (p *provider) says(change func(*provider)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p)
}

type claims map[string]any

// token signs claims, over those of a caller in the group ops.
func (p *provider) token(k key, over claims) string {
	p.t.Helper()
	all := claims{
		"iss": p.server.URL, "aud": "holdfast", "sub": "u-1", "email": "ann@example.com", "email_verified": true,
		"iat": p.now.Unix(), "exp": p.now.Add(time.Hour).Unix(), "groups": []string{"ops"},
	}
	for name, value := range over {
		if all[name] = value; value == nil {
			delete(all, name)
		}
	}
	data, err := json.Marshal(all)
	if err != nil {
		p.t.Fatal(err)
	}
	return p.sign(k, data)
}

func (p *provider) sign(k key, data []byte) string {
	p.t.Helper()
	options := (&jose.SignerOptions{}).WithType("JWT")
	if k.id != "" {
		options = options.WithHeader("kid", k.id)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: k.alg, Key: k.private}, options)
	if err != nil {
		p.t.Fatal(err)
	}
	signed, err := signer.Sign(data)
	if err != nil {
		p.t.Fatal(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		p.t.Fatal(err)
	}
	return text
}
