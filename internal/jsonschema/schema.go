// Package jsonschema makes JSON Schemas (2020-12) of Go types: of the JSON that encoding/json
// writes for them. It imports nothing of Holdfast.
package jsonschema

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Dialect is what a schema says that it is.
const Dialect = "https://json-schema.org/draft/2020-12/schema"

// Schema is a schema, or a part of one. The zero value takes anything.
type Schema struct {
	Dialect     string             `json:"$schema,omitempty"`
	Ref         string             `json:"$ref,omitempty"`
	Type        any                `json:"type,omitempty"` // a name, or several
	Format      string             `json:"format,omitempty"`
	Encoding    string             `json:"contentEncoding,omitempty"` //nolint:tagliatelle // a keyword of JSON Schema
	Minimum     *int64             `json:"minimum,omitempty"`
	Properties  map[string]*Schema `json:"properties,omitempty"`
	Required    []string           `json:"required,omitempty"`
	Additional  *Schema            `json:"additionalProperties,omitempty"` //nolint:tagliatelle // a keyword of JSON Schema
	Items       *Schema            `json:"items,omitempty"`
	MinItems    *int               `json:"minItems,omitempty"` //nolint:tagliatelle // a keyword of JSON Schema
	MaxItems    *int               `json:"maxItems,omitempty"` //nolint:tagliatelle // a keyword of JSON Schema
	AnyOf       []*Schema          `json:"anyOf,omitempty"`    //nolint:tagliatelle // a keyword of JSON Schema
	Description string             `json:"description,omitempty"`
	Defs        map[string]*Schema `json:"$defs,omitempty"`
}

// Of returns the schema of a type. What marshals itself may be anything, as only its code knows.
func Of(t reflect.Type) *Schema {
	m := &maker{names: map[reflect.Type]string{}, defs: map[string]*Schema{}}
	s := m.schema(t)
	s.Dialect = Dialect
	if len(m.defs) > 0 {
		s.Defs = m.defs
	}
	return s
}

// maker makes one schema.
type maker struct {
	names map[reflect.Type]string // of structs, in defs
	defs  map[string]*Schema
}

var (
	timeType       = reflect.TypeFor[time.Time]()
	rawType        = reflect.TypeFor[json.RawMessage]()
	numberType     = reflect.TypeFor[json.Number]()
	marshalerType  = reflect.TypeFor[json.Marshaler]()
	textMarshalers = reflect.TypeFor[encoding.TextMarshaler]()
)

func (m *maker) schema(t reflect.Type) *Schema {
	switch {
	case t == timeType:
		return &Schema{Type: "string", Format: "date-time"}
	case t == rawType:
		return &Schema{}
	case t == numberType:
		return &Schema{Type: "number"}
	case t.Kind() == reflect.Pointer:
		return orNull(m.schema(t.Elem()))
	case t.Kind() == reflect.Interface:
		return &Schema{}
	case has(t, marshalerType):
		return &Schema{}
	case has(t, textMarshalers):
		return &Schema{Type: "string"}
	}
	return m.plain(t)
}

// plain is the schema of a type without methods of its own for JSON.
func (m *maker) plain(t reflect.Type) *Schema {
	switch t.Kind() {
	case reflect.Bool:
		return &Schema{Type: "boolean"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return &Schema{Type: "integer"}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return &Schema{Type: "integer", Minimum: new(int64)}
	case reflect.Float32, reflect.Float64:
		return &Schema{Type: "number"}
	case reflect.String:
		return &Schema{Type: "string"}
	case reflect.Slice:
		if e := t.Elem(); e.Kind() == reflect.Uint8 && !has(e, marshalerType) && !has(e, textMarshalers) {
			return &Schema{Type: []string{"string", "null"}, Encoding: "base64"}
		}
		return &Schema{Type: []string{"array", "null"}, Items: m.schema(t.Elem())}
	case reflect.Array:
		n := t.Len()
		return &Schema{Type: "array", Items: m.schema(t.Elem()), MinItems: &n, MaxItems: &n}
	case reflect.Map:
		return &Schema{Type: []string{"object", "null"}, Additional: m.schema(t.Elem())}
	case reflect.Struct:
		return m.reference(t)
	default:
		return &Schema{} // which JSON does not have: a func, a channel, a complex number
	}
}

// has reports whether encoding/json calls a method of the interface for values of the type, as it
// does for those in a struct that it can take the address of.
func has(t, method reflect.Type) bool {
	return t.Implements(method) || reflect.PointerTo(t).Implements(method)
}

// orNull lets a schema take null, too.
func orNull(s *Schema) *Schema {
	switch is := s.Type.(type) {
	case string:
		s.Type = []string{is, "null"}
	case []string:
		if !slices.Contains(is, "null") {
			s.Type = append(slices.Clip(is), "null")
		}
	default:
		if s.Ref != "" {
			return &Schema{AnyOf: []*Schema{s, {Type: "null"}}}
		}
	}
	return s
}

// reference is the schema of a struct. One that has a name stands in the definitions, so that one
// that contains itself comes to an end.
func (m *maker) reference(t reflect.Type) *Schema {
	if t.Name() == "" {
		return m.object(t)
	}
	name, known := m.names[t]
	if !known {
		name = m.free(t)
		m.names[t] = name
		m.defs[name] = &Schema{} // it is taken
		m.defs[name] = m.object(t)
	}
	return &Schema{Ref: "#/$defs/" + name}
}

// free is a name for a type that no other one has.
func (m *maker) free(t reflect.Type) string {
	plain := strings.Map(func(r rune) rune {
		if r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '_' // of the arguments of a generic type
	}, t.Name())
	name := plain
	for n := 2; m.defs[name] != nil; n++ {
		name = plain + "_" + strconv.Itoa(n)
	}
	return name
}
