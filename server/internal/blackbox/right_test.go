package blackbox

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	"github.com/holdfastdev/holdfast/server/internal/api"
)

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
