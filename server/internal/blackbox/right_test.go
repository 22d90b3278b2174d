package blackbox

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/server/internal/api"
)

// TestRight: the examples of the document are answered as they say, one after the other, and each
// operation that has no test of its own is among them.
func TestRight(t *testing.T) {
	onBoth(t, func(s *server) {
		admin, id := s.key("admin", "--role", "admin")
		recorded := newRecorder(s, admin, "key "+id+" (admin)")
		doc, all := s.document(admin)
		known := map[string]*operation{}
		for _, op := range all {
			known[op.ID] = op
		}
		steps, err := api.Examples()
		if err != nil {
			t.Fatal(err)
		}
		kept, told := map[string]string{}, map[string]bool{}
		for i := range steps {
			step := &steps[i]
			op := known[step.Op]
			if op == nil {
				t.Fatalf("there is no operation %s", step.Op)
			}
			told[step.Op] = true
			a := s.do(op.example(admin, step, kept))
			if a.status != step.Status {
				t.Errorf("%s: %d, not %d: %s", step.Op, a.status, step.Status, cut(a.text))
			}
			if a.status >= 400 {
				s.checkProblem(step.Op, &a, a.field("code"))
			} else {
				s.documented(&doc, op, &a)
			}
			s.keep(step, &a, kept)
			recorded.look(op, a.status)
		}
		recorded.end()
		for id := range known {
			if !told[id] && !elsewhere[id] {
				t.Errorf("examples.txt has no %s", id)
			}
		}
	})
}

// documented checks that the document has the status of an answer, and its body as it is.
func (s *server) documented(doc *document, op *operation, a *answer) {
	s.Helper()
	of, has := op.Responses[strconv.Itoa(a.status)]
	if !has {
		s.Errorf("%s: the document has no answer %d, which its readers take for a problem then", op.ID, a.status)
	}
	body, has := of.Content["application/json"]
	var value any
	if !has || json.Unmarshal([]byte(a.text), &value) != nil {
		return // it is a stream, or nothing
	}
	if wrong := body.Schema.unfit(doc, "", value); wrong != "" {
		s.Errorf("%s: by the document, %s: %s", op.ID, wrong, cut(a.text))
	}
}

// elsewhere are operations whose answers do not end, or that need a token of a function in Go, so
// that other tests send them.
var elsewhere = map[string]bool{
	"event-follow": true, "job-watch": true, "callback-complete": true, "callback-fail": true, "callback-heartbeat": true,
}

// example is the request of a step.
func (op *operation) example(secret string, step *api.Example, kept map[string]string) *request {
	r := &request{method: op.method, path: op.path, secret: secret, header: map[string]string{}}
	query := url.Values{}
	for name, value := range step.Params {
		if key, is := strings.CutPrefix(value, "$"); is {
			value = kept[key]
		}
		switch {
		case strings.Contains(r.path, "{"+name+"}"):
			r.path = strings.ReplaceAll(r.path, "{"+name+"}", url.PathEscape(value))
		case name == "If-Match":
			r.header[name] = value
		default:
			query.Set(name, value)
		}
	}
	if len(query) > 0 {
		r.path += "?" + query.Encode()
	}
	r.body = step.Body
	for name, value := range kept {
		r.body = strings.ReplaceAll(r.body, `"$`+name+`"`, strconv.Quote(value))
	}
	return r
}

// keep keeps what later steps need.
func (s *server) keep(step *api.Example, a *answer, kept map[string]string) {
	s.Helper()
	var all any
	if len(step.Keep) > 0 {
		if err := json.Unmarshal([]byte(a.text), &all); err != nil {
			s.Fatalf("%s: %v: %s", step.Op, err, cut(a.text))
		}
	}
	for name, path := range step.Keep {
		at := all
		for part := range strings.SplitSeq(path, ".") {
			switch value := at.(type) {
			case map[string]any:
				at = value[part]
			case []any:
				i, err := strconv.Atoi(part)
				if err != nil || i >= len(value) {
					s.Fatalf("%s: the answer has no %s: %s", step.Op, path, cut(a.text))
				}
				at = value[i]
			}
		}
		text, is := at.(string)
		if !is {
			s.Fatalf("%s: the answer has no %s: %s", step.Op, path, cut(a.text))
		}
		kept[name] = text
	}
}
