package jsonschema

import (
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// field is one of a struct, as encoding/json sees it.
type field struct {
	name     string
	of       reflect.StructField
	depth    int
	tagged   bool
	optional bool // omitempty or omitzero, or of an embedded pointer, which may be nil
	quoted   bool // a string with the number in it
}

func (m *maker) object(t reflect.Type) *Schema {
	s := &Schema{Type: "object", Properties: map[string]*Schema{}}
	for _, f := range dominant(fieldsOf(t, 0, false, map[reflect.Type]bool{})) {
		p := m.schema(f.of.Type)
		if f.quoted {
			p = &Schema{Type: "string"}
		}
		if text := f.of.Tag.Get("description"); text != "" {
			if p.Ref != "" {
				p = &Schema{AnyOf: []*Schema{p}}
			}
			p.Description = text
		}
		s.Properties[f.name] = p
		if !f.optional {
			s.Required = append(s.Required, f.name)
		}
	}
	slices.Sort(s.Required)
	return s
}

// fieldsOf are all fields of a struct and of those that are embedded in it. path are those in which
// it is embedded.
func fieldsOf(t reflect.Type, depth int, optional bool, path map[reflect.Type]bool) (fields []field) {
	path[t] = true
	defer delete(path, t)
	for of := range t.Fields() {
		name, options, _ := strings.Cut(of.Tag.Get("json"), ",")
		if of.Tag.Get("json") == "-" {
			continue
		}
		if !isName(name) {
			name = ""
		}
		inner := of.Type
		if inner.Kind() == reflect.Pointer && inner.Name() == "" {
			inner = inner.Elem()
		}
		if of.Anonymous && name == "" && inner.Kind() == reflect.Struct {
			if !path[inner] {
				fields = append(fields, fieldsOf(inner, depth+1, optional || of.Type.Kind() == reflect.Pointer, path)...)
			}
			continue
		}
		if !of.IsExported() {
			continue
		}
		f := field{name: name, of: of, depth: depth, tagged: name != "", optional: optional}
		if name == "" {
			f.name = of.Name
		}
		for option := range strings.SplitSeq(options, ",") {
			f.optional = f.optional || option == "omitempty" || option == "omitzero"
			f.quoted = f.quoted || option == "string" && isScalar(of.Type)
		}
		fields = append(fields, f)
	}
	return fields
}

// dominant are the fields that encoding/json takes of those with one name: the one that is least
// deep, of several that are, the one whose tag names it; of several still, none.
func dominant(all []field) (taken []field) {
	for i, f := range all {
		beaten := false
		for j, other := range all {
			if i != j && other.name == f.name {
				beaten = beaten || other.depth < f.depth || other.depth == f.depth && (other.tagged || !f.tagged)
			}
		}
		if !beaten {
			taken = append(taken, f)
		}
	}
	return taken
}

// isName reports whether encoding/json takes a name of a tag.
func isName(s string) bool {
	for _, r := range s {
		if !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return false
		}
	}
	return s != ""
}

// isScalar reports whether the option string has a meaning for the type.
func isScalar(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Bool, reflect.String, reflect.Float32, reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return true
	default:
		return false
	}
}
