package query

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfastdev/holdfast/store"
)

// ParseMatch reads PATH=VALUE, such as customer.city=Oslo. A value that is no JSON is a text.
func ParseMatch(text string) (store.Match, error) {
	path, value, ok := strings.Cut(text, "=")
	if !ok || path == "" || value == "" {
		return store.Match{}, fmt.Errorf("%w: %q must be PATH=VALUE, such as customer.city=Oslo", store.ErrInvalid, text)
	}
	return newMatch(path, value)
}

func newMatch(path, value string) (store.Match, error) {
	if !isPath(path) {
		return store.Match{}, fmt.Errorf(
			"%w: %q: a PATH is names with dots between them, or a JSON pointer, in which ~ is written ~0 and / in a name ~1", store.ErrInvalid, path)
	}
	m := store.Match{Path: path, Value: json.RawMessage(value)}
	if !json.Valid(m.Value) {
		var err error
		if m.Value, err = json.Marshal(value); err != nil {
			return store.Match{}, err
		}
	}
	return m, nil
}

// isPath reports whether a store takes a path: all its names are there, or, as in a JSON pointer,
// all its escapes are known.
func isPath(path string) bool {
	if pointer, is := strings.CutPrefix(path, "/"); is {
		return !strings.Contains(strings.NewReplacer("~0", "", "~1", "").Replace(pointer), "~")
	}
	return !slices.Contains(strings.Split(path, "."), "")
}

// ParseAttribute reads NAME=VALUE, other comparisons, and NAME alone. The type of a value is that
// with which the name is declared.
func ParseAttribute(text string) (store.AttributeMatch, error) {
	m := store.AttributeMatch{Name: text, Op: store.AttributeIsThere}
	if at := strings.IndexAny(text, "<>="); at >= 0 {
		op := text[at : at+1]
		if op != "=" && strings.HasPrefix(text[at+1:], "=") {
			op += "="
		}
		m = store.AttributeMatch{Name: text[:at], Op: store.AttributeOp(op), Value: store.TextValue(text[at+len(op):])}
	}
	if store.CheckAttributeName(m.Name) != nil {
		return m, fmt.Errorf("%w: %q must be NAME=VALUE, such as customer=acme, or 'amount>=10', or a NAME alone", store.ErrInvalid, text)
	}
	return m, nil
}

// ParseFingerprint is the inverse of store.FingerprintText. "none" is the fingerprint of what has
// none.
func ParseFingerprint(text string) (int64, error) {
	if text == "none" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 16, 64)
	if err != nil || len(text) != 16 {
		return 0, fmt.Errorf("%w: %q is not a fingerprint, which has 16 hexadecimal digits", store.ErrInvalid, text)
	}
	return int64(n), nil
}
