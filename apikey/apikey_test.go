package apikey_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/apikey"
	"github.com/holdfastdev/holdfast/store"
)

// others are the methods that no test calls.
type others interface{ store.APIKeys }

// memory keeps keys, and counts how often it is asked.
type memory struct {
	others // nil

	keys  map[string]store.APIKey
	asked int
	uses  []store.APIKeyUse
	fails error
}

func (m *memory) APIKey(_ context.Context, id string) (store.APIKey, error) {
	m.asked++
	if m.fails != nil {
		return store.APIKey{}, m.fails
	}
	k, there := m.keys[id]
	if !there {
		return k, store.NoAPIKey(id)
	}
	return k, nil
}

func (m *memory) UseAPIKeys(_ context.Context, uses []store.APIKeyUse) error {
	if m.fails == nil {
		m.uses = append(m.uses, uses...)
	}
	return m.fails
}

func made(t *testing.T, params apikey.Params) (*memory, store.APIKey, string) {
	t.Helper()
	params.Name = "ci"
	key, secret, err := apikey.New(params)
	if err != nil {
		t.Fatal(err)
	}
	return &memory{keys: map[string]store.APIKey{key.ID: key}}, key, secret
}

var start = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

// TestSecret: it has the form that scanners know, and is not in what is stored.
func TestSecret(t *testing.T) {
	t.Parallel()
	_, key, secret := made(t, apikey.Params{Role: apikey.Viewer})
	if !regexp.MustCompile(`^hf_[0-9A-Za-z]{12}_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}$`).MatchString(secret) {
		t.Errorf("a secret is %s", secret)
	}
	if id, err := apikey.Parse(secret); err != nil || id != key.ID {
		t.Errorf("id %q, %v", id, err)
	}
	if len(key.Hash) != 32 || bytes.Contains(key.Hash, []byte(secret[16:48])) {
		t.Errorf("stored: %x", key.Hash)
	}
	if _, _, other := made(t, apikey.Params{Role: apikey.Viewer}); other == secret {
		t.Error("two secrets are the same")
	}
}

