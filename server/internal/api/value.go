package api

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/holdfastdev/holdfast/server/internal/problem"
	"github.com/holdfastdev/holdfast/store"
)

// Duration is a duration in a request: as Go writes it, such as "1m30s".
type Duration time.Duration

// UnmarshalText reads it.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is not a duration such as 90s or 1h30m", text)
	}
	*d = Duration(v)
	return nil
}

// MarshalText writes it.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// ParseWait reads a parameter that says how long to wait: a duration from 0 to most; "" is 0.
func ParseWait(name, text string, most time.Duration) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > most {
		return 0, problem.Invalid("query/"+name, fmt.Sprintf("%q is not a duration from 0s to %v", cut(text), most))
	}
	return d, nil
}

// Schema is how the document describes it.
func (Duration) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type: huma.TypeString, Pattern: `^[+-]?([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+$|^0$`,
		PatternDescription: "a duration such as 90s or 1h30m",
		Examples:           []any{"1m30s"},
	}
}

// PositiveDuration is a duration of more than 0: where 0 would be no limit, or the default, it is
// refused.
type PositiveDuration time.Duration

// UnmarshalText reads it.
func (d *PositiveDuration) UnmarshalText(text []byte) error {
	return (*Duration)(d).UnmarshalText(text)
}

// MarshalText writes it.
func (d PositiveDuration) MarshalText() ([]byte, error) { return Duration(d).MarshalText() }

// Schema is how the document describes it: one of its terms is not 0.
func (PositiveDuration) Schema(huma.Registry) *huma.Schema {
	const unit = `(ns|us|µs|ms|s|m|h)`
	const zero, some, more = `0+(\.0*)?` + unit, `([0-9]*[1-9][0-9]*(\.[0-9]*)?|0+\.[0-9]*[1-9][0-9]*)` + unit, `[0-9]+(\.[0-9]*)?` + unit
	return &huma.Schema{
		Type: huma.TypeString, Pattern: `^[+]?(` + zero + `)*` + some + `(` + more + `)*$`,
		PatternDescription: "a positive duration such as 90s or 1h30m",
		Examples:           []any{"1m30s"},
	}
}

// Page is a page of a list.
type Page[T any] struct {
	Items []T     `json:"items" nullable:"false"`
	Next  *string `json:"next_cursor" doc:"The cursor of the next page; null at the end"`
}

// NewPage returns a page. next is "" at the end.
func NewPage[T any](items []T, next string) Page[T] {
	if items == nil {
		items = []T{}
	}
	p := Page[T]{Items: items}
	if next != "" {
		p.Next = &next
	}
	return p
}

// Body is an answer that is only a body.
type Body[T any] struct {
	Body T
}

// Paged is what inputs of lists have.
type Paged struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"How many there are on a page, at most: one whose payloads have more than 8 MiB has fewer"`
	Cursor string `query:"cursor" doc:"next_cursor of the page before"`
}

// ID is the id of a job, a batch or an operation, in a path, a query or a body.
type ID store.ID

// UnmarshalText reads it.
func (id *ID) UnmarshalText(text []byte) error {
	var v store.ID
	if err := v.UnmarshalText(text); err != nil || len(text) != len(v.String()) {
		return fmt.Errorf("%q is not an id such as 0198c0de-7b1c-7d3a-9f00-0123456789ab", cut(string(text)))
	}
	*id = ID(v)
	return nil
}

// MarshalText writes it.
func (id ID) MarshalText() ([]byte, error) { return store.ID(id).MarshalText() }

// Schema is how the document describes it.
func (ID) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Format: "uuid", Examples: []any{"0198c0de-7b1c-7d3a-9f00-0123456789ab"}}
}

// Big is a 64-bit integer in a request: a string, as in answers.
type Big int64

// UnmarshalText reads it.
func (n *Big) UnmarshalText(text []byte) error {
	var v int64
	if err := json.Unmarshal(text, &v); err != nil {
		return fmt.Errorf("%q is not a number", cut(string(text)))
	}
	*n = Big(v)
	return nil
}

// Schema is how the document describes it.
func (Big) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Pattern: `^-?[0-9]{1,19}$`, Examples: []any{"42"}}
}

// Payload is JSON of the user's own.
type Payload = json.RawMessage

// cut bounds a text that a client has sent.
func cut(text string) string {
	if len(text) > 100 {
		return text[:100] + "…"
	}
	return text
}
