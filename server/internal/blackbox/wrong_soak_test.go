//go:build soak

package blackbox

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// TestWhoAsks: each operation wants a credential that permits it, and comes from nowhere else.
func TestWhoAsks(t *testing.T) {
	onBoth(t, func(s *server) {
		admin, _ := s.key("admin", "--role", "admin")
		few, _ := s.key("few", "--scope", "stats:read")
		others, _ := s.key("others", "--scope", "jobs:read")
		short, _ := s.key("short", "--role", "admin", "--expires", "10s")
		revoked, id := s.key("revoked", "--role", "admin")
		s.command("key", "revoke", id)
		_, all := s.document(admin)
		s.expires(short)
		for _, op := range all {
			for what, secret := range map[string]string{
				"no key": "", "a forged key": admin[:len(admin)-4] + "AAAA", "an expired key": short, "a revoked key": revoked, "half a key": admin[:9],
			} {
				if !op.isPublic() {
					s.refused(what, op.ask(secret), "unauthenticated")
				}
			}
			with := few
			if op.Scope == "stats:read" {
				with = others
			}
			if op.Scope != "" {
				s.refused("another scope", op.ask(with), "forbidden")
			}
			r := op.ask(admin)
			r.host = "evil.example"
			s.refused("another host", r, "wrong_host")
			if op.method == http.MethodGet {
				continue
			}
			for _, kind := range []string{"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"} {
				r := op.ask(admin)
				r.header = map[string]string{"Content-Type": kind}
				s.refused("Content-Type "+kind, r, "unsupported_media_type")
			}
			r = op.ask(admin)
			r.header = map[string]string{"Origin": "https://evil.example"}
			s.refused("another site", r, "cross_origin")
			r.header = map[string]string{"Sec-Fetch-Site": "cross-site"}
			s.refused("another site", r, "cross_origin")
		}
	})
}

// TestMethods: a path has the methods of the document, and no other ones.
func TestMethods(t *testing.T) {
	onBoth(t, func(s *server) {
		admin, _ := s.key("admin", "--role", "admin")
		doc, _ := s.document(admin)
		for path, has := range doc.Paths {
			for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND"} {
				if has[strings.ToLower(method)] != nil {
					continue
				}
				op := &operation{path: path}
				a := s.do(&request{method: method, path: op.filled(nothing), secret: admin})
				// A fixed path may be an id of another one, such as GET /jobs/batch.
				s.checkProblem(method+" "+path, &a, "method_not_allowed", "not_found", "invalid", "malformed")
				if allow := a.header.Get("Allow"); a.status == http.StatusMethodNotAllowed && !allows(allow, has) {
					s.Errorf("%s %s: Allow is %q", method, path, allow)
				}
			}
		}
	})
}

func allows(header string, has map[string]*operation) bool {
	for method := range has {
		if !strings.Contains(header, strings.ToUpper(method)) {
			return false
		}
	}
	return true
}

// TestBodies: no operation takes a body that is not what it says.
func TestBodies(t *testing.T) {
	onBoth(t, func(s *server) {
		admin, _ := s.key("admin", "--role", "admin")
		doc, all := s.document(admin)
		things := s.things(admin)
		for _, op := range all {
			body := op.body(&doc)
			if body == nil {
				continue
			}
			try := func(what, text string, codes ...string) {
				s.Helper()
				r := op.ask(admin)
				r.body, r.header = text, map[string]string{"If-Match": "*"}
				path, is := op.among(things)
				if r.path = path; !is {
					codes = append(codes, "not_found", "worker_gone") // what it is about is looked for first
				}
				if op.ID == "job-fork" || op.ID == "endpoint-update" {
					codes = append(codes, "not_found") // there is no such step, and no endpoint of the kind
				}
				s.refused(what, r, codes...)
			}
			try("half an object", `{"a":`, "malformed")
			try("no JSON", `hello`, "malformed")
			try("more than an object", `{} {}`, "malformed")
			try("no UTF-8", "{\"\xff\":1}", "malformed", "invalid")
			try("a list", `[]`, "invalid", "malformed")
			try("a text", `"x"`, "invalid", "malformed")
			try("an unknown field", `{"no_such_field":1}`, "invalid")
			try("much nested", `{"args":`+strings.Repeat("[", 200_000), "malformed", "invalid", "too_large")
			try("much too large", `{"x":"`+strings.Repeat("x", 70<<20)+`"}`, "too_large")
			for name, is := range body.Properties {
				try("the field "+name+" in another case", fmt.Sprintf("{%q:null}", strings.ToUpper(name)), "invalid")
				for what, value := range wrongValues(is.resolved(&doc)) {
					if what == withNUL && slices.Contains(forPeople, name) {
						continue
					}
					try("the field "+name+" "+what, fmt.Sprintf("{%q:%s}", name, value), "invalid", "malformed")
				}
			}
			for _, name := range body.Required {
				s.wantNamed(op, admin, name)
			}
		}
	})
}

