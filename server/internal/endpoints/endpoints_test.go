package endpoints_test

import (
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/events"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/apitest"
)

func TestMain(m *testing.M) { apitest.Main(m) }

// TestEndpoints: the secret is in the answer that makes it alone, and headers are shown by name.
func TestEndpoints(t *testing.T) {
	t.Parallel()
	apitest.OnBoth(t, func(s *apitest.Server) {
		made := s.OK(201, "POST", "/endpoints", `{"kind":"mail","url":"https://example.com/a","headers":{"Authorization":"Bearer hidden"}}`)
		if secret, _ := made.JSON["secret"].(string); !strings.HasPrefix(secret, "whsec_") || made.JSON["timeout"] != "30s" || made.JSON["callback"] != "24h0m0s" {
			s.Errorf("made %s", made.Text)
		}
		s.Refused(409, "conflict", "POST", "/endpoints", `{"kind":"mail","url":"https://example.com/b"}`)
		got := s.OK(200, "GET", "/endpoints/mail", nil)
		if strings.Contains(got.Text, "whsec_") || strings.Contains(got.Text, "hidden") || !strings.Contains(got.Text, "Authorization") {
			s.Errorf("shown %s", got.Text)
		}
		tag := got.Header.Get("ETag")
		s.Refused(428, "precondition_required", "PATCH", "/endpoints/mail", `{"timeout":"5s"}`)
		changed := s.OK(200, "PATCH", "/endpoints/mail", `{"timeout":"5s","callback":null}`, "If-Match", tag)
		if changed.JSON["timeout"] != "5s" || changed.JSON["url"] != "https://example.com/a" {
			s.Errorf("changed %s", changed.Text)
		}
		s.Refused(412, "changed", "PATCH", "/endpoints/mail", `{"timeout":"6s"}`, "If-Match", tag)
		for _, name := range []string{"timeout", "callback"} { // it is not the default
			s.Refused(422, "invalid", "PATCH", "/endpoints/mail", `{"`+name+`":"0s"}`, "If-Match", "*")
			s.Refused(422, "invalid", "POST", "/endpoints", `{"kind":"other","url":"https://example.com/a","`+name+`":"0s"}`)
		}
		if again := s.OK(200, "POST", "/endpoints/mail/rotate", `{"overlap":"0s"}`); again.JSON["secret"] == made.JSON["secret"] {
			s.Errorf("rotated %s", again.Text)
		}
		if all := s.OK(200, "GET", "/endpoints?limit=1", nil); !strings.Contains(all.Text, `"kind":"mail"`) || all.JSON["next_cursor"] != nil {
			s.Errorf("listed %s", all.Text)
		}
		s.Refused(404, "not_found", "GET", "/endpoints/mail?namespace=other", nil)
		s.OK(204, "DELETE", "/endpoints/mail", nil)
		s.Refused(404, "not_found", "DELETE", "/endpoints/mail", nil)
	})
}

