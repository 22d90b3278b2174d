package oidc_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"github.com/go-jose/go-jose/v4"

	"github.com/holdfastdev/holdfast/apikey"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/oidc"
	"github.com/holdfastdev/holdfast/store"
)

func verifier(t *testing.T, c oidc.Config) *oidc.Verifier {
	t.Helper()
	v, err := oidc.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func ask(t *testing.T, v *oidc.Verifier, token string) (access.Principal, error) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
	r.Header.Set("Authorization", "Bearer "+token)
	return v.Authenticate(r)
}

func TestWhoTheyAreAndWhatTheyMay(t *testing.T) {
	t.Parallel()
	p, k := newProvider(t), newKey(t, "1")
	p.publishes(k)
	v := verifier(t, p.config())
	for name, c := range map[string]struct {
		claims claims
		want   access.Principal
	}{
		"in all namespaces": {nil, access.Principal{Name: "oidc ann@example.com", Scopes: apikey.Admin.Scopes()}},
		"in one": {
			claims{"groups": []string{"shop", "other"}},
			access.Principal{
				Name: "oidc ann@example.com", Namespaces: []string{"shop"},
				Only: map[string][]access.Scope{"shop": apikey.Operator.Scopes()},
			},
		},
		"more in one": {
			claims{"groups": "support", "email_verified": false},
			access.Principal{Name: "oidc u-1", Scopes: apikey.Viewer.Scopes(), Only: map[string][]access.Scope{"desk": apikey.Admin.Scopes()}},
		},
		"less in one than everywhere": {
			claims{"groups": []string{"ops", "shop", "support"}}, access.Principal{Name: "oidc ann@example.com", Scopes: apikey.Admin.Scopes()},
		},
		"several audiences": {
			claims{"aud": []string{"other", "holdfast"}, "sub": "a\x00\nb", "email": nil},
			access.Principal{Name: `oidc "a\x00\nb"`, Scopes: apikey.Admin.Scopes()},
		},
	} {
		got, err := ask(t, v, p.token(k, c.claims))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !same(&got, &c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func same(a, b *access.Principal) bool {
	if a.Name != b.Name || (a.Namespaces == nil) != (b.Namespaces == nil) || !slices.Equal(a.Namespaces, b.Namespaces) ||
		!slices.Equal(a.Scopes, b.Scopes) || len(a.Only) != len(b.Only) {
		return false
	}
	for namespace, scopes := range a.Only {
		if !slices.Equal(scopes, b.Only[namespace]) {
			return false
		}
	}
	return true
}

func TestClaimsOfOtherNames(t *testing.T) {
	t.Parallel()
	p, k := newProvider(t), newKey(t, "1")
	p.publishes(k)
	c := p.config()
	c.GroupsClaim, c.NameClaim = "realm_access.roles", "https://example.com/name"
	token := p.token(k, claims{
		"groups": nil, "realm_access": claims{"roles": []any{7, "shop"}}, "https://example.com/name": "bob",
	})
	got, err := ask(t, verifier(t, c), token)
	if err != nil || got.Name != "oidc bob" || !slices.Equal(got.Namespaces, []string{"shop"}) {
		t.Errorf("%+v, %v", got, err)
	}
	_, err = ask(t, verifier(t, c), p.token(k, claims{"realm_access": claims{"roles": "shop"}}))
	if !errors.Is(err, access.ErrUnauthenticated) {
		t.Errorf("without a name: %v", err)
	}
}

func TestTokensThatAreRefused(t *testing.T) {
	t.Parallel()
	p, k, stranger := newProvider(t), newKey(t, "1"), newKey(t, "1")
	p.publishes(k)
	v := verifier(t, p.config())
	good := p.token(k, nil)
	parts := strings.Split(good, ".")
	changed := base64.RawURLEncoding.EncodeToString([]byte(`{"exp":9999999999}`))
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"JWT"}`))
	shared := p.sign(key{"1", []byte(strings.Repeat("k", 32)), jose.HS256}, []byte(`{}`))
	twice := func(is, value, like, other string) string { // the last one counts where case does not
		rest, err := json.Marshal(claims{"exp": p.now.Add(time.Hour).Unix(), "sub": "u-1", "groups": "ops"})
		if err != nil {
			t.Fatal(err)
		}
		more := map[string]string{"iss": p.server.URL, "aud": "holdfast"}
		more[is] = value
		return p.sign(k, fmt.Appendf(nil, `{"iss":%q,"aud":%q,%q:%q,%s`, more["iss"], more["aud"], like, other, rest[1:]))
	}
	for name, c := range map[string]struct{ token, says string }{
		"nothing":                     {"", "no valid credential"},
		"another credential":          {"hf_abc_def_ghi", "no valid credential"},
		"dots alone":                  {"..", "not valid"},
		"signed by somebody else":     {p.token(stranger, nil), "no key of the issuer"},
		"signed with a key not known": {p.token(newKey(t, "2"), nil), "no key of the issuer"},
		"signed with a secret":        {shared, "not valid"},
		"not signed":                  {none + "." + parts[1] + ".", "not valid"},
		"changed":                     {parts[0] + "." + changed + "." + parts[2], "no key"},
		"of another issuer":           {p.token(k, claims{"iss": "https://login.example.com"}), "issued by a different provider"},
		"for another program":         {p.token(k, claims{"aud": "other"}), "expected audience"},
		"expired":                     {p.token(k, claims{"exp": p.now.Add(-time.Second).Unix()}), "has expired at 2026-03-01T11:59:59Z"},
		"without an end":              {p.token(k, claims{"exp": nil}), "has no exp"},
		"with an end that is none":    {p.token(k, claims{"exp": "2026-03-02"}), "has no exp"},
		"with two audiences":          {twice("aud", "other", "AUD", "holdfast"), "AUD"},
		"with two issuers":            {twice("iss", "https://login.example.com", "Iss", p.server.URL), "Iss"},
		"with another end":            {p.token(k, claims{"Exp": p.now.Add(9 * time.Hour).Unix()}), "Exp"},
		"expired but for another end": {p.token(k, claims{"exp": 1, "EXP": p.now.Add(9 * time.Hour).Unix()}), "has expired"},
		"not yet good":                {p.token(k, claims{"nbf": p.now.Add(time.Hour).Unix()}), "not before"},
		"without groups":              {p.token(k, claims{"groups": nil}), "no group in its claim groups has a role"},
		"of groups without a role":    {p.token(k, claims{"groups": []string{"*", "op", ""}}), "no group in its claim groups has a role"},
		"without a name":              {p.token(k, claims{"sub": "", "email": ""}), "names the caller"},
		"without claims":              {p.sign(k, []byte(`[]`)), "not valid"},
	} {
		_, err := ask(t, v, c.token)
		if !errors.Is(err, access.ErrUnauthenticated) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want that %q", name, err, c.says)
		}
	}
	if _, err := ask(t, v, good); err != nil {
		t.Errorf("the good one: %v", err)
	}
}

// TestKeysOfTheProvider: they are read when they are needed, and not for each forged token.
func TestKeysOfTheProvider(t *testing.T) {
	t.Parallel()
	p, first, second := newProvider(t), newKey(t, "1"), newKey(t, "2")
	p.publishes(first)
	v := verifier(t, p.config())
	looks := func(want int) {
		t.Helper()
		if p.looks != want {
			t.Errorf("%d looks at the keys, want %d", p.looks, want)
		}
	}
	accepted := func(k key, want bool) {
		t.Helper()
		if _, err := ask(t, v, p.token(k, nil)); (err == nil) != want {
			t.Errorf("the key %s: %v", k.id, err)
		}
	}
	looks(0)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { accepted(first, true) })
	}
	all.Wait()
	looks(1)
	p.publishes(first, second)
	for range 20 {
		accepted(second, false) // within ten seconds nobody asks again
	}
	looks(1)
	p.now = p.now.Add(11 * time.Second)
	accepted(second, true)
	looks(2)
	p.publishes(second)
	p.now = p.now.Add(59 * time.Minute)
	accepted(first, true) // it is not known yet that it was withdrawn
	looks(2)
	p.now = p.now.Add(2 * time.Minute)
	accepted(first, false)
	accepted(second, true)
	looks(3)
}

// TestKeyOfTheSameName: a provider may change its key without another name, or with none; whoever
// comes with the old one is let in no longer as soon as one has come with the new one.
func TestKeyOfTheSameName(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"", "1"} {
		p, first, second := newProvider(t), newKey(t, id), newKey(t, id)
		p.publishes(first)
		v := verifier(t, p.config())
		accepted := func(what string, k key, want bool) {
			t.Helper()
			if _, err := ask(t, v, p.token(k, nil)); (err == nil) != want {
				t.Errorf("the %s key, named %q: %v", what, id, err)
			}
		}
		accepted("first", first, true)
		p.publishes(second)
		accepted("second", second, false) // within ten seconds none asks again
		p.now = p.now.Add(11 * time.Second)
		accepted("second", second, true)
		accepted("first", first, false)
		if p.looks != 2 {
			t.Errorf("%d looks at the keys, want 2", p.looks)
		}
	}
}

// TestKeysElsewhere: a provider may send its callers to where no other could answer.
func TestKeysElsewhere(t *testing.T) {
	t.Parallel()
	p, k := newProvider(t), newKey(t, "1")
	p.publishes(k)
	for to, want := range map[string]bool{p.server.URL + "/moved?v=2": true, "http://192.0.2.1/keys": false, p.server.URL + "/keys": false} {
		p.says(func(p *provider) { p.sends = to })
		var said bytes.Buffer
		c := p.config()
		c.Log = slog.New(slog.NewTextHandler(&said, nil))
		_, err := ask(t, verifier(t, c), p.token(k, nil))
		if (err == nil) != want || !want && (!errors.Is(err, store.ErrUnavailable) || !strings.Contains(said.String(), "sends callers")) {
			t.Errorf("to %s: %v; the log says %s", to, err, said.String())
		}
	}
}

// TestKeysThatSignNothing are passed over: those that are too short, or for something else.
func TestKeysThatSignNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		bits int
		more map[string]any
		want bool
	}{
		"good":            {2048, nil, true},
		"to verify":       {2048, map[string]any{"key_ops": []string{"verify"}}, true},
		"short":           {1024, nil, false},
		"to encrypt":      {2048, map[string]any{"key_ops": []string{"encrypt"}}, false},
		"of an algorithm": {2048, map[string]any{"alg": "RS512"}, false},
		"for keys":        {2048, map[string]any{"alg": "RSA-OAEP"}, false},
		"to be sealed":    {2048, map[string]any{"use": "enc"}, false},
	} {
		private := rsaKey(t, c.bits)
		data, err := json.Marshal(jose.JSONWebKey{Key: private.Public(), KeyID: "1"})
		if err != nil {
			t.Fatal(err)
		}
		public := map[string]any{}
		if err := json.Unmarshal(data, &public); err != nil {
			t.Fatal(err)
		}
		maps.Copy(public, c.more)
		p := newProvider(t)
		p.publishes(newKey(t, "other"))
		p.says(func(p *provider) { p.more = []any{public} })
		if _, err := ask(t, verifier(t, p.config()), p.token(key{"1", private, jose.RS256}, nil)); (err == nil) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNamesAreOfOneCaller: what is recorded, counted and remembered for a caller is no other's.
func TestNamesAreOfOneCaller(t *testing.T) {
	t.Parallel()
	p, k := newProvider(t), newKey(t, "1")
	p.publishes(k)
	v := verifier(t, p.config())
	long := strings.Repeat("repo:shop/", 30)
	seen := map[string]string{}
	for _, subject := range []string{
		"ann", "a\x00nn", "a\nnn", "an\u202en", `"ann"`, long + "a", long + "b", long[:255], long[:254] + "ä", long[:256],
	} {
		got, err := ask(t, v, p.token(k, claims{"sub": subject, "email": nil}))
		if err != nil {
			t.Errorf("%q: %v", subject, err)
			continue
		}
		if other, is := seen[got.Name]; is {
			t.Errorf("%q and %q are both %s", other, subject, got.Name)
		}
		seen[got.Name] = subject
		if len(got.Name) > 300 || strings.ContainsFunc(got.Name, unicode.IsControl) {
			t.Errorf("%q is named %q", subject, got.Name)
		}
	}
}

// TestExpiredWhileTheProviderIsAway: that a token has expired needs no key.
func TestExpiredWhileTheProviderIsAway(t *testing.T) {
	t.Parallel()
	p, k := newProvider(t), newKey(t, "1")
	p.publishes(k)
	p.says(func(p *provider) { p.broken = true })
	v := verifier(t, p.config())
	token := p.token(k, nil)
	if _, err := ask(t, v, token); !errors.Is(err, store.ErrUnavailable) || strings.Contains(err.Error(), "database") {
		t.Errorf("before: %v", err)
	}
	p.now = p.now.Add(2 * time.Hour)
	if _, err := ask(t, v, token); !errors.Is(err, access.ErrUnauthenticated) || !strings.Contains(err.Error(), "expired") {
		t.Errorf("after: %v", err)
	}
}

// TestStaleKeysWhileTheProviderHangs: those who have a key wait for newer ones for a second in all,
// and not each of them, nor again while the provider stays as it is.
func TestStaleKeysWhileTheProviderHangs(t *testing.T) {
	t.Parallel()
	p, k := newProvider(t), newKey(t, "1") // of which the handler alone is asked, without a network
	p.publishes(k)
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		c := p.config()
		c.HTTP, c.Now = &http.Client{Transport: handled{p.server.Config.Handler}}, time.Now
		v := verifier(t, c)
		token := p.token(k, claims{"exp": began.Add(9 * time.Hour).Unix()})
		asks := func(want time.Duration) {
			t.Helper()
			began := time.Now()
			for range 8 {
				if _, err := ask(t, v, token); err != nil {
					t.Error(err)
				}
			}
			if took := time.Since(began); took != want {
				t.Errorf("eight requests took %v, want %v", took, want)
			}
		}
		asks(0)
		hangs := make(chan struct{})
		p.says(func(p *provider) { p.hangs = hangs })
		time.Sleep(61 * time.Minute) //nolint:forbidigo // virtual
		asks(time.Second)
		for range 5 {
			time.Sleep(time.Minute) //nolint:forbidigo // virtual
			asks(0)
		}
		close(hangs)
	})
}

// handled is a network at which a handler answers.
type handled struct{ http.Handler }

func (h handled) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := make(chan *http.Response, 1)
	go func() {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		answer <- w.Result()
	}()
	select {
	case a := <-answer:
		return a, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// TestProviderThatDoesNotAnswer: keys that are known are used, and whoever needs others is not told
// that the token is bad.
func TestProviderThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	p, k := newProvider(t), newKey(t, "1")
	p.publishes(k)
	p.says(func(p *provider) { p.broken = true })
	v := verifier(t, p.config())
	for range 2 { // the second one does not ask again
		_, err := ask(t, v, p.token(k, nil))
		if !errors.Is(err, store.ErrUnavailable) || errors.Is(err, access.ErrUnauthenticated) || strings.Contains(err.Error(), "127.0.0.1") {
			t.Errorf("without keys: %v", err)
		}
	}
	p.says(func(p *provider) { p.broken = false })
	p.now = p.now.Add(11 * time.Second)
	if _, err := ask(t, v, p.token(k, nil)); err != nil {
		t.Errorf("when it answers: %v", err)
	}
	p.says(func(p *provider) { p.broken = true })
	p.now = p.now.Add(3 * time.Hour)
	if _, err := ask(t, v, p.token(k, nil)); err != nil {
		t.Errorf("with a key that is known: %v", err)
	}
	if _, err := ask(t, v, p.token(newKey(t, "2"), nil)); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("with one that is not: %v", err)
	}
}

// TestProviderThatHangs holds up no token whose key is known, for longer than a moment.
func TestProviderThatHangs(t *testing.T) {
	t.Parallel()
	p, k := newProvider(t), newKey(t, "1")
	p.publishes(k)
	v := verifier(t, p.config())
	if _, err := ask(t, v, p.token(k, nil)); err != nil {
		t.Fatal(err)
	}
	hangs := make(chan struct{})
	p.says(func(p *provider) { p.hangs = hangs })
	p.now = p.now.Add(11 * time.Second)
	var all sync.WaitGroup
	for range 4 { // of whom no key is known: they wait
		all.Go(func() {
			if _, err := ask(t, v, p.token(newKey(t, "2"), nil)); !errors.Is(err, access.ErrUnauthenticated) {
				t.Errorf("a forged one: %v", err)
			}
		})
	}
	for range 20 {
		if _, err := ask(t, v, p.token(k, nil)); err != nil {
			t.Error(err)
		}
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
	r.Header.Set("Authorization", "Bearer "+p.token(newKey(t, "3"), nil))
	ctx, cancel := context.WithCancel(r.Context())
	cancel()
	if _, err := v.Authenticate(r.WithContext(ctx)); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("of a caller who has gone: %v", err)
	}
	close(hangs)
	all.Wait()
}

// TestKeysOfOtherForms are passed over.
func TestKeysOfOtherForms(t *testing.T) {
	t.Parallel()
	p, k := newProvider(t), newKey(t, "1")
	p.publishes(k)
	p.says(func(p *provider) {
		p.more = []any{
			map[string]string{"kty": "OKP", "crv": "Ed448", "x": "AAAA", "kid": "8"},
			map[string]string{"kty": "AKP", "alg": "ML-DSA-44"},
			"none",
			nil,
		}
	})
	if _, err := ask(t, verifier(t, p.config()), p.token(k, nil)); err != nil {
		t.Error(err)
	}
}

// TestProvidersThatLie are refused before their keys are used.
func TestProvidersThatLie(t *testing.T) {
	t.Parallel()
	p, k := newProvider(t), newKey(t, "1")
	p.publishes(k)
	p.says(func(p *provider) { p.issuer = "https://login.example.com" })
	var said bytes.Buffer
	c := p.config()
	c.Log = slog.New(slog.NewTextHandler(&said, nil))
	if _, err := ask(t, verifier(t, c), p.token(k, nil)); err == nil || !strings.Contains(said.String(), "is that of the issuer") {
		t.Errorf("of another name: %v; the log says %s", err, said.String())
	}
	c.Keys = p.server.URL + "/keys" // without its configuration
	if _, err := ask(t, verifier(t, c), p.token(k, nil)); err != nil {
		t.Errorf("with the keys alone: %v", err)
	}
	p.says(func(p *provider) { p.keys = nil })
	if _, err := ask(t, verifier(t, c), p.token(k, nil)); err == nil || !strings.Contains(said.String(), "no public keys") {
		t.Errorf("without keys: %v; the log says %s", err, said.String())
	}
}

func TestRules(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]oidc.Rule{
		"ops=admin":                   {Group: "ops", Role: apikey.Admin},
		"*=viewer":                    {Group: "*", Role: apikey.Viewer},
		"cn=shop,dc=x=operator:shop":  {Group: "cn=shop,dc=x", Role: apikey.Operator, Namespace: "shop"},
		"shop = operator: shop":       {Group: "shop", Role: apikey.Operator, Namespace: "shop"},
		"urn:x:y=operator:name:space": {Group: "urn:x:y", Role: apikey.Operator, Namespace: "name:space"},
	} {
		if got, err := oidc.ParseRule(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"", "ops", "=admin", "ops=", "ops=root", "ops=admin:", "ops=admin: ", "ops=Admin", "ops=admin,dev=viewer", "ops=viewer:shop,billing",
	} {
		if got, err := oidc.ParseRule(text); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

func TestConfigurationsThatCannotBe(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	for name, change := range map[string]func(*oidc.Config){
		"no issuer":               func(c *oidc.Config) { c.Issuer = "" },
		"an issuer without TLS":   func(c *oidc.Config) { c.Issuer = "http://login.example.com" },
		"an issuer with a secret": func(c *oidc.Config) { c.Issuer = "https://u:p@login.example.com" },
		"keys without TLS":        func(c *oidc.Config) { c.Keys = "http://login.example.com/keys" },
		"no audience":             func(c *oidc.Config) { c.Audience = "" },
		"no rules":                func(c *oidc.Config) { c.Roles = nil },
		"a role that is none":     func(c *oidc.Config) { c.Roles[0].Role = "root" },
	} {
		c := p.config()
		change(&c)
		if _, err := oidc.New(c); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzAuthenticate(f *testing.F) {
	f.Add("a.b.c")
	f.Add("eyJhbGciOiJFUzI1NiIsImtpZCI6IjEifQ.e30.AAAA")
	v, err := oidc.New(oidc.Config{
		Issuer: "http://127.0.0.1:1", Audience: "a", Roles: []oidc.Rule{{Group: "*", Role: apikey.Viewer}},
		HTTP: &http.Client{Transport: refuses{}},
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, token string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
		r.Header.Set("Authorization", "Bearer "+token)
		if p, err := v.Authenticate(r); err == nil {
			t.Errorf("%q lets in %+v", token, p)
		}
	})
}

// refuses is a network on which nobody answers.
type refuses struct{}

func (refuses) RoundTrip(*http.Request) (*http.Response, error) { return nil, errors.New("no network") }