// forPeople are texts of which the server keeps what it can: a NUL in an error must not keep a run
// from failing.
var forPeople = []string{"reason", "note", "error", "message", "stack"}

const withNUL = "with NUL"

// wrongValues are values that a field cannot have.
func wrongValues(is *schema) map[string]string {
	types := is.types()
	if len(types) == 0 {
		return nil // any
	}
	wrong := map[string]string{}
	for name, value := range map[string]string{
		"string": `"\u0000"`, "integer": `1.5`, "boolean": `true`, "array": `[]`, "object": `{"no_such_field":{}}`,
	} {
		if !slices.Contains(types, name) && (name != "integer" || !slices.Contains(types, "number")) {
			wrong["as "+name] = value
		}
	}
	if slices.Contains(types, "string") {
		wrong[withNUL] = `"a\u0000b"`
		wrong["without UTF-8"] = "\"\xff\xfe\""
	}
	if slices.Contains(types, "integer") {
		wrong["too large"] = `99999999999999999999999`
		wrong["no integer"] = `1.5`
	}
	return wrong
}

// TestParameters: no operation takes parameters that it does not know, or that cannot be.
func TestParameters(t *testing.T) {
	onBoth(t, func(s *server) {
		admin, _ := s.key("admin", "--role", "admin")
		_, all := s.document(admin)
		for _, op := range all {
			try := func(what, query string, codes ...string) {
				s.Helper()
				r := op.ask(admin)
				r.path += "?" + query
				s.refused(what, r, codes...)
			}
			try("an unknown parameter", "no_such=1", "invalid")
			try("a namespace that cannot be", "namespace=a%00b", "invalid", "not_found", "malformed")
			try("a query that is none", "%zz=1", "malformed", "invalid")
			for _, p := range op.Parameters {
				if p.In != "query" {
					continue
				}
				wrong := []string{"%00", "%ff%fe"}
				switch types := p.Schema.types(); {
				case slices.Contains(types, "integer"), slices.Contains(types, "number"):
					wrong = append(wrong, "x", "-1", "99999999999999999999999")
				case slices.Contains(types, "boolean"):
					wrong = append(wrong, "perhaps")
				case len(p.Schema.Enum) > 0:
					wrong = append(wrong, "no_such_value")
				case p.Name == "cursor":
					wrong = append(wrong, "x", "AAAAAAAA", url.QueryEscape(strings.Repeat("A", 5000)))
				case p.Name == "wait" || strings.Contains(p.Schema.Format, "duration"):
					wrong = append(wrong, "x", "-1s", "1e300h")
				}
				for _, value := range wrong {
					try("the parameter "+p.Name, p.Name+"="+value, "invalid", "malformed", "not_found")
				}
			}
		}
	})
}

// TestPaths: nothing comes of paths that name what cannot be.
func TestPaths(t *testing.T) {
	onBoth(t, func(s *server) {
		admin, _ := s.key("admin", "--role", "admin")
		_, all := s.document(admin)
		for _, op := range all {
			if !op.hasPath() {
				continue
			}
			for _, value := range []string{"%00", "a%00b", "%ff%fe", "..%2f%c0%ae", strings.Repeat("a", 5000)} {
				r := op.ask(admin)
				r.path = op.filled(value)
				s.refused("the path "+cut(value), r, "invalid", "malformed", "not_found", "precondition_required", "worker_gone", "lease_lost")
			}
			// These may be names, which mean nothing to the server.
			for _, value := range []string{
				"..%2f..%2fetc%2fpasswd", "%2e%2e", "..%5c..", "'%20or%201=1--", "%20", "*", "{id}", "-1", "99999999999999999999", "%25s",
			} {
				r := op.ask(admin)
				r.path = op.filled(value)
				if a := s.do(r); a.status >= 400 {
					s.checkProblem("the path "+value+" of "+op.ID, &a, "invalid", "malformed", "not_found", "conflict", "precondition_required",
						"worker_gone", "lease_lost")
				}
			}
		}
		for _, path := range []string{
			"/api/v1/../../etc/passwd", "/api/v2/jobs", "/api/v1/jobs/", "/API/V1/jobs", "/api/v1/%6a%6fbs/x/y/z", "/.git/config", "/%2e%2e/",
			"//api/v1/jobs", "/api/v1/../v1/jobs", "/api/v1/./jobs", "/api//v1/callbacks/hfc_a/complete",
		} {
			s.refused("no path", &request{method: http.MethodGet, path: path, secret: admin}, "not_found")
		}
	})
}
