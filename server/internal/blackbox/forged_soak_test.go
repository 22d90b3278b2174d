//go:build soak

package blackbox

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/server/internal/api"
)

// changes are forms of a token that the server has not made.
func changes(token string) map[string]string {
	first, last := token[:len(token)/2], token[len(token)/2:]
	swapped := strings.Map(func(r rune) rune {
		switch r {
		case 'A':
			return 'B'
		default:
			return 'A'
		}
	}, token[len(token)-1:])
	return map[string]string{
		"its last letter changed": token[:len(token)-2] + swapped + token[len(token)-1:],
		"its first half":          first, "its second half": last, "twice": token + token, "a letter more": token + "A",
		"upper case": strings.ToUpper(token), "empty signature": token[:len(token)-22],
		"something else": base64.RawURLEncoding.EncodeToString([]byte(`{"job":"` + nothing + `","node":1}`)),
	}
}

// TestForged: tokens that the server has not made are those of nothing; and a lease that is over
// does nothing any more.
func TestForged(t *testing.T) {
	onBoth(t, func(s *server) {
		admin, _ := s.key("admin", "--role", "admin")
		worker, lease, job := s.leased(admin, "default")
		for what, token := range changes(lease) {
			for _, op := range []string{"complete", "fail", "progress", "release", "snooze", "cancel"} {
				s.refused("a lease, "+what, post(admin, "/runs/"+token+"/"+op, `{"error":"x","for":"1s"}`),
					"not_found", "invalid", "lease_lost")
			}
		}
		for what, token := range changes(worker) {
			s.refused("a worker, "+what, post(admin, "/workers/"+token+"/poll", `{"want":1,"seq":2}`), "not_found", "invalid", "worker_gone")
			s.refused("a worker, "+what, post(admin, "/workers/"+token+"/beat", `{}`), "not_found", "invalid", "worker_gone")
			s.refused("a worker, "+what, post(admin, "/workers/"+token+"/leave", `{}`), "not_found", "invalid", "worker_gone")
		}
		for _, token := range []string{"hfc_x", "hfc_" + strings.Repeat("A", 60), nothing, "%00", lease, worker} {
			for _, op := range []string{"", "/complete", "/fail", "/heartbeat"} {
				s.refused("a callback", post("", "/callbacks/"+token+op, `{"message":"x"}`), "not_found", "invalid", "malformed")
			}
		}
		s.ok(post(admin, "/runs/"+lease+"/complete", `{"result":1}`))
		s.refused("a lease that is over", post(admin, "/runs/"+lease+"/complete", `{"result":2}`), "lease_lost")
		s.ok(post(admin, "/runs/"+lease+"/complete", `{"result":1,"repeat":true}`)) // the answer was lost
		got := s.ok(&request{method: http.MethodGet, path: "/api/v1/jobs/" + job, secret: admin})
		if got.field("state") != "completed" {
			s.Errorf("the job is %s", got.text)
		}
		s.ok(post(admin, "/workers/"+worker+"/leave", `{}`))
		s.refused("a worker that has left", post(admin, "/workers/"+worker+"/poll", `{"want":1,"seq":2}`), "worker_gone")
	})
}

// TestForeign: what is in a namespace that a key does not have is not there for it. Before each
// example of the document is sent by a key that may, one of another namespace sends it, too, and is
// answered as if it had named something that there is not; and the example goes as it would have.
func TestForeign(t *testing.T) {
	onBoth(t, func(s *server) {
		admin, _ := s.key("admin", "--role", "admin")
		shop, _ := s.key("shop", "--role", "admin", "--in", "shop")
		steps, err := api.Examples()
		if err != nil {
			t.Fatal(err)
		}
		known := map[string]*operation{}
		_, all := s.document(admin)
		for _, op := range all {
			known[op.ID] = op
		}
		kept, tried := map[string]string{}, map[string]bool{}
		for i := range steps {
			step := &steps[i]
			op := known[step.Op]
			// Classes of retention are of the whole database, and each may see them.
			if !op.isPublic() && op.ID != "retention-get" && (op.hasPath() || strings.Contains(step.Body, `"$`)) {
				tried[op.ID] = true
				s.foreign(op, shop, step, kept)
			}
			a := s.do(op.example(admin, step, kept))
			if a.status != step.Status {
				t.Errorf("%s: after one of another namespace has sent it: %d, not %d: %s", step.Op, a.status, step.Status, cut(a.text))
			}
			s.keep(step, &a, kept)
		}
		for _, op := range all {
			if op.hasPath() && !op.isPublic() && !tried[op.ID] && !elsewhere[op.ID] && op.ID != "retention-get" {
				t.Errorf("%s was not tried", op.ID)
			}
		}
		for what, body := range map[string]string{
			"a parent": `{"kind":"mail","parent":"` + kept["job"] + `"}`, "an edge": `{"kind":"mail","after":[{"job":"` + kept["job"] + `"}]}`,
		} {
			if a := s.do(post(shop, "/jobs", body)); kept["job"] == "" || a.status < 400 || a.status > 499 {
				s.Errorf("%s of another namespace: %d %s", what, a.status, cut(a.text))
			}
		}
		s.refused("another namespace", post(shop, "/jobs?namespace=default", `{"kind":"mail"}`), "not_found")
		s.refused("another namespace", &request{method: http.MethodGet, path: "/api/v1/jobs?namespace=default", secret: shop}, "not_found")
	})
}
