package operations_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/apitest"
)

// TestOperations: one is rehearsed, started, done by a node, listed, and repeated by its id.
func TestOperations(t *testing.T) {
	t.Parallel()
	apitest.OnBoth(t, func(s *apitest.Server) {
		var ids []any
		for range 3 {
			ids = append(ids, s.Enqueue(map[string]any{"kind": "mail", "queue": "mails", "delay": "1h"}))
		}
		other := s.Enqueue(map[string]any{"kind": "bill", "delay": "1h"})
		filter := map[string]any{"queue": []string{"mails"}, "state": []string{"scheduled"}}
		dry := s.OK(http.StatusOK, http.MethodPost, "/operations", map[string]any{"action": "cancel", "filter": filter, "dry_run": true})
		found, _ := dry.JSON["found"].(map[string]any)
		if sample, _ := found["sample"].([]any); found["count"] != 3.0 || found["more"] != false || len(sample) != 3 || dry.JSON["operation"] != nil {
			s.Errorf("a dry run answers %s", dry.Text)
		}
		start := map[string]any{"action": "cancel", "filter": filter, "expected_count": 3, "reason": "wrong", "id": "0198c0de-7b1c-7d3a-9f00-0123456789ab"}
		started := s.OK(http.StatusAccepted, http.MethodPost, "/operations", start)
		at := strings.TrimPrefix(started.Header.Get("Location"), "/api/v1")
		if at != "/operations/0198c0de-7b1c-7d3a-9f00-0123456789ab" {
			s.Errorf("it is at %s", at)
		}
		s.OK(http.StatusAccepted, http.MethodPost, "/operations", start)
		if err := holdfast.NewTask[int]("none").Handle(s.Client, func(*holdfast.Run, int) error { return nil }); err != nil {
			s.Fatal(err)
		}
		if err := s.Client.Start(s.Context()); err != nil {
			s.Fatal(err)
		}
		got := s.OK(http.StatusOK, http.MethodGet, "/jobs/0198c0de-7b1c-7d3a-9f00-0123456789ab/result?wait=30s", nil)
		if got.JSON["state"] != "completed" {
			s.Errorf("its job is %s", got.Text)
		}
		done := s.OK(http.StatusOK, http.MethodGet, at, nil)
		if done.JSON["changed"] != 3.0 || done.JSON["actor"] != "tester" || done.JSON["note"] != "wrong" || done.JSON["action"] != "cancel" {
			s.Errorf("it has done %s", done.Text)
		}
		if job := s.OK(http.StatusOK, http.MethodGet, "/jobs/"+other, nil); job.JSON["state"] != "scheduled" {
			s.Errorf("another job is %s", job.Text)
		}
		if l := s.OK(http.StatusOK, http.MethodGet, "/operations?state=completed&limit=1", nil); len(l.Items()) != 1 {
			s.Errorf("listed are %s", l.Text)
		}
		byID := s.OK(http.StatusOK, http.MethodPost, "/operations", map[string]any{"action": "retry", "ids": ids[:2], "dry_run": true})
		if found, _ := byID.JSON["found"].(map[string]any); found["count"] != 2.0 {
			s.Errorf("by ids are found %s", byID.Text)
		}
		s.Refused(http.StatusNotFound, "not_found", http.MethodGet, "/operations/"+other, nil)
		s.Refused(http.StatusNotFound, "not_found", http.MethodPost, "/operations/"+other+"/cancel", nil)
	})
}

// TestOperationIsCancelled: one that waits ends at once.
func TestOperationIsCancelled(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	s.OK(http.StatusAccepted, http.MethodPost, "/operations", `{"action":"pause","all":true}`)
	waits := s.OK(http.StatusOK, http.MethodGet, "/operations", nil)
	at := "/operations/" + waits.Items()[0]["id"].(string)
	if a := s.OK(http.StatusOK, http.MethodPost, at+"/cancel", `{"reason":"not now"}`); a.JSON["state"] != "cancelled" {
		t.Errorf("it is %s", a.Text)
	}
	s.OK(http.StatusOK, http.MethodPost, at+"/cancel", nil)
}

// TestOperationsRefused: an operation says which jobs and what, and nothing besides.
func TestOperationsRefused(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	id := s.Enqueue(map[string]any{"kind": "mail"})
	for body, want := range map[string]string{
		`{"action":"cancel"}`:                                              "/filter",
		`{"action":"cancel","filter":{}}`:                                  "/filter",
		`{"action":"cancel","ids":[]}`:                                     "/filter",
		`{"action":"cancel","all":true,"filter":{"kind":["a"]}}`:           "/all",
		`{"action":"cancel","ids":["` + id + `"],"filter":{"kind":["a"]}}`: "/ids",
		`{"action":"cancel","ids":["x"]}`:                                  "/ids/0",
		`{"action":"burn","all":true}`:                                     "/action",
		`{"action":"move","all":true}`:                                     "/queue",
		`{"action":"cancel","all":true,"queue":"slow"}`:                    "/queue",
		`{"action":"priority","all":true}`:                                 "/priority",
		`{"action":"tag","all":true}`:                                      "/add",
		`{"action":"cancel","filter":{"state":["happy"]}}`:                 "/filter/state",
		`{"action":"cancel","filter":{"q":"state:happy"}}`:                 "/filter/q",
		`{"action":"cancel","filter":{"kinds":["a"]}}`:                     "/filter/kinds",
		`{"action":"cancel","all":true,"expected_count":0}`:                "/expected_count",
	} {
		if at := s.Refused(http.StatusUnprocessableEntity, "invalid", http.MethodPost, "/operations", body); at != want {
			t.Errorf("%s is refused because of %q, and not %q", body, at, want)
		}
	}
	s.Refused(http.StatusConflict, "conflict", http.MethodPost, "/operations", `{"action":"cancel","all":true,"id":"`+id+`"}`)
	s.Refused(http.StatusUnprocessableEntity, "invalid", http.MethodGet, "/operations?state=happy", nil)
	s.Refused(http.StatusUnprocessableEntity, "invalid", http.MethodGet, "/operations?cursor=x", nil)
	a := s.OK(http.StatusAccepted, http.MethodPost, "/operations", map[string]any{"action": "pause", "filter": map[string]any{
		"created_before": time.Now().Add(-time.Hour),
	}})
	at := strings.TrimPrefix(a.Header.Get("Location"), "/api/v1")
	s.As(access.Principal{Name: "bounded", Namespaces: []string{"mine"}, Scopes: access.Scopes})
	s.Refused(http.StatusNotFound, "not_found", http.MethodGet, at, nil)
	s.Refused(http.StatusNotFound, "not_found", http.MethodPost, at+"/cancel", nil)
	s.As(access.Principal{Name: "reader", Scopes: []access.Scope{access.OperationsRead}})
	s.OK(http.StatusOK, http.MethodGet, at, nil)
	s.Refused(http.StatusForbidden, "forbidden", http.MethodPost, at+"/cancel", nil)
	s.Refused(http.StatusForbidden, "forbidden", http.MethodPost, "/operations", `{"action":"cancel","all":true}`)
	s.As(access.Principal{Name: "guesser", Scopes: []access.Scope{access.OperationsWrite}})
	s.Refused(http.StatusForbidden, "forbidden", http.MethodPost, "/operations", `{"action":"cancel","filter":{"args":["pin=7"]},"dry_run":true}`)
	s.Refused(http.StatusForbidden, "forbidden", http.MethodGet, at, nil)
	s.Refused(http.StatusForbidden, "forbidden", http.MethodGet, "/operations", nil)
}
