package blackbox

import (
	"encoding/json"
	"fmt"
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
	Responses map[string]struct {
		Content map[string]struct {
			Schema schema `json:"schema"`
		} `json:"content"`
	} `json:"responses"`
}

// schema is what a value must be like.
type schema struct {
	Ref        string            `json:"$ref"`
	Type       any               `json:"type"`
	Format     string            `json:"format"`
	Enum       []any             `json:"enum"`
	Properties map[string]schema `json:"properties"`
	Items      *schema           `json:"items"`
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

// unfit is where a value is not as the schema has it: of another type, or an object without what it
// must have, or with what it has not; "": it fits.
func (is *schema) unfit(doc *document, at string, value any) string {
	is = is.resolved(doc)
	if types := is.types(); len(types) > 0 && !slices.ContainsFunc(types, func(t string) bool { return isOf(t, value) }) {
		return fmt.Sprintf("%s is %v, and not of %v", at, value, types)
	}
	switch value := value.(type) {
	case map[string]any:
		for _, name := range is.Required {
			if _, has := value[name]; !has {
				return at + "/" + name + " is missing"
			}
		}
		for name, one := range value {
			of, has := is.Properties[name]
			if !has && len(is.Properties) > 0 {
				return at + "/" + name + " is not in the document"
			}
			if wrong := of.unfit(doc, at+"/"+name, one); has && wrong != "" {
				return wrong
			}
		}
	case []any:
		for i, one := range value {
			if is.Items == nil {
				break
			}
			if wrong := is.Items.unfit(doc, fmt.Sprintf("%s/%d", at, i), one); wrong != "" {
				return wrong
			}
		}
	}
	return ""
}

// isOf reports whether a value is of a type of JSON schemas.
func isOf(name string, value any) bool {
	switch value.(type) {
	case nil:
		return name == "null"
	case string:
		return name == "string"
	case bool:
		return name == "boolean"
	case float64:
		return name == "number" || name == "integer"
	case []any:
		return name == "array"
	default:
		return name == "object"
	}
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
