// Package match compares what jobs have with what lists ask for. It imports store only.
package match

import (
	"bytes"
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Among reports whether a list that asks for something has a value.
func Among[T comparable](list []T, v T) bool { return len(list) == 0 || slices.Contains(list, v) }

// Within reports whether a time is in a range whose ends are cut to a unit.
func Within(after, before time.Time, unit time.Duration, at time.Time) bool {
	return (after.IsZero() || !at.Before(after.Truncate(unit))) && (before.IsZero() || at.Before(before.Truncate(unit)))
}

// All reports whether a document has all that is wanted.
func All(wanted []store.Match, doc []byte) bool {
	for _, m := range wanted {
		names := strings.Split(m.Path, ".")
		if pointer, is := strings.CutPrefix(m.Path, "/"); is {
			names = strings.Split(pointer, "/")
			for i := range names {
				names[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(names[i])
			}
		}
		var v any
		if len(doc) > 0 {
			if !json.Valid(doc) {
				return false
			}
			v = read(doc)
		}
		for _, name := range names {
			switch in := v.(type) {
			case map[string]any:
				v = in[name]
			case []any:
				i, err := strconv.Atoi(name)
				if v = nil; err == nil && strconv.Itoa(i) == name && i >= 0 && i < len(in) {
					v = in[i]
				}
			default:
				v = nil
			}
		}
		if plain(v) != plain(read(m.Value)) {
			return false
		}
	}
	return true
}

func read(doc []byte) (v any) {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return err.Error()
	}
	return v
}

// plain writes a value so that equal ones are written alike: numbers as fractions.
func plain(v any) string {
	switch v := v.(type) {
	case json.Number:
		r, ok := new(big.Rat).SetString(string(v))
		if !ok {
			return string(v)
		}
		return r.String()
	case []any:
		var list []string
		for _, element := range v {
			list = append(list, plain(element))
		}
		return "[" + strings.Join(list, ",") + "]"
	case map[string]any:
		var list []string
		for name, field := range v {
			list = append(list, strconv.Quote(name)+":"+plain(field))
		}
		slices.Sort(list)
		return "{" + strings.Join(list, ",") + "}"
	default:
		text, _ := json.Marshal(v) //nolint:errchkjson // it was read from JSON
		return string(text)
	}
}
