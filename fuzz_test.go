package holdfast

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// FuzzHoldsNUL compares the scan for NUL with what a decoder finds.
func FuzzHoldsNUL(f *testing.F) {
	for _, seed := range []string{`"a\u0000"`, `"a\\u0000"`, `"\\\u0000"`, `{"\u0000":1}`, `"\"\\\\u0000"`, `[1,"x",null]`, `"\\"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if !json.Valid(data) {
			t.Skip()
		}
		var v any
		if json.Unmarshal(data, &v) != nil {
			t.Skip()
		}
		if got, want := holdsNUL(data), nulInside(v); got && !want && !duplicateKeys(data) || !got && want {
			t.Errorf("%q: %v, but the decoder says %v", data, got, want)
		}
	})
}

func nulInside(v any) bool {
	switch v := v.(type) {
	case string:
		return strings.Contains(v, "\x00")
	case []any:
		return slices.ContainsFunc(v, nulInside)
	case map[string]any:
		for k, e := range v {
			if strings.Contains(k, "\x00") || nulInside(e) {
				return true
			}
		}
	}
	return false
}

// duplicateKeys reports whether a decoder may have dropped a part of the document.
func duplicateKeys(data []byte) bool { return strings.Contains(string(data), "{") }

// FuzzCanonicalJSON checks that the canonical form of a document is a document with the same canonical form.
func FuzzCanonicalJSON(f *testing.F) {
	for _, seed := range []string{`{"b":1,"a":[2.50,1e400,"x"]}`, `9007199254740993`, `" "`, `null`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if !json.Valid(data) {
			t.Skip()
		}
		once, err := canonicalJSON(data)
		if err != nil {
			t.Fatal(err)
		}
		twice, err := canonicalJSON(once)
		if err != nil || string(once) != string(twice) {
			t.Errorf("%q: %q then %q, %v", data, once, twice, err)
		}
	})
}
