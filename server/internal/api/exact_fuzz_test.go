package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

var errUnlike = errors.New("a name that is not there, or there twice")

// plainly is exact as the tokens of encoding/json tell it, which takes several times as long.
func plainly(d *json.Decoder, n *names) error {
	if n == nil {
		return d.Decode(new(json.RawMessage))
	}
	token, err := d.Token()
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	switch token {
	case json.Delim('['):
		for err == nil && d.More() {
			err = plainly(d, n.elem)
		}
	case json.Delim('{'):
		for err == nil && d.More() {
			of := n.elem
			token, err = d.Token()
			if name, _ := token.(string); err == nil && n.fields != nil {
				field, is := n.fields[name]
				if !is || seen[name] {
					return errUnlike
				}
				of, seen[name] = field, true
			}
			if err == nil {
				err = plainly(d, of)
			}
		}
	default:
		return nil
	}
	if err == nil {
		_, err = d.Token()
	}
	return err
}

// FuzzExact: what is decoded is refused for its names exactly when encoding/json, asked for one
// token after the other, finds a name that the type has not, or has twice.
func FuzzExact(f *testing.F) {
	for _, body := range []string{
		`{"want":1,"shared":"x","every":"1s"}`, `{"args":{"a":[{"b":"}\"]"},1.5e3,null]},"want":1,"Want":2}`, `{"w\u0061nt":1,"want":2}`,
		`{"list":[{"on":"x"},{}],"by":{"a":{"on":"y"},"a\\":{"ON":""}}}`, `{"inner":{"deep":[{"inner":null}]}}`, ` [ ] `, `"\\\""`, `{"":{}}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if json.Unmarshal(body, &exactOuter{}) != nil {
			return // exact is not asked about it
		}
		got := exact(body, &exactOuter{})
		want := plainly(json.NewDecoder(bytes.NewReader(body)), namesOf(reflect.TypeFor[exactOuter]()))
		if (got == nil) != (want == nil) {
			t.Errorf("%q: %v, but by its tokens: %v", body, got, want)
		}
	})
}

// BenchmarkExact is what it adds to the decoding of a batch of a hundred jobs or so.
func BenchmarkExact(b *testing.B) {
	body := []byte(`{"list":[` + strings.Repeat(`{"on":"completed","deep":[{"want":1,"args":{"to":"ada","n":[1,2,3]}}]},`, 99) + `{"on":"x"}]}`)
	for name, check := range map[string]func() error{
		"decode": func() error { return json.Unmarshal(body, &exactOuter{}) },
		"exact":  func() error { return exact(body, &exactOuter{}) },
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				if err := check(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
