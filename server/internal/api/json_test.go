package api

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestHalvesOfPairs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`"a"`: false, `"\n\\\""`: false, `"\u00e4"`: false, `"\ud83d\ude00"`: false, `"\uD83D\uDE00 and \uD83D\uDE00"`: false,
		`"\\ud800"`: false, `"\\\\ud800"`: false,
		`"\ud800"`: true, `"\uDC00"`: true, `"\ude00\ud83d"`: true, `"\ud83d\ud83d\ude00"`: true, `"\ud83d \ude00"`: true,
		`"\\\ud800"`: true, `{"\ud800":1}`: true, `["\ud83d\ude00","\ud83d`: true, `"\ud83d\\ude00"`: true, `"\`: false, `"\u12`: false,
	} {
		if got := halves([]byte(text)); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}

// FuzzHalvesOfPairs: what is found is what encoding/json replaces.
func FuzzHalvesOfPairs(f *testing.F) {
	for _, text := range []string{`a`, `\ud800`, `\ud83d\ude00`, `\\ud800`, `\ud83d\ud83d\ude00\n`, `\udc00\u0041`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		data := []byte(`"` + text + `"`)
		var decoded string
		if json.Unmarshal(data, &decoded) != nil || !utf8.Valid(data) || strings.Contains(strings.ToLower(text), "fffd") || strings.Contains(text, "\ufffd") {
			t.Skip()
		}
		if got, want := halves(data), strings.ContainsRune(decoded, utf8.RuneError); got != want {
			t.Errorf("%s: %t", data, got)
		}
	})
}

// TestNumbersThatAreTooLarge: what is wrong is said in the terms of JSON.
func TestNumbersThatAreTooLarge(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`1e400`, `{"args":[-1e999]}`} {
		var v any
		err := unmarshal([]byte(body), &v)
		if err == nil || strings.Contains(err.Error(), "Go value") || !strings.Contains(err.Error(), "send it as a text") {
			t.Errorf("%s: %v", body, err)
		}
	}
}
