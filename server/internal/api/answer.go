package api

import (
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/holdfastdev/holdfast/server/access"
)

// Int is a 64-bit integer in an answer that is never null: a string, as JavaScript and jq round
// numbers above 2^53.
type Int int64

// MarshalText writes it.
func (n Int) MarshalText() ([]byte, error) { return strconv.AppendInt(nil, int64(n), 10), nil }

// Schema is how the document describes it.
func (Int) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Pattern: `^-?[0-9]{1,19}$`, Examples: []any{"42"}}
}

// hidden stands for a payload that the caller must not see.
const hidden = `{"hidden":"payloads:read"}`

// Visible is a payload as who makes the call may see it: as it is with the scope payloads:read.
func (c *Call) Visible(raw Payload) Payload {
	if len(raw) == 0 || string(raw) == "null" || c.Principal.May(access.PayloadsRead) {
		return raw
	}
	return Payload(hidden)
}
