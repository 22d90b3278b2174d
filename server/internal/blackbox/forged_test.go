package blackbox

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

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
