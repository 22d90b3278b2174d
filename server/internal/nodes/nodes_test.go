package nodes_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/maintain"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/apitest"
)

// start lets a node of a namespace join that handles mails, and returns its number.
func start(s *apitest.Server, namespace string) string {
	s.Helper()
	client, err := s.Client.In(namespace)
	if err != nil {
		s.Fatal(err)
	}
	if err := holdfast.NewTask[int]("mail").Handle(client, func(*holdfast.Run, int) error { return nil }); err != nil {
		s.Fatal(err)
	}
	if err := client.Start(s.Context()); err != nil {
		s.Fatal(err)
	}
	a := s.OK(http.StatusOK, http.MethodGet, "/nodes?alive=true&namespace="+namespace, nil)
	if len(a.Items()) != 1 {
		s.Fatalf("after a node has joined there are %s", a.Text)
	}
	return a.Items()[0]["id"].(string)
}

// TestNodes: they are listed page by page, and do what they are asked for.
func TestNodes(t *testing.T) {
	t.Parallel()
	apitest.OnBoth(t, func(s *apitest.Server) {
		mine, theirs := start(s, "default"), start(s, "theirs")
		var all []any
		for path := "/nodes?limit=1"; path != ""; {
			a := s.OK(http.StatusOK, http.MethodGet, path, nil)
			for _, n := range a.Items() {
				all = append(all, n["id"])
			}
			next, more := a.JSON["next_cursor"].(string)
			if path = ""; more {
				path = "/nodes?limit=1&cursor=" + next
			}
		}
		if len(all) != 2 || all[0] != mine || all[1] != theirs {
			s.Errorf("on pages are %v, and not %s and %s", all, mine, theirs)
		}
		for _, step := range []struct{ verb, mode string }{{"quiet", "quiet"}, {"resume", "running"}, {"resume", "running"}, {"drain", "draining"}} {
			if a := s.OK(http.StatusOK, http.MethodPost, "/nodes/"+mine+"/"+step.verb, nil); a.JSON["mode"] != step.mode || a.JSON["node"] != mine {
				s.Errorf("%s answers %s", step.verb, a.Text)
			}
		}
		a := s.OK(http.StatusOK, http.MethodGet, "/nodes/"+mine, nil)
		if a.JSON["mode"] != "draining" || a.JSON["mode_by"] != "tester" {
			s.Errorf("asked to drain, the node is %s", a.Text)
		}
		// It drains, or has left meanwhile.
		if a := s.Do(http.MethodPost, "/nodes/"+mine+"/quiet", nil); a.JSON["code"] != "conflict" && a.JSON["code"] != "worker_gone" {
			s.Errorf("asked to be quiet, a node that drains answers %s", a.Text)
		}
	})
}

// TestNodesOfTheWholeDatabase: who sees the nodes of one namespace is told whether any node leads,
// wherever; and those that died are told apart from those that left.
func TestNodesOfTheWholeDatabase(t *testing.T) {
	t.Parallel()
	apitest.OnBoth(t, func(s *apitest.Server) {
		if a := s.OK(http.StatusOK, http.MethodGet, "/nodes", nil); a.JSON["led"] != false {
			s.Errorf("without a node one leads: %s", a.Text)
		}
		start(s, "default")
		s.As(access.Principal{Name: "bounded", Namespaces: []string{"empty"}, Scopes: access.Scopes})
		var a apitest.Answer
		for range 500 {
			if a = s.OK(http.StatusOK, http.MethodGet, "/nodes", nil); a.JSON["led"] == true {
				break
			}
			time.Sleep(20 * time.Millisecond) //nolint:forbidigo // for the election
		}
		if a.JSON["led"] != true || len(a.Items()) != 0 {
			s.Errorf("of the nodes of others it is told %s", a.Text)
		}
		s.As(access.Principal{Name: "all", Scopes: access.Scopes})
		if a := s.OK(http.StatusOK, http.MethodGet, "/nodes?dead=true", nil); len(a.Items()) != 0 {
			s.Errorf("a node that lives is dead: %s", a.Text)
		}
	})
}

// TestNodesOfServers: a node that serves all namespaces, as it runs no kind, does what a key of all
// asks for, and not what one of its namespace does.
func TestNodesOfServers(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, maintain.Only())
	if err := s.Client.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	a := s.OK(http.StatusOK, http.MethodGet, "/nodes", nil)
	path := "/nodes/" + a.Items()[0]["id"].(string)
	s.As(access.Principal{Name: "bounded", Namespaces: []string{"default"}, Scopes: access.Scopes})
	for _, verb := range []string{"quiet", "resume", "drain"} {
		s.Refused(http.StatusForbidden, "forbidden", http.MethodPost, path+"/"+verb, nil)
	}
	if a := s.OK(http.StatusOK, http.MethodGet, path, nil); a.JSON["mode"] != "running" {
		t.Errorf("refused, it is %v", a.JSON["mode"])
	}
	s.As(access.Principal{Name: "all", Scopes: access.Scopes})
	for _, verb := range []string{"quiet", "resume", "drain"} {
		s.OK(http.StatusOK, http.MethodPost, path+"/"+verb, nil)
	}
}

// TestNodesRefused: nodes of other namespaces are not there, and changes need their scope.
func TestNodesRefused(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	mine, theirs := start(s, "default"), start(s, "theirs")
	s.Refused(http.StatusNotFound, "not_found", http.MethodGet, "/nodes/999", nil)
	s.Refused(http.StatusNotFound, "not_found", http.MethodPost, "/nodes/999/drain", nil)
	for _, path := range []string{"/nodes/x", "/nodes/0", "/nodes?limit=0", "/nodes?cursor=!", "/nodes?state=x"} {
		s.Refused(http.StatusUnprocessableEntity, "invalid", http.MethodGet, path, nil)
	}
	s.As(access.Principal{Name: "bounded", Namespaces: []string{"default", "empty"}, Scopes: access.Scopes})
	if a := s.OK(http.StatusOK, http.MethodGet, "/nodes", nil); len(a.Items()) != 1 || a.Items()[0]["id"] != mine {
		t.Errorf("a key of one namespace sees %s", a.Text)
	}
	s.Refused(http.StatusNotFound, "not_found", http.MethodGet, "/nodes/"+theirs, nil)
	s.Refused(http.StatusNotFound, "not_found", http.MethodPost, "/nodes/"+theirs+"/quiet", nil)
	s.Refused(http.StatusNotFound, "not_found", http.MethodGet, "/nodes?namespace=theirs", nil)
	s.Refused(http.StatusNotFound, "not_found", http.MethodGet, "/nodes/"+mine+"?namespace=empty", nil)
	s.As(access.Principal{Name: "reader", Scopes: []access.Scope{access.NodesRead}})
	s.OK(http.StatusOK, http.MethodGet, "/nodes/"+mine, nil)
	for _, verb := range []string{"quiet", "drain", "resume"} {
		s.Refused(http.StatusForbidden, "forbidden", http.MethodPost, "/nodes/"+mine+"/"+verb, nil)
	}
	s.As(access.Principal{Name: "blind", Scopes: []access.Scope{access.NodesWrite}})
	s.Refused(http.StatusForbidden, "forbidden", http.MethodGet, "/nodes", nil)
	s.Refused(http.StatusForbidden, "forbidden", http.MethodGet, "/nodes/"+mine, nil)
}