// TestWebhooks: they are made while the feed is on, changed, disabled, tested, and deleted.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	apitest.OnBoth(t, func(s *apitest.Server) {
		const crm = `{"name":"crm","url":"https://example.com/a","events":["job.failed"],"kinds":["mail"]}`
		s.Refused(409, "conflict", "POST", "/webhooks", crm)
		if _, err := events.On(s.Context(), s.Client); err != nil {
			s.Fatal(err)
		}
		if made := s.OK(201, "POST", "/webhooks", crm); made.JSON["secret"] == nil || made.JSON["disabled"] != nil {
			s.Errorf("made %s", made.Text)
		}
		off := s.OK(200, "PATCH", "/webhooks/crm", `{"enabled":false,"kinds":null}`, "If-Match", "*")
		if off.JSON["disabled"] != "by tester" || !strings.Contains(off.Text, `"kinds":[]`) {
			s.Errorf("disabled %s", off.Text)
		}
		if on := s.OK(200, "PATCH", "/webhooks/crm", `{"enabled":true}`, "If-Match", "*"); on.JSON["disabled"] != nil {
			s.Errorf("enabled %s", on.Text)
		}
		const filter = `{"filter":"event.data.kind == 'mail'"}`
		if set := s.OK(200, "PATCH", "/webhooks/crm", filter, "If-Match", "*"); set.JSON["filter"] != "event.data.kind == 'mail'" {
			s.Errorf("with a filter %s", set.Text)
		}
		if at := s.Refused(422, "invalid", "PATCH", "/webhooks/crm", `{"filter":"payload.x"}`, "If-Match", "*"); at != "/filter" {
			s.Errorf("a filter that does not compile is refused at %s", at)
		}
		if set := s.OK(200, "PATCH", "/webhooks/crm", `{"filter":null}`, "If-Match", "*"); set.JSON["filter"] != nil {
			s.Errorf("without a filter %s", set.Text)
		}
		id, _ := s.OK(200, "POST", "/webhooks/crm/test", nil).JSON["id"].(string)
		again, _ := s.OK(200, "POST", "/webhooks/crm/deliveries/"+id+"/redeliver", nil).JSON["id"].(string)
		all := s.OK(200, "GET", "/webhooks/crm/deliveries?state=available", nil)
		if !strings.Contains(all.Text, id) || !strings.Contains(all.Text, again) || !strings.Contains(all.Text, `"type":"webhook.test"`) {
			s.Errorf("deliveries %s", all.Text)
		}
		other := s.Enqueue(map[string]any{"kind": "mail"})
		s.Refused(404, "not_found", "POST", "/webhooks/crm/deliveries/"+other+"/redeliver", nil)
		s.OK(204, "DELETE", "/webhooks/crm", nil)
		s.Refused(404, "not_found", "GET", "/webhooks/crm/deliveries", nil)
	})
}

// TestRefusals: what cannot be, and who may not.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	for _, body := range []string{
		`{"kind":"mail"}`, `{"kind":"mail","url":"ftp://example.com"}`, `{"kind":"mail","url":"https://u:p@example.com"}`,
		`{"kind":"mail","url":"https:///x"}`, `{"kind":"holdfast.operation","url":"https://example.com"}`,
		`{"kind":"mail","url":"https://example.com","headers":{"Webhook-Id":"1"}}`,
		`{"kind":"mail","url":"https://example.com","headers":{"a b":"1"}}`,
		`{"kind":"mail","url":"https://example.com","timeout":"11m"}`, `{"kind":"mail","url":"https://example.com","secret":"x"}`,
	} {
		s.Refused(422, "invalid", "POST", "/endpoints", body)
	}
	s.Refused(422, "invalid", "POST", "/webhooks", `{"name":"crm","url":"https://example.com","events":["job.gone"]}`)
	s.Refused(422, "invalid", "POST", "/webhooks", `{"name":"crm","url":"https://example.com","filter":"event."}`)
	s.OK(201, "POST", "/endpoints", `{"kind":"slack","url":"https://hooks.example.com/services/hush?key=hush"}`)
	if a := s.OK(200, "GET", "/endpoints/slack", nil); a.JSON["url"] != "https://hooks.example.com/services/hush?key=hush" {
		t.Errorf("who may change it sees %s", a.Text)
	}
	s.As(access.Principal{Name: "viewer", Scopes: []access.Scope{access.EndpointsRead}})
	for _, path := range []string{"/endpoints", "/endpoints/slack"} {
		if a := s.OK(200, "GET", path, nil); strings.Contains(a.Text, "hush") || !strings.Contains(a.Text, `"https://hooks.example.com"`) {
			t.Errorf("a viewer sees %s", a.Text)
		}
	}
	s.OK(200, "GET", "/webhooks", nil)
	for path, body := range map[string]any{
		"/endpoints": `{"kind":"mail","url":"https://example.com"}`, "/webhooks": `{"name":"crm","url":"https://example.com"}`,
		"/webhooks/crm/test": nil, "/endpoints/mail/rotate": nil,
	} {
		s.Refused(403, "forbidden", "POST", path, body)
	}
	s.As(access.Principal{Name: "writer", Scopes: []access.Scope{access.JobsRead, access.JobsWrite}})
	s.Refused(403, "forbidden", "GET", "/endpoints", nil)
}
