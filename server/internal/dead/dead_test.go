package dead_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/apitest"
)

// fail lets jobs of some kinds fail, and returns their ids.
func fail(s *apitest.Server, kinds ...string) (ids []string) {
	s.Helper()
	for _, name := range kinds {
		kind := holdfast.NewTask[int](name)
		if err := kind.Handle(s.Client, func(*holdfast.Run, int) error { return holdfast.Fail(errors.New(name + " is broken")) }); err != nil &&
			!errors.Is(err, holdfast.ErrInvalid) {
			s.Fatal(err)
		}
	}
	if err := s.Client.Start(s.Context()); err != nil {
		s.Fatal(err)
	}
	for i, name := range kinds {
		job, err := holdfast.NewTask[int](name).Enqueue(s.Context(), s.Client, i)
		if err != nil {
			s.Fatal(err)
		}
		if err := s.Client.Wait(s.Context(), job.ID); err == nil {
			s.Fatal("a job has not failed")
		}
		ids = append(ids, job.ID.String())
	}
	if err := s.Client.Stop(s.Context()); err != nil {
		s.Fatal(err)
	}
	return ids
}

// TestDead: groups and their jobs are listed, run again, are exported and removed.
func TestDead(t *testing.T) {
	t.Parallel()
	apitest.OnBoth(t, func(s *apitest.Server) {
		ids := fail(s, "mail", "bill", "bell")
		first := s.OK(http.StatusOK, http.MethodGet, "/dead?limit=2", nil)
		if len(first.Items()) != 2 || first.Items()[0]["kind"] != "bell" || first.JSON["more"] != false {
			s.Fatalf("the groups are %s", first.Text)
		}
		rest := s.OK(http.StatusOK, http.MethodGet, "/dead?limit=2&cursor="+first.JSON["next_cursor"].(string), nil)
		if len(rest.Items()) != 1 || rest.Items()[0]["kind"] != "mail" || rest.JSON["next_cursor"] != nil {
			s.Fatalf("the other groups are %s", rest.Text)
		}
		group, _ := rest.Items()[0]["fingerprint"].(string)
		if a := s.OK(http.StatusOK, http.MethodGet, "/dead/"+group, nil); len(a.Items()) != 1 || a.Items()[0]["id"] != ids[0] {
			s.Errorf("of the group are %s", a.Text)
		}
		if a := s.OK(http.StatusOK, http.MethodPost, "/dead/purge", `{"all":true,"dry_run":true}`); a.JSON["done"] != 3.0 || a.JSON["complete"] != true {
			s.Errorf("a dry run answers %s", a.Text)
		}
		export := s.OK(http.StatusOK, http.MethodGet, "/dead/export?kind=mail&kind=bill", nil)
		lines := strings.Split(strings.TrimSpace(export.Text), "\n")
		var line struct {
			ID string `json:"id"`
		}
		if len(lines) != 2 || json.Unmarshal([]byte(lines[1]), &line) != nil || line.ID != ids[0] ||
			export.Header.Get("Content-Type") != "application/x-ndjson" {
			s.Errorf("exported is %q", export.Text)
		}
		redrive := map[string]any{"fingerprint": []string{group}, "args": 42, "to_queue": "slow", "delay": "1h", "rate": 1000, "reason": "again"}
		if a := s.OK(http.StatusOK, http.MethodPost, "/dead/redrive", redrive); a.JSON["done"] != 1.0 || a.JSON["failed"] != 0.0 || a.JSON["complete"] != true {
			s.Errorf("redriven are %s", a.Text)
		}
		job := s.OK(http.StatusOK, http.MethodGet, "/jobs/"+ids[0], nil)
		if job.JSON["state"] != "scheduled" || job.JSON["queue"] != "slow" || job.JSON["args"] != 42.0 {
			s.Errorf("redriven is %s", job.Text)
		}
		if a := s.OK(http.StatusOK, http.MethodPost, "/dead/move", `{"kind":["bill"],"to_queue":"repair"}`); a.JSON["done"] != 1.0 {
			s.Errorf("moved are %s", a.Text)
		}
		if a := s.OK(http.StatusOK, http.MethodPost, "/dead/purge", `{"all":true}`); a.JSON["done"] != 1.0 {
			s.Errorf("removed are %s", a.Text)
		}
		s.Refused(http.StatusNotFound, "not_found", http.MethodGet, "/jobs/"+ids[2], nil)
		if a := s.OK(http.StatusOK, http.MethodGet, "/dead/export", nil); a.Text != "" || a.Header.Get("Content-Type") != "application/x-ndjson" {
			s.Errorf("nothing is exported as %q", a.Text)
		}
	})
}

