package attributes_test

import (
	"net/http"
	"testing"

	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/apitest"
)

// TestAttributes: they are declared, also again, found by, listed and deleted.
func TestAttributes(t *testing.T) {
	t.Parallel()
	apitest.OnBoth(t, func(s *apitest.Server) {
		body := `{"attributes":[{"name":"customer","type":"keyword"},{"name":"amount","type":"int"}]}`
		for range 2 {
			if a := s.OK(http.StatusOK, http.MethodPost, "/attributes", body); len(a.Items()) != 2 || a.Items()[0]["type"] != "int" {
				s.Errorf("declared are %s", a.Text)
			}
		}
		id := s.Enqueue(map[string]any{"kind": "order", "attributes": map[string]any{"customer": "acme", "amount": 7}})
		found := s.OK(http.StatusOK, http.MethodGet, "/jobs?attribute=customer%3Dacme", nil)
		if len(found.Items()) != 1 || found.Items()[0]["id"] != id {
			s.Errorf("found are %s", found.Text)
		}
		s.OK(http.StatusNoContent, http.MethodDelete, "/attributes/customer", nil)
		if a := s.OK(http.StatusOK, http.MethodGet, "/attributes", nil); len(a.Items()) != 1 || a.Items()[0]["name"] != "amount" {
			s.Errorf("left are %s", a.Text)
		}
		s.Refused(http.StatusNotFound, "not_found", http.MethodDelete, "/attributes/customer", nil)
	})
}

// TestAttributesRefused: what cannot be declared is said, and where.
func TestAttributesRefused(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	s.OK(http.StatusOK, http.MethodPost, "/attributes", `{"attributes":[{"name":"a","type":"int"}]}`)
	for body, want := range map[string]string{
		`{"attributes":[]}`: "/attributes",
		`{"attributes":[{"name":"b","type":"int"},{"name":"7","type":"int"}]}`: "/attributes/1/name",
		`{"attributes":[{"name":"b","type":"text"}]}`:                          "/attributes/0/type",
		`{"attributes":[{"name":"b","type":"int","x":1}]}`:                     "/attributes/0/x",
		`{"attributes":[{"name":"a","type":"bool"}]}`:                          "/attributes",
	} {
		if at := s.Refused(http.StatusUnprocessableEntity, "invalid", http.MethodPost, "/attributes", body); at != want {
			t.Errorf("%s is refused because of %q, and not %q", body, at, want)
		}
	}
	s.As(access.Principal{Name: "bounded", Namespaces: []string{"mine"}, Scopes: access.Scopes})
	if a := s.OK(http.StatusOK, http.MethodGet, "/attributes", nil); len(a.Items()) != 0 {
		t.Errorf("another namespace has %s", a.Text)
	}
	s.Refused(http.StatusNotFound, "not_found", http.MethodDelete, "/attributes/a", nil)
	s.Refused(http.StatusNotFound, "not_found", http.MethodGet, "/attributes?namespace=default", nil)
	s.As(access.Principal{Name: "reader", Scopes: []access.Scope{access.JobsRead}})
	s.Refused(http.StatusForbidden, "forbidden", http.MethodPost, "/attributes", `{"attributes":[{"name":"b","type":"int"}]}`)
	s.Refused(http.StatusForbidden, "forbidden", http.MethodDelete, "/attributes/a", nil)
	s.As(access.Principal{Name: "blind"})
	s.Refused(http.StatusForbidden, "forbidden", http.MethodGet, "/attributes", nil)
}
