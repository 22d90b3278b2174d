package mcp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/holdfastdev/holdfast/server"
	"github.com/holdfastdev/holdfast/server/access"
)

// document is what is read of the OpenAPI document.
type document struct {
	Paths      map[string]map[string]json.RawMessage `json:"paths"`
	Components struct {
		Schemas map[string]json.RawMessage `json:"schemas"`
	} `json:"components"`
}

// operation is one of the API.
type operation struct {
	ID          string       `json:"operationId"` //nolint:tagliatelle // the name is not ours
	Summary     string       `json:"summary"`
	Description string       `json:"description"`
	Scope       access.Scope `json:"x-scope"` //nolint:tagliatelle // the name is not ours
	Parameters  []parameter  `json:"parameters"`
	Body        *struct {
		Required bool    `json:"required"`
		Content  content `json:"content"`
	} `json:"requestBody"` //nolint:tagliatelle // the name is not ours
	Responses map[string]struct {
		Content content `json:"content"`
	} `json:"responses"`

	method, path string
}

// parameter is one of an operation, beside its body.
type parameter struct {
	Name        string          `json:"name"`
	In          string          `json:"in"` // path, query or header
	Description string          `json:"description"`
	Required    bool            `json:"required"`
	Explode     bool            `json:"explode"` // a list is given by repeating the name
	Schema      json.RawMessage `json:"schema"`
}

// content are schemas by their media types.
type content map[string]struct {
	Schema json.RawMessage `json:"schema"`
}

const mediaJSON = "application/json"

// reads reports whether the operation changes nothing, as those that need a scope to read alone,
// whatever their method, such as the preview of a schedule.
func (o *operation) reads() bool {
	return o.method == http.MethodGet || strings.HasSuffix(string(o.Scope), ":read")
}

// answersJSON reports whether it answers with one JSON value or with nothing: others are streams.
func (o *operation) answersJSON() bool {
	for status, response := range o.Responses {
		if !strings.HasPrefix(status, "2") {
			continue
		}
		for media := range response.Content {
			if media != mediaJSON {
				return false
			}
		}
	}
	return true
}

// withheld are the scopes whose operations are no tools. Who makes endpoints and webhooks has jobs
// and events sent to any address.
var withheld = []access.Scope{access.Workers, access.KeysAdmin, access.NamespacesAdmin, access.EndpointsAdmin, access.Store}

// operations are those that may be tools, by name, and the schemas that they refer to.
func operations(writes bool) (found []*operation, schemas map[string]json.RawMessage, err error) {
	text, err := server.Document()
	if err != nil {
		return nil, nil, err
	}
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, nil, err
	}
	for path, methods := range d.Paths {
		for method, text := range methods {
			o := &operation{method: strings.ToUpper(method), path: path}
			if err := json.Unmarshal(text, o); err != nil {
				return nil, nil, fmt.Errorf("%s %s: %w", method, path, err)
			}
			if (writes || o.reads()) && o.answersJSON() && !slices.Contains(withheld, o.Scope) {
				found = append(found, o)
			}
		}
	}
	slices.SortFunc(found, func(a, b *operation) int { return cmp.Compare(a.ID, b.ID) })
	return found, d.Components.Schemas, nil
}
