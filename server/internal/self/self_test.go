package self_test

import (
	"net/http"
	"reflect"
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
		if a["name"] != "ann" || a["namespace"] != namespace || !reflect.DeepEqual(a["scopes"], scopes) || a["namespaces"] == nil {
			t.Errorf("in %s ann is told %v", namespace, a)
		}
	}
	s.Refused(http.StatusNotFound, "not_found", http.MethodGet, "/whoami?namespace=default", nil)
	s.As(access.Principal{Name: "nobody", Namespaces: []string{"shop"}})
	if a := s.OK(http.StatusOK, http.MethodGet, "/whoami", nil).JSON; !reflect.DeepEqual(a["scopes"], []any{}) || a["namespace"] != "shop" {
		t.Errorf("who may do nothing is told %v", a)
	}
}