// TestDeadRefused: what is changed must be said, and payloads and exec need their scopes.
func TestDeadRefused(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	id := fail(s, "exec")[0]
	for path, bodies := range map[string]map[string]string{
		"/dead/purge": {
			`{}`: "", `{"all":true,"kind":["a"]}`: "/all", `{"fingerprint":["x"]}`: "/fingerprint", `{"to_queue":"a","all":true}`: "/to_queue",
		},
		"/dead/redrive": {`{"all":true,"delay":"-1s"}`: "/delay", `{"all":true,"rate":0}`: "/rate", `{"all":true,"priority":5}`: "/priority"},
		"/dead/move":    {`{"all":true}`: "/to_queue"},
	} {
		for body, want := range bodies {
			if at := s.Refused(http.StatusUnprocessableEntity, "invalid", http.MethodPost, path, body); at != want {
				t.Errorf("%s %s is refused because of %q, and not %q", path, body, at, want)
			}
		}
	}
	for _, path := range []string{"/dead/x", "/dead?fingerprint=x", "/dead?cursor=x", "/dead/export?fingerprint=x", "/dead/export?all=true"} {
		s.Refused(http.StatusUnprocessableEntity, "invalid", http.MethodGet, path, nil)
	}
	s.As(access.Principal{Name: "operator", Scopes: []access.Scope{access.DeadRead, access.DeadWrite, access.JobsRead}})
	a := s.OK(http.StatusOK, http.MethodPost, "/dead/redrive", `{"all":true,"args":{"command":["rm"]}}`)
	refused, _ := a.JSON["refused"].([]any)
	if a.JSON["failed"] != 1.0 || len(refused) != 1 || refused[0].(map[string]any)["code"] != "forbidden" {
		t.Errorf("other args of exec are answered %s", a.Text)
	}
	if job := s.OK(http.StatusOK, http.MethodGet, "/jobs/"+id, nil); job.JSON["state"] != "failed" {
		t.Errorf("it is %s", job.Text)
	}
	s.Refused(http.StatusForbidden, "forbidden", http.MethodGet, "/dead/export", nil)
	s.As(access.Principal{Name: "bounded", Namespaces: []string{"mine"}, Scopes: access.Scopes})
	if a := s.OK(http.StatusOK, http.MethodPost, "/dead/purge", `{"all":true}`); a.JSON["done"] != 0.0 {
		t.Errorf("another namespace has %s", a.Text)
	}
	s.Refused(http.StatusNotFound, "not_found", http.MethodPost, "/dead/purge?namespace=default", `{"all":true}`)
	if a := s.OK(http.StatusOK, http.MethodGet, "/dead/export", nil); a.Text != "" {
		t.Errorf("another namespace exports %s", a.Text)
	}
	s.As(access.Principal{Name: "reader", Scopes: []access.Scope{access.DeadRead}})
	for _, verb := range []string{"redrive", "move", "purge"} {
		s.Refused(http.StatusForbidden, "forbidden", http.MethodPost, "/dead/"+verb, `{"all":true}`)
	}
	s.As(access.Principal{Name: "blind"})
	s.Refused(http.StatusForbidden, "forbidden", http.MethodGet, "/dead", nil)
	s.Refused(http.StatusForbidden, "forbidden", http.MethodGet, "/dead/none", nil)
}
