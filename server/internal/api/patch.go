package api

import (
	"encoding/json"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// Patch is a field of a change: left out it stays, null takes it away, and a value sets it (as in
// RFC 7396).
type Patch[T any] struct {
	Given bool // it is not left out
	Null  bool
	Value T
}

// Set reports whether there is a value.
func (p Patch[T]) Set() bool { return p.Given && !p.Null }

// UnmarshalJSON reads it; it is not called for what is left out.
func (p *Patch[T]) UnmarshalJSON(data []byte) error {
	p.Given = true
	if string(data) == "null" {
		p.Null = true
		return nil
	}
	return json.Unmarshal(data, &p.Value)
}

// carried is the type of the value, for exact.
func (Patch[T]) carried() reflect.Type { return reflect.TypeFor[T]() }

// Schema is how the document describes it.
func (Patch[T]) Schema(r huma.Registry) *huma.Schema {
	s := *r.Schema(reflect.TypeFor[T](), false, "")
	s.Nullable = true
	return &s
}
