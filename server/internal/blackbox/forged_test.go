package blackbox

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/server/internal/api"
)

// field is a field of an answer that is an object.
func (a answer) field(name string) string {
	var all map[string]any
	_ = json.Unmarshal([]byte(a.text), &all) // it need not be an object
	text, _ := all[name].(string)
	return text
}

// ok asks for something that must succeed.
func (s *server) ok(r *request) answer {
	s.Helper()
	a := s.do(r)
	if a.status < 200 || a.status > 299 {
		s.Fatalf("%s %s: %d %s", r.method, cut(r.path), a.status, cut(a.text))
	}
	return a
}

func post(secret, path, body string) *request {
	return &request{method: http.MethodPost, path: "/api/v1" + path, secret: secret, body: body}
}

// leased enqueues a job, and has a worker claim it.
func (s *server) leased(secret, namespace string) (worker, lease, job string) {
	s.Helper()
	in := "?namespace=" + namespace
	enqueued := s.ok(post(secret, "/jobs"+in, `{"kind":"mail"}`))
	registered := s.ok(post(secret, "/workers", `{"name":"w","kinds":["mail"],"slots":1,"namespace":"`+namespace+`"}`))
	worker = registered.field("worker")
	polled := s.ok(post(secret, "/workers/"+worker+"/poll?wait=10s", `{"want":1,"seq":1}`))
	var jobs struct {
		Jobs []struct {
			Lease string `json:"lease"`
		} `json:"jobs"`
	}
	if err := json.Unmarshal([]byte(polled.text), &jobs); err != nil || len(jobs.Jobs) != 1 {
		s.Fatalf("the poll is answered %s: %v", polled.text, err)
	}
	return worker, jobs.Jobs[0].Lease, enqueued.field("id")
}

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

// foreign sends an example by a key of another namespace, and the same about what there is not: the
// answers are the same.
func (s *server) foreign(op *operation, secret string, step *api.Example, kept map[string]string) {
	s.Helper()
	of, not := map[string]string{}, *step
	for name, value := range kept {
		of[name] = absent(value)
	}
	not.Params = map[string]string{}
	for name, value := range step.Params {
		if not.Params[name] = value; strings.Contains(op.path, "{"+name+"}") && !strings.HasPrefix(value, "$") {
			not.Params[name] = absent(value)
		}
	}
	a, b := s.do(op.example(secret, step, kept)), s.do(op.example(secret, &not, of))
	if a.status != b.status || a.field("code") != b.field("code") {
		s.Errorf("%s: a foreign one is answered %d %s, and one that is not there %d %s", op.ID, a.status, cut(a.text), b.status, cut(b.text))
	}
}

// absent is a value like another one, of what is not there.
func absent(value string) string {
	_, err := strconv.ParseUint(value, 16, 64)
	switch {
	case err == nil && len(value) == 16: // the fingerprint of an error
		return strings.Repeat("f", 16)
	case err == nil:
		return "9" + value
	case strings.Contains(value, "_") || len(value) > 40: // a token
		return value[:len(value)-3] + "AAA"
	case len(value) == len(nothing):
		return nothing
	default:
		return "absent-" + value
	}
}
