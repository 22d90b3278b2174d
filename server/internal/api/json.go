package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

func marshal(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// unmarshal decodes a body, and nothing behind it. Names are those of the document to the letter,
// and each is there once (exact).
func unmarshal(data []byte, v any) error {
	if !utf8.Valid(data) {
		return errors.New("it is not valid UTF-8")
	}
	if halves(data) {
		return errors.New("it has half of a surrogate pair, such as \\ud800, which is no character")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	err := d.Decode(v)
	if wide, is := errors.AsType[*json.UnmarshalTypeError](err); is && strings.HasPrefix(wide.Value, "number ") {
		return fmt.Errorf("it has the %.60s, which is beyond what 64 bits of a floating point number hold: send it as a text", wide.Value)
	}
	if err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is something behind the JSON")
	}
	return exact(data, v)
}

// halves finds the escape of a surrogate that is not one of a pair. encoding/json would put the
// same character in the place of each, so that different keys became one.
func halves(data []byte) bool {
	for {
		at := bytes.IndexByte(data, '\\')
		if at < 0 || at+1 == len(data) {
			return false
		}
		first, escape := surrogate(data[at:])
		if !escape {
			data = data[at+2:] // what is escaped may be a backslash
			continue
		}
		if first == 0 {
			data = data[at+6:]
			continue
		}
		second, _ := surrogate(data[at+6:])
		if utf16.DecodeRune(first, second) == utf8.RuneError {
			return true
		}
		data = data[at+12:]
	}
}

// surrogate is the surrogate whose escape a text begins with; 0: it is none, or, where escape is
// false, no escape of four digits at all.
func surrogate(data []byte) (r rune, escape bool) {
	if len(data) < 6 || data[0] != '\\' || data[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(data[2:6]), 16, 16)
	if err != nil || !utf16.IsSurrogate(rune(n)) {
		return 0, err == nil
	}
	return rune(n), true
}
