package api

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// A body is decoded twice: into values of no type, which the document's rules check, and into the
// input of the operation. encoding/json takes a name in another case for a field's, and the last of
// several: so the two would differ, and what was checked would not be what is used. exact refuses
// such bodies. Of JSON of the user's own it looks at nothing.

// names are the fields of objects of a type, and what to look at in their values.
type names struct {
	fields map[string]*names // of an object; nil: it is none
	elem   *names            // of the values of a list, or of an object with any names
}

var known sync.Map // of *names by reflect.Type

// carries is what types have whose JSON is that of another type.
type carries interface{ carried() reflect.Type }

// namesOf returns what to look at in values of a type; nil: nothing.
func namesOf(t reflect.Type) *names {
	if n, is := known.Load(t); is {
		return n.(*names) //nolint:errcheck // nothing else is stored
	}
	n := makeNames(t, map[reflect.Type]*names{})
	known.Store(t, n)
	return n
}

// makeNames makes them. Types that contain themselves are among those under way.
func makeNames(t reflect.Type, underWay map[reflect.Type]*names) *names {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Implements(reflect.TypeFor[carries]()) {
		return makeNames(reflect.Zero(t).Interface().(carries).carried(), underWay) //nolint:errcheck // as was just seen
	}
	if n, is := underWay[t]; is {
		return n
	}
	p := reflect.PointerTo(t)
	if p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return nil
	}
	n := &names{}
	underWay[t] = n
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		if n.elem = makeNames(t.Elem(), underWay); n.elem == nil {
			return nil
		}
	case reflect.Struct:
		n.fields = map[string]*names{}
		for _, f := range reflect.VisibleFields(t) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.Anonymous && name == "" || !f.IsExported() || name == "-" {
				continue
			}
			if name == "" {
				name = f.Name
			}
			n.fields[name] = makeNames(f.Type, underWay)
		}
	default:
		return nil
	}
	return n
}

// exact refuses JSON in which a field of what is decoded into v has another case, or is there
// twice. The JSON is valid, and of the types that it should have.
func exact(data []byte, v any) error {
	n := namesOf(reflect.TypeOf(v))
	if n == nil {
		return nil
	}
	s := scan{data: data}
	return s.value(n)
}

// scan goes over JSON.
type scan struct {
	data []byte
	at   int
}

// next is the next byte that is no space; 0: there is none.
func (s *scan) next() byte {
	for ; s.at < len(s.data); s.at++ {
		if c := s.data[s.at]; c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			return c
		}
	}
	return 0
}

// value goes over a value.
func (s *scan) value(n *names) error {
	switch c := s.next(); {
	case n == nil || c != '{' && c != '[':
		s.skip()
		return nil
	case c == '[':
		return s.each(']', func() error { return s.value(n.elem) })
	}
	seen := map[string]bool{}
	return s.each('}', func() error {
		name := s.text()
		s.next()
		s.at++ // the colon
		if n.fields == nil {
			return s.value(n.elem)
		}
		of, is := n.fields[name]
		switch {
		case !is:
			return fmt.Errorf("there is no field %q; names are in the case that the document has", cut(name))
		case seen[name]:
			return fmt.Errorf("the field %q is there twice", name)
		}
		seen[name] = true
		return s.value(of)
	})
}

// each calls do at each item up to the end of a list or an object.
func (s *scan) each(end byte, do func() error) error {
	for s.at++; ; {
		switch s.next() {
		case end, 0:
			s.at++
			return nil
		case ',':
			s.at++
		default:
			if err := do(); err != nil {
				return err
			}
		}
	}
}

// text reads a text.
func (s *scan) text() string {
	from := s.at
	s.skipText()
	raw := s.data[from:min(s.at, len(s.data))]
	var text string
	if bytes.IndexByte(raw, '\\') >= 0 && json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(bytes.Trim(raw, `"`))
}

// skipText goes behind a text.
func (s *scan) skipText() {
	for s.at++; s.at < len(s.data); s.at++ {
		switch s.data[s.at] {
		case '\\':
			s.at++
		case '"':
			s.at++
			return
		}
	}
}

// skip goes behind a value.
func (s *scan) skip() {
	for depth := 0; s.at < len(s.data); {
		switch s.next() {
		case '"':
			s.skipText()
		case '{', '[':
			depth++
			s.at++
		case '}', ']':
			if depth == 0 {
				return
			}
			depth--
			s.at++
		case ',':
			if depth == 0 {
				return
			}
			s.at++
			continue
		case ':':
			s.at++
			continue
		default: // of a number, or a word
			s.at++
			continue
		}
		if depth == 0 {
			return
		}
	}
}
