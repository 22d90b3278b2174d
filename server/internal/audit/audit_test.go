package audit_test

import (
	"net/http"
	"net/url"
	"reflect"
	"testing"

	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/apitest"
)

// actions are those of a page, with their targets.
func actions(a apitest.Answer) (list []string) {
	for _, e := range a.Items() {
		target := e["target"].(map[string]any)
		list = append(list, e["action"].(string)+" "+target["kind"].(string)+" "+target["name"].(string))
	}
	return list
}

func equal(s *apitest.Server, what string, is, want any) {
	s.Helper()
	if !reflect.DeepEqual(is, want) {
		s.Errorf("%s: %v, not %v", what, is, want)
	}
}

// TestAudit: what was changed is listed newest first, by pages and by what is asked for, with what
// was before and after.
func TestAudit(t *testing.T) {
	t.Parallel()
	apitest.OnBoth(t, func(s *apitest.Server) {
		s.OK(http.StatusCreated, http.MethodPut, "/limits/partner", `{"capacity":5}`)
		s.OK(http.StatusOK, http.MethodPut, "/limits/partner", `{"capacity":6}`, "If-Match", "*")
		s.OK(http.StatusOK, http.MethodPost, "/queues/mail/pause", `{}`)
		job := s.OK(http.StatusCreated, http.MethodPost, "/jobs", `{"kind":"send","args":{"secret":"hush"}}`).JSON["id"].(string)
		s.OK(http.StatusOK, http.MethodPatch, "/jobs/"+job, `{"priority":1,"args":{"secret":"hush!"}}`, "If-Match", "*")

		all := s.OK(http.StatusOK, http.MethodGet, "/audit", nil)
		equal(s, "all", actions(all), []string{"edit job " + job, "pause queue mail", "update limit partner", "create limit partner"})
		edit, update := all.Items()[0], all.Items()[2]
		equal(s, "before", update["before"], map[string]any{"capacity": float64(5)})
		equal(s, "after", update["after"], map[string]any{"capacity": float64(6)})
		equal(s, "the first one before", all.Items()[3]["before"], nil)
		equal(s, "edited", edit["after"], map[string]any{"priority": float64(1), "args": "changed"})
		equal(s, "by", update["actor"], "tester")

		first := s.OK(http.StatusOK, http.MethodGet, "/audit?limit=3", nil)
		rest := s.OK(http.StatusOK, http.MethodGet, "/audit?limit=3&cursor="+first.JSON["next_cursor"].(string), nil)
		equal(s, "pages", append(actions(first), actions(rest)...), actions(all))
		equal(s, "end", rest.JSON["next_cursor"], nil)
		for query, want := range map[string][]string{
			"kind=limit&name=partner":    {"update limit partner", "create limit partner"},
			"kind=job":                   {"edit job " + job},
			"job=" + job:                 {"edit job " + job},
			"action=pause":               {"pause queue mail"},
			"actor=tester&action=create": {"create limit partner"},
			"actor=eve":                  nil,
			"in=other":                   nil,
			"since=2999-01-01T00:00:00Z": nil,
			"until=2001-01-01T00:00:00Z": nil,
			"since=" + url.QueryEscape(at(edit["at"])): {"edit job " + job},
		} {
			equal(s, query, actions(s.OK(http.StatusOK, http.MethodGet, "/audit?"+query, nil)), want)
		}
		s.Refused(http.StatusUnprocessableEntity, "invalid", http.MethodGet, "/audit?name=partner", nil)
		s.Refused(http.StatusUnprocessableEntity, "invalid", http.MethodGet, "/audit?job=7", nil)
		s.Refused(http.StatusUnprocessableEntity, "invalid", http.MethodGet, "/audit?kind=shop", nil)
		s.Refused(http.StatusUnprocessableEntity, "invalid", http.MethodGet, "/audit?since=yesterday", nil)
		s.Refused(http.StatusUnprocessableEntity, "invalid", http.MethodGet, "/audit?kind=a%00", nil)
	})
}

func at(v any) string { return v.(string) }

// TestAuditOfOneNamespace: who has one namespace sees what was done in it, and nothing that was
// done to the whole database or in another one.
func TestAuditOfOneNamespace(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	s.OK(http.StatusCreated, http.MethodPut, "/limits/partner?namespace=shop", `{"capacity":5}`)
	s.OK(http.StatusCreated, http.MethodPut, "/limits/partner?namespace=billing", `{"capacity":5}`)
	s.OK(http.StatusOK, http.MethodPut, "/retention/classes/short", `{"failed":"48h"}`, "If-Match", "*")
	if a := s.OK(http.StatusOK, http.MethodGet, "/audit", nil); len(a.Items()) != 3 {
		t.Errorf("all are %s", a.Text)
	}
	s.As(access.Principal{Name: "ann", Namespaces: []string{"shop"}, Scopes: []access.Scope{access.AuditRead}})
	if a := s.OK(http.StatusOK, http.MethodGet, "/audit", nil); len(a.Items()) != 1 || a.Items()[0]["namespace"] != "shop" {
		t.Errorf("it sees %s", a.Text)
	}
	s.Refused(http.StatusNotFound, "not_found", http.MethodGet, "/audit?in=billing", nil)
	s.Refused(http.StatusNotFound, "not_found", http.MethodGet, "/audit?namespace=billing", nil)
	for _, role := range []access.Principal{
		{Name: "viewer", Scopes: []access.Scope{access.JobsRead}}, {Name: "operator", Scopes: []access.Scope{access.JobsWrite, access.KeysAdmin}},
	} {
		s.As(role)
		s.Refused(http.StatusForbidden, "forbidden", http.MethodGet, "/audit", nil)
	}
}
