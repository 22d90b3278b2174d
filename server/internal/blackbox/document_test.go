package blackbox

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// operation is one of the document.
type operation struct {
	ID         string `json:"operationId"` //nolint:tagliatelle // the name is not ours
	method     string
	path       string           // with its parameters in braces
	Scope      string           `json:"x-scope"` //nolint:tagliatelle // the name is not ours
	Security   []map[string]any `json:"security"`
	Parameters []struct {
		Name   string `json:"name"`
		In     string `json:"in"`
		Schema schema `json:"schema"`
	} `json:"parameters"`
	RequestBody *struct {
		Content map[string]struct {
			Schema schema `json:"schema"`
		} `json:"content"`
	} `json:"requestBody"` //nolint:tagliatelle // the name is not ours
}

// schema is what a value must be like.
type schema struct {
	Ref        string            `json:"$ref"`
	Type       any               `json:"type"`
	Format     string            `json:"format"`
	Enum       []any             `json:"enum"`
	Properties map[string]schema `json:"properties"`
	Required   []string          `json:"required"`
}

// document is what the server says of itself.
type document struct {
	Paths      map[string]map[string]*operation `json:"paths"`
	Components struct {
		Schemas map[string]schema `json:"schemas"`
	} `json:"components"`
}

// document asks the server for its operations, in the order of their ids.
func (s *server) document(secret string) (doc document, all []*operation) {
	s.Helper()
	a := s.do(&request{method: http.MethodGet, path: "/openapi.json", secret: secret})
	if err := json.Unmarshal([]byte(a.text), &doc); err != nil {
		s.Fatalf("the document is answered with %d: %v", a.status, err)
	}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			op.method, op.path = strings.ToUpper(method), path
			all = append(all, op)
		}
	}
	if len(all) < 100 {
		s.Fatalf("the document has %d operations", len(all))
	}
	slices.SortFunc(all, func(a, b *operation) int { return strings.Compare(a.ID, b.ID) })
	return doc, all
}

// isPublic reports whether an operation needs no credential.
func (op *operation) isPublic() bool { return op.Security != nil }

// filled is the path with the same value for each parameter.
func (op *operation) filled(value string) string {
	var b strings.Builder
	rest := op.path
	for {
		before, name, found := strings.Cut(rest, "{")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteString(value)
		_, rest, _ = strings.Cut(name, "}")
	}
}

// hasPath reports whether the path has parameters.
func (op *operation) hasPath() bool { return strings.Contains(op.path, "{") }

// body is what the body must be like; nil: the operation has none.
func (op *operation) body(doc *document) *schema {
	if op.RequestBody == nil {
		return nil
	}
	is := op.RequestBody.Content["application/json"].Schema
	return is.resolved(doc)
}

func (is *schema) resolved(doc *document) *schema {
	for is.Ref != "" {
		to := doc.Components.Schemas[strings.TrimPrefix(is.Ref, "#/components/schemas/")]
		is = &to
	}
	return is
}

// types are those that a value may have; none: any.
func (is *schema) types() (names []string) {
	switch t := is.Type.(type) {
	case string:
		return []string{t}
	case []any:
		for _, one := range t {
			if name, ok := one.(string); ok {
				names = append(names, name)
			}
		}
	}
	return names
}
