package namespaces_test

import (
	"net/http"
	"testing"

	"github.com/holdfastdev/holdfast/apikey"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/apitest"
)

// TestNamespaces: one is created, listed by pages with those in use, told with what is in it, and
// deleted when it is empty.
func TestNamespaces(t *testing.T) {
	t.Parallel()
	apitest.OnBoth(t, func(s *apitest.Server) {
		if a := s.OK(http.StatusCreated, http.MethodPost, "/namespaces", `{"name":"shop","note":"ask Ann"}`); a.JSON["created_by"] != "tester" {
			s.Errorf("created is %s", a.Text)
		}
		s.Refused(http.StatusConflict, "conflict", http.MethodPost, "/namespaces", `{"name":"shop"}`)
		for range 3 {
			s.OK(http.StatusCreated, http.MethodPost, "/jobs?namespace=billing", `{"kind":"mail"}`)
		}
		s.OK(http.StatusCreated, http.MethodPost, "/keys", `{"name":"ci","role":"viewer","namespace":"billing"}`)
		first := s.OK(http.StatusOK, http.MethodGet, "/namespaces?limit=1", nil)
		cursor, _ := first.JSON["next_cursor"].(string)
		second := s.OK(http.StatusOK, http.MethodGet, "/namespaces?limit=1&cursor="+cursor, nil)
		if len(first.Items()) != 1 || first.Items()[0]["name"] != "billing" || first.Items()[0]["created_at"] != nil ||
			len(second.Items()) != 1 || second.Items()[0]["note"] != "ask Ann" || second.JSON["next_cursor"] != nil {
			s.Errorf("listed are %s and %s", first.Text, second.Text)
		}
		got := s.OK(http.StatusOK, http.MethodGet, "/namespaces/billing", nil)
		jobs, _ := got.JSON["jobs"].(map[string]any)
		available, _ := jobs["available"].(map[string]any)
		if available["jobs"] != 3.0 || available["exact"] != true || got.JSON["queues"] != 1.0 || got.JSON["keys"] != 1.0 || got.JSON["limits"] != 0.0 {
			s.Errorf("in it is %s", got.Text)
		}
		s.Refused(http.StatusConflict, "conflict", http.MethodDelete, "/namespaces/billing", nil)
		s.OK(http.StatusNoContent, http.MethodDelete, "/namespaces/shop", nil)
		s.Refused(http.StatusNotFound, "not_found", http.MethodDelete, "/namespaces/shop", nil)
		s.Refused(http.StatusNotFound, "not_found", http.MethodGet, "/namespaces/shop", nil)
	})
}

// TestNamespacesOfOthers: what a principal does not have is not there for it.
func TestNamespacesOfOthers(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	for _, name := range []string{"billing", "search", "shop"} {
		s.OK(http.StatusCreated, http.MethodPost, "/namespaces", `{"name":"`+name+`"}`)
	}
	s.As(access.Principal{Name: "ann", Namespaces: []string{"shop"}, Scopes: access.Scopes})
	if a := s.OK(http.StatusOK, http.MethodGet, "/namespaces?limit=1", nil); len(a.Items()) != 1 || a.Items()[0]["name"] != "shop" {
		t.Errorf("it sees %s", a.Text)
	}
	s.OK(http.StatusOK, http.MethodGet, "/namespaces/shop", nil)
	s.Refused(http.StatusNotFound, "not_found", http.MethodGet, "/namespaces/billing", nil)
	s.Refused(http.StatusNotFound, "not_found", http.MethodDelete, "/namespaces/billing", nil)
	s.Refused(http.StatusNotFound, "not_found", http.MethodPost, "/namespaces", `{"name":"new"}`)
	s.As(access.Principal{Name: "reader", Scopes: []access.Scope{access.JobsRead}})
	s.Refused(http.StatusForbidden, "forbidden", http.MethodPost, "/namespaces", `{"name":"new"}`)
	s.Refused(http.StatusForbidden, "forbidden", http.MethodDelete, "/namespaces/billing", nil)
	s.As(access.Principal{Name: "blind"})
	s.OK(http.StatusOK, http.MethodGet, "/namespaces", nil)
	s.Refused(http.StatusForbidden, "forbidden", http.MethodGet, "/namespaces/billing", nil)
}

// TestRolesByNamespace: who administers one namespace and sees the others does nothing more there,
// whichever namespace a call names.
func TestRolesByNamespace(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	for _, name := range []string{"desk", "shop"} {
		s.OK(http.StatusCreated, http.MethodPost, "/namespaces", `{"name":"`+name+`"}`)
		s.OK(http.StatusCreated, http.MethodPost, "/jobs?namespace="+name, `{"kind":"mail"}`)
	}
	s.As(access.Principal{Name: "ann", Scopes: apikey.Viewer.Scopes(), Only: map[string][]access.Scope{"desk": apikey.Admin.Scopes()}})
	s.OK(http.StatusOK, http.MethodGet, "/jobs?namespace=shop", nil)
	s.OK(http.StatusCreated, http.MethodPost, "/jobs?namespace=desk", `{"kind":"mail"}`)
	s.OK(http.StatusCreated, http.MethodPost, "/keys?namespace=desk", `{"name":"ci","role":"operator","namespace":"desk"}`)
	for _, namespace := range []string{"shop", "", "other"} {
		s.Refused(http.StatusForbidden, "forbidden", http.MethodPost, "/jobs?namespace="+namespace, `{"kind":"mail"}`)
		s.Refused(http.StatusForbidden, "forbidden", http.MethodPost, "/namespaces?namespace="+namespace, `{"name":"mine"}`)
	}
	s.Refused(http.StatusNotFound, "not_found", http.MethodPost, "/namespaces?namespace=desk", `{"name":"mine"}`)
	s.Refused(http.StatusNotFound, "not_found", http.MethodDelete, "/namespaces/shop?namespace=desk", nil)
	if a := s.Do(http.MethodPost, "/keys?namespace=desk", `{"name":"ci","role":"viewer","namespace":"shop"}`); a.Status < 400 {
		t.Errorf("a key for another namespace: %s", a.Text)
	}
	if a := s.Do(http.MethodPost, "/keys?namespace=desk", `{"name":"ci","role":"viewer"}`); a.Status < 400 {
		t.Errorf("a key for all namespaces: %s", a.Text)
	}
	if a := s.Do(http.MethodPost, "/store/hello", `{}`); a.Status != http.StatusForbidden {
		t.Errorf("the store: %d %s", a.Status, a.Text)
	}
}
