package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

var errNoSchemas = errors.New("the document has no schemas")

// schema is what of a JSON schema the types are made of.
type schema struct {
	Ref        string             `json:"$ref"`
	Type       any                `json:"type"` // a name, or several
	Enum       []any              `json:"enum"`
	Items      *schema            `json:"items"`
	Properties map[string]*schema `json:"properties"`
	Required   []string           `json:"required"`
	Additional json.RawMessage    `json:"additionalProperties"` //nolint:tagliatelle // as OpenAPI has it
	OneOf      []*schema          `json:"oneOf"`                //nolint:tagliatelle // as OpenAPI has it
	AnyOf      []*schema          `json:"anyOf"`                //nolint:tagliatelle // as OpenAPI has it
}

// typesOf returns the TypeScript of the schemas of an OpenAPI document.
func typesOf(document []byte) ([]byte, error) {
	var d struct {
		Components struct {
			Schemas map[string]*schema `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(document, &d); err != nil {
		return nil, err
	}
	if len(d.Components.Schemas) == 0 {
		return nil, errNoSchemas
	}
	var b bytes.Buffer
	b.WriteString("// Made by web/build of server/openapi.json; do not edit.\n")
	for _, name := range slices.Sorted(maps.Keys(d.Components.Schemas)) {
		s := d.Components.Schemas[name]
		fmt.Fprintf(&b, "\nexport interface %s {\n", name)
		for _, field := range slices.Sorted(maps.Keys(s.Properties)) {
			mark := "?"
			if slices.Contains(s.Required, field) {
				mark = ""
			}
			fmt.Fprintf(&b, "  %s%s: %s;\n", field, mark, s.Properties[field].typescript())
		}
		b.WriteString("}\n")
	}
	return b.Bytes(), nil
}

// typescript is the type of what a schema describes.
func (s *schema) typescript() string {
	if s == nil {
		return "unknown"
	}
	if s.Ref != "" {
		return s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]
	}
	if len(s.Enum) > 0 {
		var all []string
		for _, value := range s.Enum {
			all = append(all, fmt.Sprintf("%q", value))
		}
		return strings.Join(all, " | ")
	}
	var all []string
	for _, one := range slices.Concat(s.OneOf, s.AnyOf) {
		all = append(all, one.typescript())
	}
	switch t := s.Type.(type) {
	case string:
		all = append(all, s.named(t))
	case []any:
		for _, one := range t {
			name, _ := one.(string)
			all = append(all, s.named(name))
		}
	}
	if len(all) == 0 {
		return "unknown"
	}
	return strings.Join(all, " | ")
}

// named is the type that a schema calls so.
func (s *schema) named(name string) string {
	switch name {
	case "integer", "number":
		return "number"
	case "string", "boolean", "null":
		return name
	case "array":
		one := s.Items.typescript()
		if strings.Contains(one, " ") {
			one = "(" + one + ")"
		}
		return one + "[]"
	case "object":
		var of schema
		if json.Unmarshal(s.Additional, &of) == nil && (of.Type != nil || of.Ref != "") {
			return "Record<string, " + of.typescript() + ">"
		}
		return "Record<string, unknown>"
	}
	return "unknown"
}