// TestMalformed: each character that is another one, and each that is missing, is found without a
// database, and the error does not tell the secret.
func TestMalformed(t *testing.T) {
	t.Parallel()
	m, _, secret := made(t, apikey.Params{Role: apikey.Viewer})
	texts := []string{"", "hf_", "hf___", secret + "x", "HF" + secret[2:], "Bearer " + secret}
	for i := range secret {
		texts = append(texts, secret[:i]+secret[i+1:])
		if secret[i] != 'x' {
			texts = append(texts, secret[:i]+"x"+secret[i+1:])
		}
	}
	for _, text := range texts {
		_, err := apikey.Verify(t.Context(), m, start, text)
		_, typed := errors.AsType[*apikey.MalformedError](err)
		if !typed || !errors.Is(err, apikey.ErrMalformed) || text != "" && strings.Contains(err.Error(), text) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if m.asked > 0 {
		t.Errorf("the database was asked %d times", m.asked)
	}
}

// TestVerify: a key comes in until it has expired or is revoked, with its own secret.
func TestVerify(t *testing.T) {
	t.Parallel()
	m, key, secret := made(t, apikey.Params{
		Role: apikey.Viewer, Scopes: []apikey.Scope{apikey.Exec}, Namespace: "shop", ExpiresAt: start.Add(time.Hour),
	})
	p, err := apikey.Verify(t.Context(), m, start, secret)
	if err != nil || p.ID != key.ID || p.Actor() != "key "+key.ID+" (ci)" {
		t.Errorf("%+v, %v", p, err)
	}
	if !p.May(apikey.JobsRead, "shop") || !p.May(apikey.Exec, "shop") || p.May(apikey.JobsRead, "other") || p.May(apikey.JobsWrite, "shop") {
		t.Errorf("it may do other things: %+v", p)
	}
	want := func(what string, at time.Time, want error) {
		t.Helper()
		if _, err := apikey.Verify(t.Context(), m, at, secret); !errors.Is(err, want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	want("expired", start.Add(time.Hour), apikey.ErrExpired)
	m.fails = store.ErrUnavailable
	want("no database", start, store.ErrUnavailable)
	m.fails = nil
	revoked := key
	revoked.RevokedAt = start
	m.keys[key.ID] = revoked
	want("revoked", start, apikey.ErrRevoked)
	other := key
	other.Hash = bytes.Repeat([]byte{1}, 32)
	m.keys[key.ID] = other
	want("another secret", start, apikey.ErrUnknown)
	delete(m.keys, key.ID)
	want("gone", start, apikey.ErrUnknown)
}

// TestQuote: a name in records cannot be taken for more than a name.
func TestQuote(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"ci": "ci", "Ada Lovelace": "Ada Lovelace", "ada@laptop": "ada@laptop", "Zoë 日本": "Zoë 日本", "": "",
		"ops) via key K2 (ci": `"ops) via key K2 (ci"`, "ada via K2": `"ada via K2"`, "a\u202eb": `"a\u202eb"`, "a\nb": `"a\nb"`, `a"b`: `"a\"b"`,
	} {
		if is := apikey.Quote(name); is != want {
			t.Errorf("%q is recorded as %s, not %s", name, is, want)
		}
	}
}

// TestRoles: each has what the one before has, and what the documentation says.
func TestRoles(t *testing.T) {
	t.Parallel()
	for _, s := range apikey.Scopes {
		sees := strings.HasSuffix(string(s), ":read") && s != apikey.PayloadsRead && s != apikey.AuditRead
		if slices.Contains(apikey.Viewer.Scopes(), s) != sees {
			t.Errorf("viewer has %s: %v", s, !sees)
		}
	}
	operator := apikey.Operator.Scopes()
	for _, s := range apikey.Scopes {
		not := slices.Contains([]apikey.Scope{
			apikey.Workers, apikey.Exec, apikey.Store, apikey.KeysAdmin, apikey.NamespacesAdmin, apikey.EndpointsAdmin,
			apikey.AuditRead,
		}, s)
		if slices.Contains(operator, s) == not {
			t.Errorf("operator has %s: %v", s, !not)
		}
	}
	if !slices.Equal(apikey.Admin.Scopes(), apikey.Scopes) || apikey.Role("root").Scopes() != nil {
		t.Error("admin has not all, or an unknown role has some")
	}
	for _, p := range []apikey.Params{
		{Name: "a"}, {Name: "a", Role: "root"}, {Name: "a", Scopes: []apikey.Scope{"jobs:all"}}, {Role: apikey.Admin},
	} {
		if _, _, err := apikey.New(p); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

// TestCache: very many checks ask the database once in CacheFor, and a revoked key works no longer
// than that.
func TestCache(t *testing.T) {
	t.Parallel()
	m, key, secret := made(t, apikey.Params{Role: apikey.Viewer})
	now := start
	c := apikey.NewCache(m, func() time.Time { return now })
	for range 100_000 {
		if _, err := c.Verify(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
	}
	if m.asked != 1 {
		t.Errorf("the database was asked %d times", m.asked)
	}
	key.RevokedAt = now
	m.keys[key.ID] = key
	now = start.Add(apikey.CacheFor - 1)
	if _, err := c.Verify(t.Context(), secret); err != nil {
		t.Errorf("within the time: %v", err)
	}
	m.fails = store.ErrUnavailable
	if err := c.Flush(t.Context()); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("no database: %v", err)
	}
	m.fails = nil
	for range 2 {
		if err := c.Flush(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if want := []store.APIKeyUse{{ID: key.ID, At: now}}; !slices.Equal(m.uses, want) {
		t.Errorf("uses %v, want %v", m.uses, want)
	}
	now = now.Add(1)
	if _, err := c.Verify(t.Context(), secret); !errors.Is(err, apikey.ErrRevoked) {
		t.Errorf("after it: %v", err)
	}
}

// TestCacheAsTheClockGoesBack: a revoked key is not let in for as long as the clock was set back.
func TestCacheAsTheClockGoesBack(t *testing.T) {
	t.Parallel()
	m, key, secret := made(t, apikey.Params{Role: apikey.Viewer})
	now := start
	c := apikey.NewCache(m, func() time.Time { return now })
	if _, err := c.Verify(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	key.RevokedAt = now
	m.keys[key.ID] = key
	now = now.Add(-time.Hour)
	if _, err := c.Verify(t.Context(), secret); !errors.Is(err, apikey.ErrRevoked) {
		t.Errorf("an hour before: %v", err)
	}
}

// TestCacheOfIdsMadeUp: however many ids there is no key of, a key that there is stays remembered,
// and so does that there is none of an id, until there is one.
func TestCacheOfIdsMadeUp(t *testing.T) {
	t.Parallel()
	m, key, secret := made(t, apikey.Params{Role: apikey.Viewer})
	now := start
	c := apikey.NewCache(m, func() time.Time { return now })
	if _, err := c.Verify(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	const others = 25_000
	for i := range others {
		for range 2 {
			if _, err := c.APIKey(t.Context(), fmt.Sprintf("other-%d", i)); !errors.Is(err, store.ErrNotFound) {
				t.Fatal(err)
			}
		}
	}
	if _, err := c.Verify(t.Context(), secret); err != nil || m.asked != 1+others {
		t.Errorf("%v; the database was asked %d times", err, m.asked)
	}
	m.keys["other-24999"] = key
	now = now.Add(apikey.CacheFor)
	if _, err := c.APIKey(t.Context(), "other-24999"); err != nil {
		t.Errorf("a key that was made: %v", err)
	}
	delete(m.keys, key.ID)
	if _, err := c.Verify(t.Context(), secret); err == nil {
		t.Error("a key that is gone is let in")
	}
}
