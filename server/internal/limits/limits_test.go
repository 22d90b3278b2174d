package limits_test

import (
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/apitest"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

func TestMain(m *testing.M) { apitest.Main(m) }

const (
	get    = http.MethodGet
	post   = http.MethodPost
	put    = http.MethodPut
	remove = http.MethodDelete
)

// TestLimits: a limit is made, replaced by those who know it, drained, resumed and deleted.
func TestLimits(t *testing.T) {
	t.Parallel()
	apitest.OnBoth(t, func(s *apitest.Server) {
		const slack = `{"capacity":5,"rate":"50/s","burst":10,"queues":["mail"],"kinds":{"notify":2}}`
		s.Refused(412, "changed", put, "/limits/slack", slack, "If-Match", `"old"`)
		made := s.OK(201, put, "/limits/slack", slack)
		kinds, _ := made.JSON["kinds"].(map[string]any)
		if made.JSON["capacity"] != 5.0 || made.JSON["rate"] != "50/s" || made.JSON["burst"] != 10.0 || kinds["notify"] != 2.0 || made.JSON["held"] != 0.0 {
			s.Errorf("made: %s", made.Text)
		}
		s.OK(201, put, "/limits/queue:reports", `{"capacity":1}`)
		first := s.OK(200, get, "/limits?limit=1", nil)
		cursor, _ := first.JSON["next_cursor"].(string)
		if b := s.OK(200, get, "/limits?limit=1&cursor="+cursor, nil); len(b.Items()) != 1 || b.Items()[0]["name"] != "slack" || b.JSON["next_cursor"] != nil {
			s.Errorf("the second page: %s", b.Text)
		}
		s.Refused(428, "precondition_required", put, "/limits/slack", slack)
		etag := s.OK(200, get, "/limits/slack", nil).Header.Get("ETag")
		changed := s.OK(200, put, "/limits/slack", `{"rate":"100/min"}`, "If-Match", etag)
		kinds, _ = changed.JSON["kinds"].(map[string]any)
		if changed.JSON["capacity"] != nil || changed.JSON["rate"] != "100/min" || len(kinds) != 0 {
			s.Errorf("replaced: %s", changed.Text)
		}
		s.Refused(412, "changed", put, "/limits/slack", slack, "If-Match", etag)
		if d := s.OK(200, post, "/limits/slack/drain", `{"for":"1h"}`); d.JSON["drained_until"] == nil || d.JSON["next_at"] == nil {
			s.Errorf("drained: %s", d.Text)
		}
		s.OK(200, post, "/limits/slack/resume", `{"reason":"well again"}`)
		s.Refused(409, "conflict", post, "/limits/slack/reset", nil) // no code declares it
		s.OK(204, remove, "/limits/slack", nil)
		s.Refused(404, "not_found", get, "/limits/slack", nil)
	})
}

// TestDrainByTheDatabasesClock: a limit is drained from now on by the clock by which it lets go,
// whatever that of the server's machine says.
func TestDrainByTheDatabasesClock(t *testing.T) {
	t.Parallel()
	for _, ahead := range []time.Duration{-time.Hour, time.Hour} {
		clock := func() time.Time { return time.Now().Add(ahead) }
		s := apitest.On(t, sqlite.Config{Path: filepath.Join(t.TempDir(), "api.db"), Clock: clock})
		s.OK(201, put, "/limits/slack", `{"rate":"50/s"}`)
		said, _ := s.OK(200, post, "/limits/slack/drain", `{"for":"10m"}`).JSON["drained_until"].(string)
		until, err := time.Parse(time.RFC3339Nano, said)
		if left := until.Sub(clock()); err != nil || left < 5*time.Minute || left > 10*time.Minute {
			s.Errorf("a clock that is %v ahead: it is drained until %q, which is in %v: %v", ahead, said, left, err)
		}
	}
}

// TestRefusals: what can never be right, and who may not.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	for body, pointer := range map[string]string{
		`{}`: "", `{"burst":3,"capacity":1}`: "/burst", `{"rate":"fast"}`: "/rate", `{"rate":"5/never"}`: "/rate", `{"capacity":-1}`: "/capacity",
		`{"capacity":1,"kind":"a"}`: "/kind", `{"rate":"-1/s"}`: "/rate", `{"capacity":1,"fair_share":true,"per_key":true}`: "",
	} {
		if got := s.Refused(422, "invalid", put, "/limits/slack", body); got != pointer {
			t.Errorf("%s: it points to %q", body, got)
		}
	}
	s.OK(201, put, "/limits/foreign?namespace=other", `{"capacity":1}`)
	for _, r := range [][2]string{{get, "/limits/foreign"}, {post, "/limits/foreign/resume"}, {post, "/limits/foreign/reset"}, {remove, "/limits/foreign"}} {
		s.Refused(404, "not_found", r[0], r[1], nil)
	}
	s.Refused(404, "not_found", post, "/limits/foreign/drain", `{"for":"1s"}`)
	s.Refused(422, "invalid", post, "/limits/foreign/drain?namespace=other", `{"for":"1s"}`) // it has no rate
	s.Refused(422, "invalid", post, "/limits/foreign/drain", `{}`)
	s.Refused(422, "invalid", post, "/limits/foreign/drain", `{"until":"2020-01-01T00:00:00Z"}`)
	s.As(access.Principal{Name: "viewer", Scopes: []access.Scope{access.LimitsRead}})
	s.Refused(403, "forbidden", put, "/limits/slack", `{"capacity":1}`)
	s.Refused(403, "forbidden", remove, "/limits/slack", nil)
	s.As(access.Principal{Name: "writer", Scopes: []access.Scope{access.LimitsWrite}})
	s.Refused(403, "forbidden", get, "/limits", nil)
}
