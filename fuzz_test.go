package holdfast

import (
	"encoding/json"
	"testing"
)

// FuzzCanonicalJSON checks that the canonical form of a document is a document with the same
// canonical form.
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
