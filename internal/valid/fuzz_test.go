package valid

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
)

// FuzzHoldsNUL compares the scan for NUL with what a decoder finds.
func FuzzHoldsNUL(f *testing.F) {
	for _, seed := range []string{
		`"a\u0000"`, `"a\\u0000"`, `"\\\u0000"`, `{"\u0000":1}`, `"\"\\\\u0000"`, `[1,"x",null]`, `"\\"`,
		`{"a":"\u0000","a":2}`, `{"a":{"b":"\\u0000"}}`, `{"a":[1e400,{}],"b":"u0000"}`, `"\ud800\u0000"`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if !json.Valid(data) {
			t.Skip()
		}
		if got, want := holdsNUL(data), nulInside(t, data); got != want {
			t.Errorf("%q: %v, but the decoder says %v", data, got, want)
		}
	})
}

// nulInside walks the tokens of a document; decoding to a map would drop values of duplicate keys.
func nulInside(t *testing.T, data []byte) bool {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber() // a number may be larger than a float64
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return false
		}
		if err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		if text, ok := token.(string); ok && strings.Contains(text, "\x00") {
			return true
		}
	}
}
