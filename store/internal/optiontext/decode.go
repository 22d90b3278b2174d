// Package optiontext reads the options of jobs as both databases keep them: as JSON. What a claim
// of a thousand jobs reads is nearly always a few plain texts (a limit and its key, say), which it
// reads without reflection; everything else encoding/json does.
//
// # Imports
//
// Package store.
package optiontext

import (
	"bytes"
	"encoding/json"

	"github.com/holdfastdev/holdfast/store"
)

// Decode reads options. No text is no options. The error is that of encoding/json.
func Decode(text []byte, o *store.Options) error {
	if text == nil || plain(text, o) {
		return nil
	}
	*o = store.Options{}
	return json.Unmarshal(text, o)
}

// plain reads an object whose values are all texts of ASCII without escapes, and whose fields are
// known to it; otherwise it returns false, and some of o may be set.
func plain(text []byte, o *store.Options) bool {
	text = bytes.Trim(text, " ")
	if len(text) < 2 || text[0] != '{' {
		return false
	}
	for first := true; ; first = false {
		text = bytes.TrimLeft(text[1:], " ")
		if first && string(text) == "}" {
			return true
		}
		name, rest, ok := quoted(text)
		if rest = bytes.TrimLeft(rest, " "); !ok || len(rest) == 0 || rest[0] != ':' {
			return false
		}
		value, rest, ok := quoted(bytes.TrimLeft(rest[1:], " "))
		to := field(name, o)
		if !ok || to == nil {
			return false
		}
		*to = string(value)
		if text = bytes.TrimLeft(rest, " "); string(text) == "}" {
			return true
		}
		if len(text) == 0 || text[0] != ',' {
			return false
		}
	}
}

// field is where the text of a field goes; nil: to none of those that are read here.
func field(name []byte, o *store.Options) *string {
	switch string(name) {
	case "key":
		return &o.Key
	case "limit":
		return &o.Limit
	case "limit_key":
		return &o.LimitKey
	case "fair_key":
		return &o.FairKey
	case "source":
		return &o.Source
	case "traceparent":
		return &o.TraceParent
	case "tracestate":
		return &o.TraceState
	}
	return nil
}

// quoted returns what is between the quotes that a text begins with, and what follows them.
func quoted(text []byte) (value, rest []byte, ok bool) {
	if len(text) == 0 || text[0] != '"' {
		return nil, nil, false
	}
	for i, c := range text[1:] {
		switch {
		case c == '"':
			return text[1 : i+1], text[i+2:], true
		case c < ' ' || c > '~' || c == '\\':
			return nil, nil, false
		}
	}
	return nil, nil, false
}
