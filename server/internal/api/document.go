package api

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/holdfastdev/holdfast/server/internal/problem"
)

// refs is where the document has its schemas.
const refs = "#/components/schemas/"

// Document is the OpenAPI document, as JSON.
func (a *API) Document() ([]byte, error) {
	doc := *a.huma.OpenAPI()
	components := *doc.Components
	doc.Components = &components
	registry := components.Schemas
	requests := a.requests()
	schemas := map[string]any{}
	for name, schema := range registry.Map() {
		if name == "ErrorModel" || name == "ErrorDetail" {
			continue // what huma answers with is a Problem here
		}
		data, err := json.Marshal(schema)
		if err != nil {
			return nil, err
		}
		var as map[string]any
		if err := json.Unmarshal(data, &as); err != nil {
			return nil, err
		}
		if !requests[name] {
			ofAnswer(as, registry.TypeFromRef(refs+name))
		}
		schemas[name] = as
	}
	return encode(&doc, schemas)
}

// encode writes the document with other schemas.
func encode(doc *huma.OpenAPI, schemas map[string]any) ([]byte, error) {
	data, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	var as map[string]any
	if err := json.Unmarshal(data, &as); err != nil {
		return nil, err
	}
	components, _ := as["components"].(map[string]any)
	components["schemas"] = schemas
	if err := addExamples(as); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err = e.Encode(as)
	return b.Bytes(), err
}

// requests are the names of the schemas that bodies of requests are made of.
func (a *API) requests() map[string]bool {
	doc, all := a.huma.OpenAPI(), map[string]bool{}
	for _, path := range doc.Paths {
		for _, op := range []*huma.Operation{path.Get, path.Post, path.Put, path.Patch, path.Delete} {
			if op == nil || op.RequestBody == nil {
				continue
			}
			for _, content := range op.RequestBody.Content {
				collect(doc.Components.Schemas, content.Schema, all)
			}
		}
	}
	return all
}

// collect adds the names of the schemas that a schema refers to.
func collect(registry huma.Registry, s *huma.Schema, all map[string]bool) {
	if s == nil {
		return
	}
	if name, ok := strings.CutPrefix(s.Ref, refs); ok {
		if all[name] {
			return
		}
		all[name] = true
		s = registry.SchemaFromRef(s.Ref)
	}
	collect(registry, s.Items, all)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		collect(registry, s.Properties[name], all)
	}
}

// ofAnswer lets what is answered have more fields than today, and says which objects may be null.
func ofAnswer(schema map[string]any, of reflect.Type) {
	delete(schema, "additionalProperties")
	properties, _ := schema["properties"].(map[string]any)
	for of != nil && of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if of == nil || of.Kind() != reflect.Struct {
		return
	}
	for _, f := range reflect.VisibleFields(of) {
		name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		ref, is := properties[name].(map[string]any)
		if !is || f.Type.Kind() != reflect.Pointer || ref["$ref"] == nil || strings.Contains(rest, "omit") {
			continue
		}
		properties[name] = map[string]any{"anyOf": []any{ref, map[string]any{"type": "null"}}}
	}
}

// description is the text at the beginning of the document.
func description() string {
	var b strings.Builder
	b.WriteString(`Durable jobs, queues and schedules.

Every answer is JSON. 64-bit integers are strings; times are RFC 3339 in UTC with microseconds; durations are as Go writes them ("1m30s").
Fields that have no value are null. New fields may be added at any time: ignore those that you do not know.

Lists come in pages: next_cursor is the cursor of the next one, and null at the end. A cursor belongs to its filter and order.

What fails is application/problem+json with one of these codes:

`)
	for _, c := range problem.Codes() {
		b.WriteString("- `" + string(c) + "` (" + http.StatusText(c.Status()) + "): " + c.Title() + "\n")
	}
	return b.String()
}
