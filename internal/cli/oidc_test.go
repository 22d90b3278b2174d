package cli

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/holdfastdev/holdfast/internal/cli/app"
)

// identityProvider is one that signs with a key of its own.
type identityProvider struct {
	*testing.T

	url    string
	signer jose.Signer
}

func newIdentityProvider(t *testing.T) *identityProvider {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: "1"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &identityProvider{T: t, signer: signer}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"issuer": %q, "jwks_uri": %q}`, p.url, p.url+"/keys")
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "1", Use: "sig"}}})
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	p.url = server.URL
	return p
}

// token is one of a member of groups.
func (p *identityProvider) token(audience string, groups ...string) string {
	p.Helper()
	data, err := json.Marshal(map[string]any{
		"iss": p.url, "aud": audience, "sub": "ann", "exp": time.Now().Add(time.Hour).Unix(), "groups": groups,
	})
	if err != nil {
		p.Fatal(err)
	}
	signed, err := p.signer.Sign(data)
	if err != nil {
		p.Fatal(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		p.Fatal(err)
	}
	return text
}

// TestServerWithAnIdentityProvider: members of groups may do what their roles say, in their
// namespaces, and callers with API keys come in beside them.
func TestServerWithAnIdentityProvider(t *testing.T) {
	t.Parallel()
	p, s := newIdentityProvider(t), newShell(t)
	n := s.start("server", "--listen", "127.0.0.1:0", "--auth", "keys,oidc", "--oidc-issuer", p.url, "--oidc-audience", "holdfast",
		"--oidc-role", "cn=ops,dc=x=admin; shop=operator:shop", "--oidc-role", "*=viewer:lobby")
	var key struct {
		Secret string `json:"secret"`
	}
	if err := json.Unmarshal([]byte(s.ok("key", "create", "ci", "--role", "viewer", "--output", "json")), &key); err != nil {
		t.Fatal(err)
	}
	until(t, "the API", func() bool { return servesOn.MatchString(n.stderr.String()) })
	url, client := servesOn.FindStringSubmatch(n.stderr.String())[1], newClient(t)
	for name, c := range map[string]struct {
		token, method, path, body string
		want                      int
	}{
		"who administers":         {p.token("holdfast", "cn=ops,dc=x"), http.MethodPost, "/jobs", `{"kind":"mail"}`, http.StatusCreated},
		"a member":                {p.token("holdfast", "shop"), http.MethodPost, "/jobs?namespace=shop", `{"kind":"mail"}`, http.StatusCreated},
		"a member elsewhere":      {p.token("holdfast", "shop"), http.MethodGet, "/jobs?namespace=default", "", http.StatusNotFound},
		"everyone, to see":        {p.token("holdfast"), http.MethodGet, "/jobs?namespace=lobby", "", http.StatusOK},
		"everyone, to change":     {p.token("holdfast"), http.MethodPost, "/jobs?namespace=lobby", `{"kind":"mail"}`, http.StatusForbidden},
		"for another program":     {p.token("other", "cn=ops,dc=x"), http.MethodGet, "/jobs", "", http.StatusUnauthorized},
		"with a key":              {key.Secret, http.MethodGet, "/jobs", "", http.StatusOK},
		"with a key, to change":   {key.Secret, http.MethodPost, "/jobs", `{"kind":"mail"}`, http.StatusForbidden},
		"with nothing":            {"", http.MethodGet, "/jobs", "", http.StatusUnauthorized},
		"with the key of no door": {"0123456789abcdefghij", http.MethodGet, "/jobs", "", http.StatusUnauthorized},
	} {
		if got := ask(t, client, c.method, url+"/api/v1"+c.path, c.token, c.body); got.status != c.want {
			t.Errorf("%s: %d, want %d: %s", name, got.status, c.want, got.text)
		}
	}
}

// TestProvidersThatCannotBe are refused at the start, with what to do.
func TestProvidersThatCannotBe(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	whole := []string{"--oidc-issuer", "https://login.example.com", "--oidc-audience", "holdfast", "--oidc-role", "ops=admin"}
	for i, says := range []string{"needs --oidc-issuer", "needs --oidc-audience", "needs --oidc-role"} {
		args := append([]string{"server", "--auth", "oidc"}, whole[:2*i]...)
		s.expect(s.run(append(args, whole[2*i+2:]...)...), app.ExitUsage, says)
	}
	s.expect(s.run(append([]string{"server", "--auth", "keys"}, whole...)...), app.ExitUsage, "let callers in by oidc, too")
	s.expect(s.run(append([]string{"server", "--auth", "oidc", "--oidc-role", "ops=root"}, whole...)...), app.ExitUsage, `has the role "root"`)
	s.expect(s.run("server", "--auth", "oidc", "--oidc-issuer", "http://login.example.com", "--oidc-audience", "a", "--oidc-role", "a=viewer"),
		app.ExitUsage, "https")
}
