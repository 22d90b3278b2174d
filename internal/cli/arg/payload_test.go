package arg

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/holdfastdev/holdfast"
)

// FuzzCheckArgs checks that only JSON without NUL is accepted, and is unchanged.
func FuzzCheckArgs(f *testing.F) {
	for _, seed := range []string{
		`{}`, `"\u0000"`, `"\\u0000"`, `"\\\u0000"`, "\xFF", ` [1,{"a":"<"}] `, `1e400`, `{"a":1,"a":2}`,
		`{"a":"\u0000","a":2}`, `{"a":1`, `1 2`, " ",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > holdfast.MaxPayload {
			t.Skip()
		}
		args, err := CheckJSON(data)
		if !json.Valid(data) || !utf8.Valid(data) {
			if err == nil {
				t.Errorf("%q is taken", data)
			}
			return
		}
		given := tokens(t, data)
		nul := slices.ContainsFunc(given, func(token json.Token) bool {
			text, ok := token.(string)
			return ok && strings.Contains(text, "\x00")
		})
		if nul != (err != nil) {
			t.Errorf("%q: holds NUL: %t, but: %v", data, nul, err)
		}
		if err == nil && !slices.Equal(given, tokens(t, args)) {
			t.Errorf("%q became %q", data, args)
		}
	})
}

// tokens returns the tokens of a document. A decoded value would lack values of duplicate names.
func tokens(t *testing.T, data []byte) (all []json.Token) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		all = append(all, token)
	}
}

// TestNotJSON: the error has no terms of Go.
func TestNotJSON(t *testing.T) {
	t.Parallel()
	const doc = `{"a":[1,2.5e3,"x\u00e9 é",{"b":null}],"c":-0.1,"d":true}`
	texts := []string{"nope", "{'a':1}", `{"a":01}`, `{"a" 1}`, `"\q"`, "1 2", `[1,]`, "{}x", "\x00", "é", `"é\x01"`, "-", "[[[["}
	for n := 1; n < len(doc); n++ {
		texts = append(texts, doc[:n], doc[:n]+"\x02"+doc[n:], doc[:n]+"}"+doc[n:])
	}
	for _, text := range texts {
		if json.Valid([]byte(text)) || !utf8.ValidString(text) {
			continue
		}
		_, err := CheckJSON([]byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), "not JSON") || strings.Contains(err.Error(), "invalid character") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
