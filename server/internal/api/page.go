package api

import (
	"bytes"
	"encoding/base64"
	"unicode/utf8"

	"github.com/holdfastdev/holdfast/server/internal/problem"
)

// Cursor is the cursor behind something that has a name.
func Cursor(name string) string { return base64.RawURLEncoding.EncodeToString([]byte(name)) }

// After is the name that a cursor is behind; "": it is the beginning.
func (in *Paged) After() (string, error) {
	name, err := base64.RawURLEncoding.DecodeString(in.Cursor)
	if err != nil || Cursor(string(name)) != in.Cursor || !utf8.Valid(name) || bytes.IndexByte(name, 0) >= 0 {
		return "", problem.Invalid("query/cursor", "it is no cursor of this list; use next_cursor of the page before")
	}
	return string(name), nil
}

// PageOf returns a page of a list of which there may be one item more than the limit.
func PageOf[T any](items []T, in *Paged, name func(*T) string) Page[T] {
	if len(items) <= in.Limit {
		return NewPage(items, "")
	}
	return NewPage(items[:in.Limit], Cursor(name(&items[in.Limit-1])))
}

// PageByName cuts a page out of a whole list, which is in the order of the names.
func PageByName[T any](all []T, in *Paged, name func(*T) string) (Page[T], error) {
	after, err := in.After()
	if err != nil {
		return Page[T]{}, err
	}
	from := 0
	for from < len(all) && in.Cursor != "" && name(&all[from]) <= after {
		from++
	}
	return PageOf(all[from:], in, name), nil
}
