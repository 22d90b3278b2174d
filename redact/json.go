package redact

import (
	"encoding/json"
	"strings"
)

// hiddenJSON is Hidden as JSON.
var hiddenJSON = []byte(`"` + Hidden + `"`)

// JSON returns a document with what the rules hide. All else is as it was, byte by byte. What is no
// JSON is hidden whole, since it cannot be told what it contains; nothing stays nothing. It takes
// time by the length of the document and the number of the rules.
func (r *Rules) JSON(data []byte) []byte {
	if r.IsEmpty() || len(data) == 0 {
		return data
	}
	if !json.Valid(data) {
		return hiddenJSON
	}
	w := walker{rules: r, in: data}
	w.value(false)
	if w.out == nil {
		return data
	}
	return append(w.out, w.in[w.copied:]...)
}

// walker goes through a document that is valid.
type walker struct {
	rules  *Rules
	in     []byte
	at     int
	copied int    // up to where the document is in out
	out    []byte // nil: nothing was hidden so far
	path   path
}

// value passes a value, and hides it.
func (w *walker) value(hide bool) {
	w.space()
	from := w.at
	switch w.in[w.at] {
	case '{':
		w.members('}', true, hide)
	case '[':
		w.members(']', false, hide)
	case '"':
		w.text()
	default:
		for w.at < len(w.in) && !strings.ContainsRune(",]} \t\r\n", rune(w.in[w.at])) {
			w.at++
		}
	}
	if hide && w.in[from] != 'n' {
		w.out = append(append(w.out, w.in[w.copied:from]...), hiddenJSON...)
		w.copied = w.at
	}
}

// members passes an object or an array. What is in one that is hidden whole is only passed.
func (w *walker) members(end byte, named, hidden bool) {
	w.at++
	for {
		w.space()
		switch w.in[w.at] {
		case end:
			w.at++
			return
		case ',':
			w.at++
			continue
		}
		if !named {
			w.element(hidden)
			continue
		}
		name := w.text()
		w.space()
		w.at++ // the colon
		w.path = append(w.path, normal(name))
		if hidden {
			w.pass()
		} else {
			w.value(w.rules.hides(w.path))
		}
		w.path = w.path[:len(w.path)-1]
	}
}

// element passes an element of an array.
func (w *walker) element(hidden bool) {
	if hidden {
		w.pass()
		return
	}
	w.value(false)
}

// pass passes a value without a look at its names.
func (w *walker) pass() {
	w.space()
	depth := 0
	for {
		switch w.in[w.at] {
		case '"':
			w.text()
		case '{', '[':
			depth++
			w.at++
		case '}', ']':
			if depth == 0 {
				return
			}
			depth--
			w.at++
		case ',':
			if depth == 0 {
				return
			}
			w.at++
		default:
			w.at++
		}
		if depth == 0 {
			w.space()
			if c := w.in[w.at]; c == ',' || c == '}' || c == ']' {
				return
			}
		}
	}
}

// text passes a string and returns it.
func (w *walker) text() string {
	from, escaped := w.at, false
	for w.at++; w.in[w.at] != '"'; w.at++ {
		if w.in[w.at] == '\\' {
			escaped = true
			w.at++
		}
	}
	w.at++
	if !escaped {
		return string(w.in[from+1 : w.at-1])
	}
	var s string
	if json.Unmarshal(w.in[from:w.at], &s) != nil {
		return "" // never: the document is valid
	}
	return s
}

func (w *walker) space() {
	for w.at < len(w.in) && (w.in[w.at] == ' ' || w.in[w.at] == '\t' || w.in[w.at] == '\r' || w.in[w.at] == '\n') {
		w.at++
	}
}
