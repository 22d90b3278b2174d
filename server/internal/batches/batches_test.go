package batches_test

import (
	"net/http"
	"testing"

	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/apitest"
)

func TestMain(m *testing.M) { apitest.Main(m) }

const (
	get  = http.MethodGet
	post = http.MethodPost
)

// unknown is the id of no batch.
const unknown = "0198c0de-7b1c-7d3a-9f00-0123456789ab"

// TestBatches: a batch is made once by its id, gets members, and is closed, or cancelled with them.
func TestBatches(t *testing.T) {
	t.Parallel()
	apitest.OnBoth(t, func(s *apitest.Server) {
		const body = `{"id":"` + unknown + `","name":"import","on_success":[{"kind":"report","args":{"n":1}}],"on_failure":[{"kind":"alert"}]}`
		made := s.OK(201, post, "/batches", body)
		if calls, _ := made.JSON["calls"].([]any); len(calls) != 2 || made.JSON["state"] != "open" || made.JSON["completed"] != "0" || made.JSON["name"] != "import" {
			s.Errorf("made: %s", made.Text)
		}
		s.OK(201, post, "/batches", body)
		other, _ := s.OK(201, post, "/batches", `{}`).JSON["id"].(string)
		member := s.Enqueue(map[string]any{"kind": "load", "batch": other})
		members := s.OK(200, get, "/jobs?batch="+other, nil)
		if jobs := members.Items(); len(jobs) != 1 || jobs[0]["id"] != member {
			s.Errorf("the members: %v", jobs)
		}
		first := s.OK(200, get, "/batches?limit=1", nil)
		cursor, _ := first.JSON["next_cursor"].(string)
		second := s.OK(200, get, "/batches?limit=1&cursor="+cursor, nil)
		if a, b := first.Items(), second.Items(); len(a) != 1 || len(b) != 1 || a[0]["id"] != other || b[0]["id"] != unknown || second.JSON["next_cursor"] != nil {
			s.Errorf("two pages: %s %s", first.Text, second.Text)
		}
		if b := s.OK(200, post, "/batches/"+unknown+"/close", nil); b.JSON["state"] != "closed" {
			s.Errorf("closed: %s", b.Text)
		}
		s.Refused(409, "conflict", post, "/jobs", map[string]any{"kind": "load", "batch": unknown})
		if b := s.OK(200, post, "/batches/"+other+"/cancel", `{"reason":"wrong file"}`); b.JSON["asked"] != 1.0 {
			s.Errorf("cancelled: %s", b.Text)
		}
		if job := s.OK(200, get, "/jobs/"+member, nil); job.JSON["state"] != "cancelled" {
			s.Errorf("a member: %s", job.Text)
		}
	})
}

// TestRefusals: what is not there, is of another namespace, or may not be.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	foreign, _ := s.OK(201, post, "/batches?namespace=other", `{}`).JSON["id"].(string)
	for _, id := range []string{unknown, foreign} {
		s.Refused(404, "not_found", get, "/batches/"+id, nil)
		s.Refused(404, "not_found", post, "/batches/"+id+"/close", nil)
		s.Refused(404, "not_found", post, "/batches/"+id+"/cancel", nil)
	}
	for body, pointer := range map[string]string{
		`{"on_end":[{"kind":"a","priority":9}]}`: "/on_end/0/priority", `{"on_end":[{}]}`: "/on_end/0/kind", `{"id":"x"}`: "/id", `{"title":"x"}`: "/title",
	} {
		if got := s.Refused(422, "invalid", post, "/batches", body); got != pointer {
			t.Errorf("%s: it points to %q", body, got)
		}
	}
	s.Refused(422, "invalid", get, "/batches?cursor=eA", nil)
	s.As(access.Principal{Name: "writer", Scopes: []access.Scope{access.JobsWrite}})
	s.Refused(403, "forbidden", post, "/batches", `{"on_end":[{"kind":"exec"}]}`)
	s.Refused(403, "forbidden", get, "/batches", nil)
	s.As(access.Principal{Name: "viewer", Scopes: []access.Scope{access.JobsRead}})
	s.Refused(403, "forbidden", post, "/batches", `{}`)
	s.Refused(403, "forbidden", post, "/batches/"+unknown+"/cancel", nil)
}
