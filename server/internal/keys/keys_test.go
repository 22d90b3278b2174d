package keys_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/apitest"
)

// TestKeys: a key is made, whose secret is answered once, listed by pages and revoked.
func TestKeys(t *testing.T) {
	t.Parallel()
	apitest.OnBoth(t, func(s *apitest.Server) {
		made := s.OK(http.StatusCreated, http.MethodPost, "/keys",
			`{"name":"ci","role":"viewer","scopes":["jobs:write"],"namespace":"shop","expires_at":"2999-01-01T00:00:00Z"}`)
		secret, id := made.JSON["secret"].(string), made.JSON["id"].(string)
		if !strings.HasPrefix(secret, "hf_"+id+"_") || made.JSON["created_by"] != "tester" || made.JSON["expires_at"] != "2999-01-01T00:00:00.000000Z" {
			s.Fatalf("made is %s", made.Text)
		}
		s.OK(http.StatusCreated, http.MethodPost, "/keys", `{"name":"ops","role":"admin"}`)
		first := s.OK(http.StatusOK, http.MethodGet, "/keys?limit=1", nil)
		cursor, _ := first.JSON["next_cursor"].(string)
		second := s.OK(http.StatusOK, http.MethodGet, "/keys?limit=1&cursor="+cursor, nil)
		if len(first.Items()) != 1 || cursor == "" || len(second.Items()) != 1 || second.JSON["next_cursor"] != nil ||
			first.Items()[0]["id"] == second.Items()[0]["id"] || strings.Contains(first.Text+second.Text, secret) {
			s.Errorf("listed are %s and %s", first.Text, second.Text)
		}
		if of := s.OK(http.StatusOK, http.MethodGet, "/keys?in=shop", nil); len(of.Items()) != 1 || of.Items()[0]["id"] != id {
			s.Errorf("of the namespace are %s", of.Text)
		}
		for range 2 {
			if a := s.OK(http.StatusOK, http.MethodDelete, "/keys/"+id, nil); a.JSON["revoked_by"] != "tester" {
				s.Errorf("revoked is %s", a.Text)
			}
		}
		s.Refused(http.StatusNotFound, "not_found", http.MethodDelete, "/keys/nosuchkey", nil)
	})
}

// TestKeysDoNoMoreThanTheirMakers: with keys:admin a principal cannot make one that may do what it
// may not, nor see or revoke those of others.
func TestKeysDoNoMoreThanTheirMakers(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	foreign := s.OK(http.StatusCreated, http.MethodPost, "/keys", `{"name":"everywhere","role":"viewer"}`).JSON["id"].(string)
	s.As(access.Principal{Name: "ann", Namespaces: []string{"shop"}, Scopes: []access.Scope{access.KeysAdmin, access.JobsRead}})
	own := s.OK(http.StatusCreated, http.MethodPost, "/keys", `{"name":"mine","scopes":["jobs:read"],"namespace":"shop"}`).JSON["id"]
	s.Refused(http.StatusForbidden, "forbidden", http.MethodPost, "/keys", `{"name":"more","role":"viewer","namespace":"shop"}`)
	s.Refused(http.StatusForbidden, "forbidden", http.MethodPost, "/keys", `{"name":"more","scopes":["exec"],"namespace":"shop"}`)
	s.Refused(http.StatusNotFound, "not_found", http.MethodPost, "/keys", `{"name":"other","scopes":["jobs:read"],"namespace":"billing"}`)
	for body, want := range map[string]string{
		`{"name":"all","scopes":["jobs:read"]}`:                                                                "/namespace",
		`{"name":"none","namespace":"shop"}`:                                                                   "",
		`{"name":"","scopes":["jobs:read"],"namespace":"shop"}`:                                                "/name",
		`{"name":"x","scopes":["jobs:all"],"namespace":"shop"}`:                                                "/scopes/0",
		`{"name":"x","role":"root","namespace":"shop"}`:                                                        "/role",
		`{"name":"x","scopes":["jobs:read"],"namespace":"shop","expires_at":"2001-01-01T00:00:00Z"}`:           "",
		`{"name":"x","scopes":["jobs:read"],"namespace":"shop","secret":"hf_0000000000_00000000000000000000"}`: "/secret",
	} {
		if at := s.Refused(http.StatusUnprocessableEntity, "invalid", http.MethodPost, "/keys", body); at != want {
			t.Errorf("%s is refused because of %q, and not %q", body, at, want)
		}
	}
	if a := s.OK(http.StatusOK, http.MethodGet, "/keys", nil); len(a.Items()) != 1 || a.Items()[0]["id"] != own {
		t.Errorf("it sees %s", a.Text)
	}
	s.Refused(http.StatusNotFound, "not_found", http.MethodGet, "/keys?in=billing", nil)
	s.Refused(http.StatusNotFound, "not_found", http.MethodDelete, "/keys/"+foreign, nil)
	s.As(access.Principal{Name: "reader", Scopes: []access.Scope{access.JobsRead}})
	s.Refused(http.StatusForbidden, "forbidden", http.MethodGet, "/keys", nil)
	s.Refused(http.StatusForbidden, "forbidden", http.MethodPost, "/keys", `{"name":"x","scopes":["jobs:read"]}`)
	s.Refused(http.StatusForbidden, "forbidden", http.MethodDelete, "/keys/"+foreign, nil)
}
