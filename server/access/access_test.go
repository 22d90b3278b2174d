package access_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/holdfastdev/holdfast/apikey"
	"github.com/holdfastdev/holdfast/server/access"
)

// TestRolesInOneNamespace: who may do more in one namespace has no other one in a call there.
func TestRolesInOneNamespace(t *testing.T) {
	t.Parallel()
	p := access.Principal{
		Name: "ann", Scopes: apikey.Viewer.Scopes(), Only: map[string][]access.Scope{"desk": {access.QueuesWrite, access.QueuesRead}},
	}
	there, elsewhere := p.In("desk"), p.In("shop")
	switch {
	case !there.May(access.QueuesWrite), !there.May(access.JobsRead), !there.Has("desk"), there.Has("shop"), there.Name != "ann":
		t.Errorf("there: %+v", there)
	case elsewhere.May(access.QueuesWrite), !elsewhere.May(access.JobsRead), !elsewhere.Has("shop"):
		t.Errorf("elsewhere: %+v", elsewhere)
	}
	if p.May(access.QueuesWrite) || !slices.Equal(p.Scopes, apikey.Viewer.Scopes()) {
		t.Errorf("it has become %+v", p)
	}
}

// TestFirst: the first one that knows somebody counts, and one that cannot tell ends the search.
func TestFirst(t *testing.T) {
	t.Parallel()
	away := errors.New("away")
	knows := func(name string, err error) access.Authenticator {
		return func(*http.Request) (access.Principal, error) { return access.Principal{Name: name}, err }
	}
	no := knows("", access.ErrUnauthenticated)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
	for name, c := range map[string]struct {
		all  []access.Authenticator
		want string
		err  error
	}{
		"nobody is asked":     {nil, "", access.ErrUnauthenticated},
		"nobody knows":        {[]access.Authenticator{no, no}, "", access.ErrUnauthenticated},
		"the second one does": {[]access.Authenticator{no, knows("b", nil), knows("c", nil)}, "b", nil},
		"one cannot tell":     {[]access.Authenticator{no, knows("", away), knows("c", nil)}, "", away},
	} {
		if p, err := access.First(c.all...)(r); p.Name != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}
