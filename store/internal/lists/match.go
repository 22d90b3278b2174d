package lists

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfastdev/holdfast/store"
)

// Matcher says whether a document has what a list of matches wants. A nil one takes every document.
type Matcher []match

type match struct {
	path []string
	want any // decoded, with numbers as they are written
}

// Compile reads matches. The error is ErrInvalid.
func Compile(list []store.Match) (Matcher, error) {
	var m Matcher
	for _, one := range list {
		path, err := pathOf(one.Path)
		if err != nil {
			return nil, err
		}
		want, err := decode(one.Value)
		if err != nil {
			return nil, fmt.Errorf("%w: the value for the path %.60q is not JSON", store.ErrInvalid, one.Path)
		}
		m = append(m, match{path, want})
	}
	return m, nil
}

// pathOf takes a path apart. A JSON pointer begins with a slash, and writes a slash in a name as
// ~1, and ~ as ~0.
func pathOf(path string) ([]string, error) {
	pointer, isPointer := strings.CutPrefix(path, "/")
	names := strings.Split(path, ".")
	if isPointer {
		names = strings.Split(pointer, "/")
		for i, name := range names {
			if strings.Contains(strings.NewReplacer("~0", "", "~1", "").Replace(name), "~") {
				return nil, fmt.Errorf("%w: the path %.60q has a ~ that is neither ~0 nor ~1", store.ErrInvalid, path)
			}
			names[i] = strings.ReplaceAll(strings.ReplaceAll(name, "~1", "/"), "~0", "~")
		}
		return names, nil
	}
	if slices.Contains(names, "") {
		return nil, fmt.Errorf("%w: the path %.60q has an empty name", store.ErrInvalid, path)
	}
	return names, nil
}

// decode reads a document whose numbers stay as they are written.
func decode(data []byte) (v any, err error) {
	if !json.Valid(data) {
		return nil, fmt.Errorf("%w: not JSON", store.ErrInvalid)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

// Fits reports whether a document has all that is wanted. Nothing is a document without fields; one
// that is not JSON has nothing of it.
func (m Matcher) Fits(doc []byte) bool {
	for _, one := range m {
		if !one.fits(doc) {
			return false
		}
	}
	return true
}

func (m match) fits(doc []byte) bool {
	for _, name := range m.path {
		if len(doc) == 0 {
			break
		}
		var err error
		if doc, err = child(doc, name); err != nil {
			return false
		}
	}
	if len(doc) == 0 {
		return m.want == nil // what is missing counts as null
	}
	v, err := decode(doc)
	return err == nil && same(v, m.want)
}

// child is what a document has under a name; nothing if it has none. Only one level is decoded.
func child(doc json.RawMessage, name string) (json.RawMessage, error) {
	switch trimmed := bytes.TrimLeft(doc, " \t\r\n"); {
	case len(trimmed) == 0:
		return nil, fmt.Errorf("%w: an empty document", store.ErrInvalid)
	case trimmed[0] == '{':
		var fields map[string]json.RawMessage
		err := json.Unmarshal(doc, &fields)
		return fields[name], err
	case trimmed[0] == '[':
		var elements []json.RawMessage
		if err := json.Unmarshal(doc, &elements); err != nil {
			return nil, err
		}
		if i, err := strconv.Atoi(name); err == nil && strconv.Itoa(i) == name && i >= 0 && i < len(elements) {
			return elements[i], nil
		}
		return nil, nil
	case json.Valid(doc):
		return nil, nil
	}
	return nil, fmt.Errorf("%w: not JSON", store.ErrInvalid)
}

// same reports whether two decoded values are equal.
func same(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name, v := range a {
			if w, has := b[name]; !has || !same(v, w) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, same)
	case json.Number:
		b, ok := b.(json.Number)
		return ok && (a == b || decimalOf(string(a)).equal(decimalOf(string(b))))
	default:
		switch b.(type) {
		case map[string]any, []any:
			return false
		}
		return a == b
	}
}

// decimal is a number as digits without zeros at their ends, and the power of ten of the place
// before the first. So 1, 1.0 and 10e-1 are one, and no number is too large.
type decimal struct {
	negative bool
	digits   string // "" is zero
	exponent *big.Int
}

func decimalOf(text string) decimal {
	var d decimal
	text, d.negative = strings.CutPrefix(text, "-")
	mantissa, power := text, "0"
	if at := strings.IndexAny(text, "eE"); at >= 0 {
		mantissa, power = text[:at], strings.TrimPrefix(text[at+1:], "+")
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return decimal{exponent: new(big.Int)} // zero has no sign
	}
	leading := len(whole) + len(fraction) - len(digits)
	d.digits = strings.TrimRight(digits, "0")
	d.exponent, _ = new(big.Int).SetString(power, 10)
	if d.exponent == nil {
		d.exponent = new(big.Int)
	}
	d.exponent.Add(d.exponent, big.NewInt(int64(len(whole)-leading)))
	return d
}

func (d decimal) equal(e decimal) bool {
	return d.negative == e.negative && d.digits == e.digits && d.exponent.Cmp(e.exponent) == 0
}
