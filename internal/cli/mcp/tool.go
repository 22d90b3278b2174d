package mcp

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// bodyArgument is the argument that has the body of the request.
const bodyArgument = "body"

// schema is that of the arguments of a tool.
type schema struct {
	Type       string                     `json:"type"`
	Properties map[string]json.RawMessage `json:"properties"`
	Required   []string                   `json:"required,omitempty"`
	Closed     bool                       `json:"additionalProperties"` //nolint:tagliatelle // the name is not ours
	Defs       map[string]json.RawMessage `json:"$defs,omitempty"`
}

// tool is the tool of an operation.
func (o *operation) tool(schemas map[string]json.RawMessage) *mcp.Tool {
	s := schema{Type: "object", Properties: map[string]json.RawMessage{}}
	for _, p := range o.Parameters {
		s.Properties[p.Name] = p.described()
		if p.Required {
			s.Required = append(s.Required, p.Name)
		}
	}
	if o.Body != nil {
		s.Properties[bodyArgument] = o.Body.Content[mediaJSON].Schema
		if o.Body.Required {
			s.Required = append(s.Required, bodyArgument)
		}
	}
	s.local(schemas)
	destroys, world := o.destroys(), false
	return &mcp.Tool{
		Name: o.ID, Title: o.Summary, Description: strings.TrimSpace(o.Summary + ".\n\n" + o.Description), InputSchema: s,
		Annotations: &mcp.ToolAnnotations{
			ReadOnlyHint: o.reads(), DestructiveHint: &destroys, OpenWorldHint: &world,
			IdempotentHint: o.reads() || o.method == http.MethodPut || o.method == http.MethodDelete,
		},
	}
}

// described is the schema of a parameter. Its description may be beside it.
func (p *parameter) described() json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(p.Schema, &fields) != nil || fields["description"] != nil || p.Description == "" {
		return p.Schema
	}
	fields["description"], _ = json.Marshal(p.Description) //nolint:errchkjson // a text
	with, err := json.Marshal(fields)
	if err != nil {
		return p.Schema
	}
	return with
}

// takesAway ends the names of operations that take away what was there, beside those that delete
// and replace.
var takesAway = []string{"-cancel", "-drain", "-fail", "-move", "-off", "-purge", "-reset", "-skip", "-start", "-terminate"}

// destroys reports whether the operation may take away or replace what was there.
func (o *operation) destroys() bool {
	switch o.method {
	case http.MethodGet:
		return false
	case http.MethodPost:
		return slices.ContainsFunc(takesAway, func(end string) bool { return strings.HasSuffix(o.ID, end) })
	}
	return true
}

// reference is one to a schema of the document.
var reference = regexp.MustCompile(`"#/components/schemas/([^"]+)"`)

// local takes in the schemas that are referred to, and those that these refer to.
func (s *schema) local(schemas map[string]json.RawMessage) {
	var take func(text json.RawMessage) json.RawMessage
	take = func(text json.RawMessage) json.RawMessage {
		for _, found := range reference.FindAllSubmatch(text, -1) {
			name := string(found[1])
			if s.Defs[name] != nil {
				continue
			}
			if s.Defs == nil {
				s.Defs = map[string]json.RawMessage{}
			}
			s.Defs[name] = json.RawMessage(`{}`) // it may refer to itself
			s.Defs[name] = take(schemas[name])
		}
		return reference.ReplaceAll(text, []byte(`"#/$$defs/$1"`))
	}
	for name, text := range s.Properties {
		s.Properties[name] = take(text)
	}
}
