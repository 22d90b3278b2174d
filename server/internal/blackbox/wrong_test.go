package blackbox

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// nothing is the id of no job.
const nothing = "0198c0de-7b1c-7d3a-9f00-0123456789ab"

// refused asks, and checks that it is refused with one of some codes, as a problem must be.
func (s *server) refused(what string, r *request, codes ...string) {
	s.Helper()
	a := s.do(r)
	s.checkProblem(fmt.Sprintf("%s: %s %s", what, r.method, cut(r.path)), &a, codes...)
}

func (s *server) checkProblem(what string, a *answer, codes ...string) {
	s.Helper()
	var problem struct {
		Type      string `json:"type"`
		Title     string `json:"title"`
		Detail    string `json:"detail"`
		Code      string `json:"code"`
		Status    int    `json:"status"`
		RequestID string `json:"request_id"`
	}
	if err := json.Unmarshal([]byte(a.text), &problem); err != nil {
		s.Errorf("%s: %d without a problem: %s", what, a.status, cut(a.text))
		return
	}
	switch {
	case !slices.Contains(codes, problem.Code):
		s.Errorf("%s: %d %s, not %v: %s", what, a.status, problem.Code, codes, cut(a.text))
	case problem.Status != a.status, problem.Title == "", problem.Detail == "", problem.Type == "",
		problem.RequestID == "", problem.RequestID != a.header.Get("X-Request-ID"),
		a.header.Get("Content-Type") != "application/problem+json", a.header.Get("X-Content-Type-Options") != "nosniff":
		s.Errorf("%s: the problem is not whole: %s %v", what, cut(a.text), a.header)
	}
}

func cut(text string) string {
	if len(text) > 300 {
		return text[:300] + "…"
	}
	return text
}

// ask is a request to an operation, of things that are not there, which is well-formed but for its
// body.
func (op *operation) ask(secret string) *request {
	r := &request{method: op.method, path: op.filled(nothing), secret: secret}
	if op.RequestBody != nil {
		r.body = "{}"
	}
	return r
}

// expires waits until a key has expired, by the clock of the database.
func (s *server) expires(secret string) {
	s.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) { //nolint:forbidigo // a process has no virtual time
		switch a := s.do(&request{method: http.MethodGet, path: "/jobs", secret: secret}); {
		case a.status == http.StatusUnauthorized:
			return
		case time.Now().After(deadline):
			s.Fatalf("a key that was to expire is good after a minute: GET /jobs is answered with %d", a.status)
		}
	}
}

// things makes one of what paths name, and returns them by the parameters of paths.
func (s *server) things(secret string) map[string]string {
	s.Helper()
	job := s.ok(post(secret, "/jobs", `{"kind":"mail","delay":"1h","key":"order-7"}`)).field("id")
	s.ok(post(secret, "/schedules", `{"name":"nightly","cron":"30 2 * * *","job":{"kind":"report"}}`))
	for path, body := range map[string]string{"limits/slack": `{"rate":"50/s"}`, "retention/classes/short": `{"completed":"1h"}`} {
		s.ok(&request{
			method: http.MethodPut, path: "/api/v1/" + path, secret: secret, body: body, header: map[string]string{"If-Match": "*"},
		})
	}
	return map[string]string{
		"/jobs/{id}": job, "{schedule}": "nightly", "{limit}": "slack", "{class}": "short", "{queue}": "default", "{kind}": "mail", "{key}": "order-7",
	}
}

// among is the operation's path among things, and whether there is such a thing.
func (op *operation) among(things map[string]string) (path string, is bool) {
	path = op.path
	for name, value := range things {
		before, _, _ := strings.Cut(name, "{")
		if to := strings.ReplaceAll(path, name, before+value); to != path {
			path, is = to, true
		}
	}
	return (&operation{path: path}).filled(nothing), is
}

// wantNamed checks that it is said which field is missing.
func (s *server) wantNamed(op *operation, secret, field string) {
	s.Helper()
	a := s.do(op.ask(secret))
	if !strings.Contains(a.text, field) {
		s.Errorf("%s without %s does not say so: %d %s", op.ID, field, a.status, cut(a.text))
	}
}
