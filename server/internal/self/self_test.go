package self_test

import (
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/apitest"
)

func TestMain(m *testing.M) { apitest.Main(m) }

// TestWhoami: a caller is told what it may do in a namespace that it has, and of no other one.
func TestWhoami(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	all := s.OK(http.StatusOK, http.MethodGet, "/whoami", nil).JSON
	if all["namespaces"] != nil || all["read_only"] != false || all["store"] != "sqlite" || all["namespace"] != "default" {
		t.Errorf("who may do everything is told %v", all)
	}
	s.As(access.Principal{
		Name: "ann", Namespaces: []string{"shop", "billing"}, Scopes: []access.Scope{access.JobsRead},
		Only: map[string][]access.Scope{"billing": {access.JobsWrite}},
	})
	for namespace, scopes := range map[string][]any{"shop": {"jobs:read"}, "billing": {"jobs:read", "jobs:write"}} {
		a := s.OK(http.StatusOK, http.MethodGet, "/whoami?namespace="+namespace, nil).JSON
		if a["name"] != "ann" || a["namespace"] != namespace || !reflect.DeepEqual(a["scopes"], scopes) ||
			!reflect.DeepEqual(a["namespaces"], []any{"shop", "billing"}) {
			t.Errorf("in %s ann is told %v", namespace, a)
		}
	}
	s.Refused(http.StatusNotFound, "not_found", http.MethodGet, "/whoami?namespace=default", nil)
	if a := s.OK(http.StatusOK, http.MethodGet, "/whoami", nil).JSON; a["namespace"] != "shop" { // the first: it lacks that of the server
		t.Errorf("without a namespace ann is told %v", a)
	}
	a := s.Do(http.MethodGet, "/jobs", nil)
	if a.Status != http.StatusNotFound || !strings.Contains(a.Text, "such as ?namespace=shop") {
		t.Errorf("of jobs ann is told %d %s", a.Status, a.Text)
	}
	s.As(access.Principal{Name: "none", Namespaces: []string{}})
	s.Refused(http.StatusNotFound, "not_found", http.MethodGet, "/whoami", nil)
	s.As(access.Principal{Name: "nobody", Namespaces: []string{"shop"}})
	if a := s.OK(http.StatusOK, http.MethodGet, "/whoami", nil).JSON; !reflect.DeepEqual(a["scopes"], []any{}) || a["namespace"] != "shop" {
		t.Errorf("who may do nothing is told %v", a)
	}
}
